"""Archives on the workers of a Dask cluster, for what one machine does not carry (extra ``dask``).

The columns, their dtypes and the rows are those of one machine; so are the rules, also that of one event or
signature, one row, over all partitions. `Archive.dask` and `Archive.export` call what is here.
"""

from __future__ import annotations

from osdi_frames.errors import MissingExtra

try:
    from osdi_frames.dask.exporting import export
    from osdi_frames.dask.graph import read
except ImportError as error:
    raise MissingExtra.named("dask") from error

__all__ = ["export", "read"]
