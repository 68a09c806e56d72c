"""The tables as pandas DataFrames."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
import pyarrow as pa

from osdi_frames.archive import Source
from osdi_frames.identity import Dedupe
from osdi_frames.problems import OnError
from osdi_frames.scan import scan


def read_table(
    source: Source,
    table: str,
    *,
    columns: Iterable[str] | None = None,
    prefix: str | None = None,
    dedupe: Dedupe = True,
    on_error: OnError = "raise",
    progress: bool | None = None,
) -> pd.DataFrame:
    """Read any declared table from an archive.

    The columns and their dtypes are the same whatever rows come: `str`, `Int64`, `boolean`, `float64`,
    ``datetime64[us, UTC]``, ``datetime64[us]`` for wall clocks, and `object` for lists of text.

    Parameters
    ----------
    source
        A path or a list of paths (file, folder, pattern), an fsspec URL, an open binary file, or parsed
        JSON (a page, a list of pages, a delivery). Folders are read recursively, sorted by name.
    table
        The name of a declared table; `describe` lists them.
    columns
        The columns to read, in the order wanted; all when not given. Others are not parsed.
    prefix
        The service's own prefix, beside ``platform`` and ``action_network``.
    dedupe
        True gives one row an event or signature: the newest. ``"message"`` collapses only the retries of
        a webhook message, False nothing.
    on_error
        ``"raise"`` stops at the first problem; ``"skip"`` leaves a value that does not fit missing, passes
        over a document that cannot be read, and warns once with the count. `check` lists all.
    progress
        A progress bar: None shows one on a terminal, and for long work only.

    Returns
    -------
    DataFrame
        One row a row of the table, numbered from 0.

    Raises
    ------
    UnknownTable, UnknownColumn
        With the names that are nearest.
    SourceNotFound
        There is nothing at a path.
    BadDocument
        With file, line, key and value.

    Examples
    --------
    >>> import osdi_frames as of
    >>> delivery = [{"osdi:signature": {"add_tags": ["river", "new"]}, "idempotency_key": "5f"}]
    >>> of.read_table(delivery, "signature_tags", columns=["idempotency_key", "tag"])
      idempotency_key    tag
    0              5f  river
    1              5f    new
    """
    reader = scan(
        source, table, columns=columns, prefix=prefix, dedupe=dedupe, on_error=on_error, progress=progress
    )
    return frame(reader.read_all())


def frame(table: pa.Table) -> pd.DataFrame:
    """Give an Arrow table as a DataFrame with the dtypes that pandas users expect."""
    result: pd.DataFrame = table.to_pandas(types_mapper=_NULLABLE.get)
    for field in table.schema:
        if pa.types.is_list(field.type):
            # Lists, not arrays: they compare, and to_parquet and explode take them as they are.
            result[field.name] = pd.Series(table[field.name].to_pylist(), dtype=object, index=result.index)
    return result


# Integers and booleans stay what they are when some are missing.
_NULLABLE = {
    pa.int64(): pd.Int64Dtype(),
    pa.bool_(): pd.BooleanDtype(),
    pa.string(): pd.StringDtype(na_value=float("nan")),
}
