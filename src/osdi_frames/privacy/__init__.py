"""What leaves the machine without naming anybody: texts without addresses and numbers, and pseudonyms.

Pseudonyms are equal in every table, run and program with the same key. What becomes of a column is part of its
declaration (`osdi_frames.tables.schema.Privacy`).
"""

from __future__ import annotations

import base64
import hmac
import unicodedata
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api.types import is_integer_dtype

from osdi_frames.addresses import SIGNS, without_addresses
from osdi_frames.arrow import combined
from osdi_frames.errors import InvalidArgument, UnknownColumn
from osdi_frames.frames import as_frame
from osdi_frames.frames import frame as to_frame
from osdi_frames.messages import listed, quoted
from osdi_frames.tables import TABLES
from osdi_frames.tables import table as declared
from osdi_frames.tables.schema import Column, Table

Key: TypeAlias = bytes | str
Drop: TypeAlias = Literal["identifying"]

_SHORTEST: Final = 32  # bytes of a key: as many as SHA-256 gives
_LENGTH: Final = 15  # bytes of a pseudonym: 120 bits, 24 letters and digits
_COUNTRY: Final = "1"  # of numbers of ten digits: the service's default country is US (interface 2.2)


def hide_addresses(texts: pa.Array) -> pa.Array:
    """Hide addresses within an array's texts."""
    if pa.types.is_list(texts.type):
        flat = hide_addresses(texts.flatten())
        lengths = pc.fill_null(pc.list_value_length(texts), 0).to_numpy()
        offsets = pa.array([0, *lengths.cumsum()], pa.int32())
        return pa.ListArray.from_arrays(offsets, flat, mask=texts.is_null())
    if pa.types.is_dictionary(texts.type):
        hidden = hide_addresses(texts.dictionary)
        return texts if hidden is texts.dictionary else hidden.take(texts.indices).dictionary_encode()
    found = pc.fill_null(pc.match_substring_regex(texts, SIGNS), False)
    if not pc.any(found).as_py():
        return texts
    coded = texts.filter(found).dictionary_encode()
    hidden = pa.array(map(without_addresses, coded.dictionary.to_pylist()), texts.type)
    return pc.replace_with_mask(texts, found, hidden.take(coded.indices))


def hide_in_rows(rows: pa.Table, table: Table) -> pa.Table:
    """Hide addresses within the texts of rows, except for columns that are counted and never shown."""
    for number, name in enumerate(rows.column_names):
        column = table.column(name)
        if column.type == "string" and column.privacy.level != "identifying":
            rows = rows.set_column(number, rows.schema.field(number), hide_addresses(combined(rows[name])))
    return rows


