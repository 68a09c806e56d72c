"""The queries that a good user of DuckDB writes by hand for an archive whose shape is known."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pyarrow as pa

_REFERRER = "STRUCT(source VARCHAR, referrer VARCHAR, website VARCHAR)"
_LINK = "STRUCT(href VARCHAR)"
_SPONSOR = "STRUCT(title VARCHAR, browser_url VARCHAR, url VARCHAR)"
_LINKS = f'_links STRUCT(self {_LINK}, "osdi:petition" {_LINK}, "osdi:person" {_LINK})'
_REFERRERS = f"""
    "action_network:referrer_data" {_REFERRER}, "platform:referrer_data" {_REFERRER}, referrer_data {_REFERRER}
"""
_EMAILS = 'email_addresses STRUCT("primary" BOOLEAN, address VARCHAR, status VARCHAR)[]'
_PERSON = f"""STRUCT(
    given_name VARCHAR, family_name VARCHAR, created_date TIMESTAMPTZ, modified_date TIMESTAMPTZ,
    {_EMAILS},
    phone_numbers STRUCT("primary" BOOLEAN, number VARCHAR, number_type VARCHAR, status VARCHAR)[],
    postal_addresses STRUCT(
        "primary" BOOLEAN, address_lines VARCHAR[], locality VARCHAR, region VARCHAR, postal_code VARCHAR,
        country VARCHAR, location STRUCT(latitude DOUBLE, longitude DOUBLE, accuracy VARCHAR)
    )[],
    languages_spoken VARCHAR[], custom_fields JSON
)"""

#: A delivery with all that the table of signatures takes, and with what the report by source takes.
_ALL = f"""STRUCT(
    "osdi:signature" STRUCT(
        identifiers VARCHAR[], created_date TIMESTAMPTZ, modified_date TIMESTAMPTZ, comments VARCHAR,
        {_REFERRERS}, person {_PERSON}, add_tags VARCHAR[], {_LINKS}
    ),
    "action_network:sponsor" {_SPONSOR}, "platform:sponsor" {_SPONSOR}, idempotency_key VARCHAR
)[]"""
_FEW = f"""STRUCT(
    "osdi:signature" STRUCT(
        identifiers VARCHAR[], created_date TIMESTAMPTZ, modified_date TIMESTAMPTZ, {_REFERRERS},
        person STRUCT({_EMAILS}), {_LINKS}
    )
)[]"""

_ID = """coalesce(
    split_part(list_filter(
        s.identifiers, lambda i: starts_with(i, 'action_network:') or starts_with(i, 'platform:')
    )[1], ':', 2),
    split_part(s._links.self.href, '/', -1)
)"""
_REFERRED = 'coalesce(s."action_network:referrer_data", s."platform:referrer_data", s.referrer_data)'


def _first(entries: str) -> str:
    return f'coalesce(list_filter({entries}, lambda x: x."primary")[1], {entries}[1])'


_SCAN = f"""
    WITH elements AS (SELECT unnest(body) AS e, unnest(range(len(body))) AS element FROM documents),
    signatures AS (
        SELECT element, e.idempotency_key, e."osdi:signature" AS s, e."osdi:signature".person AS p,
            coalesce(e."action_network:sponsor", e."platform:sponsor") AS sponsor
        FROM elements WHERE e."osdi:signature" IS NOT NULL
    ),
    parts AS (
        SELECT *, {_REFERRED} AS r, {_first("p.email_addresses")} AS email,
            {_first("p.phone_numbers")} AS phone, {_first("p.postal_addresses")} AS place
        FROM signatures
    )
    SELECT idempotency_key, element, {_ID} AS signature_id, s.identifiers,
        split_part(s._links."osdi:petition".href, '/', -1) AS petition_id,
        split_part(s._links."osdi:person".href, '/', -1) AS person_id,
        s.created_date, s.modified_date, s.comments, nullif(r.source, 'none') AS source,
        r.referrer, CASE WHEN r.website NOT IN ('api', 'none') THEN r.website END AS website,
        p.given_name, p.family_name,
        p.created_date AS person_created_date, p.modified_date AS person_modified_date,
        email.address AS email, email.status AS email_status,
        phone.number AS phone, phone.number_type AS phone_type, phone.status AS phone_status,
        place.address_lines[1] AS location_address, place.locality AS location_locality,
        place.region AS location_region, place.postal_code AS location_postal_code,
        place.country AS location_country, place.location.latitude AS location_latitude,
        place.location.longitude AS location_longitude, place.location.accuracy AS location_accuracy,
        p.languages_spoken, s.add_tags, p.custom_fields, sponsor.title AS sponsor_title,
        coalesce(sponsor.browser_url, sponsor.url) AS sponsor_url, s._links.self.href AS self_url,
        s._links."osdi:person".href AS person_url, s._links."osdi:petition".href AS petition_url
    FROM parts
