"""Show the named queries that resolve tables, each with its first rows: ``python -m tests.steps ARCHIVE TABLE…``.

Comments at the queries, in `resolving`, say why each is there.
"""

from __future__ import annotations

import sys
from textwrap import dedent
from unittest.mock import patch

import pandas as pd
import pyarrow as pa

import osdi_frames as of
from osdi_frames.engine import Pipeline
from osdi_frames.resolving import merging, resolver

ROWS = 3


class ShownPipeline(Pipeline):
    """A pipeline that prints each step when it is named, and what is asked of the steps."""

    def name(self, name: str, query: str) -> None:
        """Name a query, and print it."""
        super().name(name, query)
        _print(name, query, super().ask(f"FROM {name}"))

    def keep(self, name: str, query: str) -> pa.Table:
        """Keep the rows of a query, and print both."""
        rows = super().keep(name, query)
        _print(name, query, rows)
        return rows

    def ask(self, query: str) -> pa.Table:
        """Return the rows of a query, and print both."""
        rows = super().ask(query)
        if sys._getframe(1).f_code.co_name != "keep":
            _print("asked", query, rows)
        return rows


def _print(name: str, query: str, rows: pa.Table) -> None:
    first = rows.slice(0, ROWS).to_pandas(types_mapper=pd.ArrowDtype)
    print(
        f"\n-- {name}: {len(rows)} rows of {', '.join(rows.column_names)}", dedent(" " * 8 + query), sep="\n"
    )
    print(first.to_string(index=False) if len(first) else "")


def main(source: str, *tables: str) -> None:
    """Read tables, and print how they are resolved."""
    with patch.object(merging, "Pipeline", ShownPipeline), patch.object(resolver, "Pipeline", ShownPipeline):
        of.open(source).tables(tables or ["signatures"])


if __name__ == "__main__":
    main(*sys.argv[1:])