@dataclass(frozen=True, slots=True)
class Pseudonyms:
    """What replaces the values of each column: a pseudonym by `key`, or nothing where there is none."""

    key: bytes | None = field(repr=False)
    coordinate_decimals: int = 1
    postal_characters: int = 3

    @classmethod
    def of(cls, key: Key | None, drop: Drop | None, **coarsened: int) -> Pseudonyms | None:
        """Return what was asked for, None where nothing was.

        Raises
        ------
        InvalidArgument
            The key is shorter than 32 bytes, both a key and `drop` are given, or one of the numbers is negative.
        """
        if drop not in (None, "identifying"):
            raise InvalidArgument(f"drop is 'identifying', not {quoted(drop)}")
        if key is not None and drop is not None:
            raise InvalidArgument(
                "drop='identifying' (--drop identifying) is without a key: there are no pseudonyms"
            )
        if key is not None and not isinstance(key, bytes | str):
            raise InvalidArgument(f"a key for pseudonyms is bytes or text, not {type(key).__name__}")
        secret = key.encode() if isinstance(key, str) else key
        if secret is not None and len(secret) < _SHORTEST:
            raise InvalidArgument(
                f"a key for pseudonyms has at least {_SHORTEST} bytes, this one {len(secret)}; "
                "secrets.token_bytes(32) makes one, and openssl rand -hex 32 > key.txt"
            )
        if any(number < 0 for number in coarsened.values()):
            raise InvalidArgument("coordinate_decimals and postal_characters are 0 or more")
        return cls(secret, **coarsened) if secret or drop else None

    def __dask_tokenize__(self) -> str:
        """Keep the key out of Dask's hashes, which name tasks, and could confirm a guessed key."""
        return repr(self)

    def schema(self, table: Table, columns: Sequence[Column] | None = None) -> pa.Schema:
        """Return the schema of the columns that are left, whose fields record what became of them."""
        fields = []
        for column in table.columns if columns is None else columns:
            level = "plain" if column.privacy.level == "plain" else "sensitive"
            metadata = {"meaning": column.meaning, "privacy": level, "pseudonymized": str(column.privacy)}
            is_hidden = self.key is None and column.privacy.level == "identifying"
            if column.privacy.becomes != "dropped" and not is_hidden:
                fields.append(column.field.with_metadata(metadata))
        return pa.schema(fields, table.schema().metadata)

    def replace(self, rows: pa.Table, table: Table) -> pa.Table:
        """Return rows with their values replaced."""
        schema = self.schema(table)
        names = [name for name in rows.column_names if name in schema.names]
        kept = pa.schema([schema.field(name) for name in names], schema.metadata)
        arrays = [self._replaced(combined(rows[name]), table.column(name)) for name in names]
        return pa.Table.from_arrays(arrays, schema=kept)

    def _replaced(self, values: pa.Array, column: Column) -> pa.Array:
        match column.privacy.becomes:
            case "pseudonym":
                return self._pseudonyms(values, column.privacy.domain)
            case "coarsened" if column.type == "float64":
                return pc.round(values, ndigits=self.coordinate_decimals)
            case "coarsened":
                return pc.utf8_slice_codeunits(pc.utf8_trim_whitespace(values), 0, self.postal_characters)
        return hide_addresses(values) if column.type in ("string", "list<string>") else values

    def _pseudonyms(self, values: pa.Array, domain: str) -> pa.Array:
        if pa.types.is_list(values.type):
            # Of system:id, the id: its pseudonym is that of the id in a column of its own.
            ids = ([entry and entry.split(":", 1)[-1] for entry in row or ()] for row in values.to_pylist())
            rows = [[self._pseudonym(entry, domain) for entry in row] for row in ids]
            return pa.array(rows, values.type, mask=values.is_null().to_numpy(False))
        encoded = values.dictionary_encode()
        made = [self._pseudonym(text, domain) for text in encoded.dictionary.to_pylist()]
        return pa.array(made, pa.string()).take(encoded.indices)

    def _pseudonym(self, text: str | None, domain: str) -> str | None:
        normal = _NORMAL.get(domain, str.strip)(text or "")
        if not normal:
            return None
        digest = hmac.digest(self.key or b"", f"{domain}\0{normal}".encode(), "sha256")
        return base64.b32encode(digest[:_LENGTH]).decode().lower()