"""
_KEPT = f"""
    WITH elements AS (SELECT unnest(body)."osdi:signature" AS s FROM documents),
    signatures AS (
        SELECT {_ID} AS id, s.modified_date AS modified, {_REFERRED}.source AS source, s.created_date AS created,
            coalesce(
                split_part(s._links."osdi:person".href, '/', -1),
                lower(trim({_first("s.person.email_addresses")}.address))
            ) AS person
        FROM elements WHERE s IS NOT NULL
    ),
    kept AS (
        SELECT unnest(arg_max(
            struct_pack(source, person, created), coalesce(modified, '-infinity'::TIMESTAMPTZ)
        )) FROM signatures GROUP BY id
    )
"""
_BY_SOURCE = f"""{_KEPT}
    SELECT CASE WHEN coalesce(lower(trim(source)), '') IN ('', 'none') THEN '(none)' ELSE source END AS source,
        count(*) AS signatures, count(DISTINCT person) AS people, min(created) AS first, max(created) AS last
    FROM kept GROUP BY ALL ORDER BY signatures DESC, source
"""


def _query(query: str, delivery: str, path: str) -> duckdb.DuckDBPyRelation:
    """Run a query over `documents`: the deliveries of a file, a line each, in envelopes or bare."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    with Path(path).open("rb") as file:
        enveloped = file.read(1) == b"{"
    columns = (
        f"{{received_at: 'TIMESTAMPTZ', body: '{delivery}'}}" if enveloped else f"{{body: '{delivery}'}}"
    )
    records = "true" if enveloped else "false"
    documents = f"read_json('{path}', format='newline_delimited', records={records}, columns={columns})"
    connection.execute(f"CREATE VIEW documents AS SELECT * FROM {documents}")
    return connection.sql(query)


def _read(query: str, delivery: str, path: str) -> pa.Table:
    return _query(query, delivery, path).to_arrow_table()


def scan(path: str) -> pa.Table:
    """Read every column of every signature: D, the measure of the other lines."""
    return _read(_SCAN, _ALL, path)


def streamed(path: str) -> dict[str, int]:
    """Read the same, a batch at a time, and keep none."""
    return {"rows": sum(batch.num_rows for batch in _query(_SCAN, _ALL, path).to_arrow_reader())}


def by_source(path: str) -> pa.Table:
    """Count signatures and people by source, of each signature the newest version.

    A person without a link is known by the e-mail address.
    """
    return _read(_BY_SOURCE, _FEW, path)


def totals(path: str) -> dict[str, int]:
    """Count signatures and people as the commands print them, of each signature the newest version."""
    query = f"{_KEPT} SELECT count(*) AS signatures, count(DISTINCT person) AS people, 0 AS errors FROM kept"
    return _read(query, _FEW, path).to_pylist()[0]


def files(folder: str) -> pa.Table:
    """Read the bytes of each file in Python, and hand them over as one Arrow column."""
    texts = [path.read_bytes() for path in sorted(Path(folder).iterdir())]
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("texts", pa.table({"j": pa.array(texts, pa.string())}))
    shape = json.dumps([" ".join(_ALL.removesuffix("[]").split())])
    connection.execute(f"CREATE VIEW documents AS SELECT from_json(j, '{shape}') AS body FROM texts")
    return connection.sql(_SCAN).to_arrow_table()
