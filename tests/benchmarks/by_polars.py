"""The queries that a good user of polars writes by hand for an archive whose shape is known.

`custom_fields` is left out: polars keeps no JSON text of an object next to columns of a declared schema.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

TEXT, TEXTS = pl.String, pl.List(pl.String)


def _struct(*names: str, **others: pl.DataType | type[pl.DataType]) -> pl.Struct:
    return pl.Struct(dict.fromkeys(names, TEXT) | others)


_PREFIXES = ("action_network:", "platform:", "")
_LINKS = pl.Struct(dict.fromkeys(("self", "osdi:petition", "osdi:person"), _struct("href")))
_REFERRERS = {f"{prefix}referrer_data": _struct("source", "referrer", "website") for prefix in _PREFIXES}
_SPONSORS = {f"{prefix}sponsor": _struct("title", "browser_url", "url") for prefix in _PREFIXES[:2]}
_PLACE = {"location": _struct("accuracy", latitude=pl.Float64, longitude=pl.Float64)}
_EMAILS = {"email_addresses": pl.List(_struct("address", "status", primary=pl.Boolean))}
_PERSON = _struct(
    *("given_name", "family_name", "created_date", "modified_date"),
    **_EMAILS,
    phone_numbers=pl.List(_struct("number", "number_type", "status", primary=pl.Boolean)),
    postal_addresses=pl.List(
        _struct(
            *("locality", "region", "postal_code", "country"),
            primary=pl.Boolean,
            address_lines=TEXTS,
            **_PLACE,
        )
    ),
    languages_spoken=TEXTS,
)
_SHARED = {"identifiers": TEXTS, "_links": _LINKS, **_REFERRERS}
_ALL = {
    "osdi:signature": _struct(
        "created_date", "modified_date", "comments", person=_PERSON, add_tags=TEXTS, **_SHARED
    ),
    **_SPONSORS,
    "idempotency_key": TEXT,
}
_FEW = {"osdi:signature": _struct("created_date", "modified_date", person=_struct(**_EMAILS), **_SHARED)}


def _elements(path: str, fields: dict[str, pl.DataType]) -> pl.LazyFrame:
    """Read the elements of a file, a delivery a line, in envelopes or bare."""
    body = pl.List(pl.Struct(fields))
    with Path(path).open("rb") as file:
        enveloped = file.read(1) == b"{"
    # Not scan_ndjson: it takes no lists, and of nested schemas it is ten times as slow.
    document = pl.col("line").str.json_decode(pl.Struct({"body": body}) if enveloped else body)
    lines = pl.scan_lines(path)
    bodies = lines.select(body=document.struct.field("body") if enveloped else document)
    positions = pl.int_ranges(0, pl.col("body").list.len())
    both = bodies.select("body", element=positions).explode("body", "element")
    signature = pl.col("body").struct.field("osdi:signature")
    return both.with_columns(s=signature).filter(pl.col("s").is_not_null())


def _last(expression: pl.Expr) -> pl.Expr:
    return expression.str.split("/").list.last()


_S = pl.col("s").struct
_HREF = {
    name: _S.field("_links").struct.field(name).struct.field("href")
    for name in ("self", "osdi:petition", "osdi:person")
}
_OWN = _S.field("identifiers").list.eval(
    pl.element().filter(pl.element().str.contains("^(action_network|platform):")).str.split(":").list.get(1)
)
_ID = pl.coalesce(_OWN.list.first(), _last(_HREF["self"]))


def _referred(name: str) -> pl.Expr:
    return pl.coalesce(_S.field(f"{prefix}referrer_data").struct.field(name) for prefix in _PREFIXES)


def _utc(expression: pl.Expr) -> pl.Expr:
    return expression.str.to_datetime(time_unit="us", time_zone="UTC", format="%+")


def _first(entries: str) -> pl.Expr:
    listed = pl.col("p").struct.field(entries)
    primary = listed.list.eval(pl.element().filter(pl.element().struct.field("primary"))).list.first()
    return pl.coalesce(primary, listed.list.first())


def scan(path: str) -> pl.DataFrame:
    """Read every column but custom_fields of every signature."""
    body, p = pl.col("body").struct, pl.col("p").struct
    parts = (
        _elements(path, _ALL)
        .with_columns(p=_S.field("person"))
        .with_columns(
            email=_first("email_addresses"), phone=_first("phone_numbers"), place=_first("postal_addresses")
        )
    )
    email, phone, place = (pl.col(name).struct for name in ("email", "phone", "place"))

    def sponsor(*names: str) -> pl.Expr:
        return pl.coalesce(body.field(sponsor).struct.field(name) for sponsor in _SPONSORS for name in names)

    return parts.select(
        "element",
        body.field("idempotency_key"),
        *(_S.field(name) for name in ("identifiers", "comments", "add_tags")),
        *(p.field(name) for name in ("given_name", "family_name", "languages_spoken")),
        signature_id=_ID,
        petition_id=_last(_HREF["osdi:petition"]),
        person_id=_last(_HREF["osdi:person"]),
        created_date=_utc(_S.field("created_date")),
        modified_date=_utc(_S.field("modified_date")),
        source=_referred("source").replace("none", None),
        referrer=_referred("referrer"),
        website=_referred("website").replace(["api", "none"], None),
        person_created_date=_utc(p.field("created_date")),
        person_modified_date=_utc(p.field("modified_date")),
        email=email.field("address"),
        email_status=email.field("status"),
        phone=phone.field("number"),
        phone_type=phone.field("number_type"),
        phone_status=phone.field("status"),
        location_address=place.field("address_lines").list.first(),
        location_locality=place.field("locality"),
        location_region=place.field("region"),
        location_postal_code=place.field("postal_code"),
        location_country=place.field("country"),
        location_latitude=place.field("location").struct.field("latitude"),
        location_longitude=place.field("location").struct.field("longitude"),
        location_accuracy=place.field("location").struct.field("accuracy"),
        sponsor_title=sponsor("title"),
        sponsor_url=sponsor("browser_url", "url"),
        self_url=_HREF["self"],
        person_url=_HREF["osdi:person"],
        petition_url=_HREF["osdi:petition"],
    ).collect(engine="streaming")


def by_source(path: str) -> pl.DataFrame:
    """Count signatures and people by source, of each signature the newest version.

    A person without a link is known by the e-mail address.
    """
    address = _first("email_addresses").struct.field("address")
    source = _referred("source")
    unknown = source.str.strip_chars().str.to_lowercase().fill_null("").is_in(["", "none"])
    signatures = (
        _elements(path, _FEW)
        .with_columns(p=_S.field("person"))
        .select(
            id=_ID,
            modified=_utc(_S.field("modified_date")),
            source=pl.when(unknown).then(pl.lit("(none)")).otherwise(source),
            person=pl.coalesce(_last(_HREF["osdi:person"]), address.str.strip_chars().str.to_lowercase()),
            created=_utc(_S.field("created_date")),
        )
    )
    kept = signatures.sort("modified", nulls_last=False).unique("id", keep="last")
    counted = kept.group_by("source").agg(
        signatures=pl.len(),
        people=pl.col("person").drop_nulls().n_unique(),
        first=pl.col("created").min(),
        last=pl.col("created").max(),
    )
    return counted.sort(["signatures", "source"], descending=[True, False]).collect(engine="streaming")