def _normal_email(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip().casefold()


def _normal_phone(text: str) -> str:
    """Return the digits of a number with its calling code.

    >>> [_normal_phone(text) for text in ("+1 (510) 555-0100", "510.555.0100", "0044 20 7946 0000", "none")]
    ['15105550100', '15105550100', '442079460000', 'none']
    """
    digits = "".join(str(unicodedata.decimal(sign)) for sign in text if sign.isdecimal())
    if text.strip().startswith("+"):
        return digits or _normal_email(text)
    is_national = len(digits) == len("5105550100") and digits[0] not in "01"
    return f"{_COUNTRY}{digits}" if is_national else digits.removeprefix("00") or _normal_email(text)


_NORMAL: Final[dict[str, Callable[[str], str]]] = {"email": _normal_email, "phone": _normal_phone}


def pseudonymize(
    frame: pd.DataFrame,
    key: Key | None = None,
    *,
    table: str | None = None,
    drop: Drop | None = None,
    coordinate_decimals: int = 1,
    postal_characters: int = 3,
) -> pd.DataFrame:
    """Replace what identifies a person in a frame.

    `describe` says what becomes of each column: ids, e-mail addresses and phone numbers become pseudonyms, by which
    tables can still be joined; names, street addresses, comments, custom fields and free texts are dropped; postal
    codes and coordinates are coarsened. Within all other texts e-mail addresses, phone numbers and queries of web
    addresses are hidden. What is left is still about single people: it is less dangerous, and not anonymous.

    Parameters
    ----------
    frame
        A frame of one table, of any library, with all or some of its columns.
    key
        At least 32 bytes, or text (its UTF-8), kept secret: whoever has it can test who somebody is. The same key
        gives the same pseudonyms in every table, run and program.
    table
        The name of the table; needed where the columns do not show it.
    drop
        ``"identifying"``: drop all identifying columns instead, without a key.
    coordinate_decimals
        Decimals of a degree that are left: 1 is about 11 km.
    postal_characters
        Characters of a postal code that are left.

    Returns
    -------
    DataFrame
        The columns that are left, in their order. An index that has a name is made columns first. Of a Dask
        DataFrame it is a Dask DataFrame, without known divisions.

    Raises
    ------
    InvalidArgument
        A key of less than 32 bytes, neither a key nor `drop`, or columns that several tables have.
    UnknownColumn
        A column that the table does not declare: nothing is known of what it holds.

    Examples
    --------
    >>> import osdi_frames as of
    >>> frame = pd.DataFrame({"tag": ["river"], "signature_id": ["d91b4b2e"]})
    >>> of.pseudonymize(frame, b"not a secret, and 32 bytes long.")
         tag              signature_id
    0  river  bofxg573vo2m4gwjgpxqkp7r
    """
    chosen = Pseudonyms.of(
        key, drop, coordinate_decimals=coordinate_decimals, postal_characters=postal_characters
    )
    if chosen is None:
        raise InvalidArgument("pseudonymize needs a key of at least 32 bytes, or drop='identifying'")
    if not hasattr(frame, "map_partitions"):
        return _pseudonymized(frame, chosen, table)
    of_dask: Any = frame
    made: pd.DataFrame = of_dask.map_partitions(
        _pseudonymized,
        chosen,
        table,
        meta=_pseudonymized(of_dask._meta, chosen, table),
        clear_divisions=True,  # they are values of the index, which may be ids
        token=f"pseudonymize-{uuid.uuid4().hex}",
    )
    return made


def _pseudonymized(frame: pd.DataFrame, pseudonyms: Pseudonyms, table: str | None) -> pd.DataFrame:
    frame = as_frame(frame, caller="pseudonymize")
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    elif not is_integer_dtype(frame.index.dtype):
        frame = frame.reset_index(drop=True)  # it may hold anything
    of = _table_of([str(name) for name in frame.columns], table)
    schema = of.schema([of.column(name) for name in frame.columns])
    rows = pa.Table.from_pandas(frame, preserve_index=False).cast(schema)
    return to_frame(pseudonyms.replace(rows, of)).set_index(frame.index)


def _table_of(names: Sequence[str], table: str | None) -> Table:
    """Return the table of a frame."""
    tables = list(TABLES.values()) if table is None else [declared(table)]
    unknown = {table.name: sorted({*names} - {column.name for column in table.columns}) for table in tables}
    nearest = min(unknown, key=lambda name: len(unknown[name]))
    if missing := unknown[nearest]:
        raise UnknownColumn(
            f"the table {nearest} has no column {listed(missing)}: what they hold is not known; "
            "drop them first"
        )
    found = [table for table in tables if not unknown[table.name]]
    if len({tuple(match.column(name).privacy for name in names) for match in found}) > 1:
        raise InvalidArgument(f"these columns are of {', '.join(match.name for match in found)}; say table=…")
    return found[0]
