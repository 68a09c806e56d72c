"""The same on a Dask cluster of this machine, whose workers have a thread each; it runs already."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pandas as pd
from distributed import Client, LocalCluster

import osdi_frames as of

MEMORY = "1GB"  # a worker's limit: beyond six tenths of it, Dask spills


def one_worker(path: str) -> int:
    """Read every column of every signature, of each the newest version, and count them."""
    return int(of.open(path).dask("signatures").map_partitions(len, meta=("rows", "int64")).sum().compute())


two_workers = one_worker


def exported(path: str) -> None:
    """Write all tables as Parquet."""
    of.open(path).export("out", engine="dask")


def exported_answer(_: None) -> dict[str, int]:
    """Count what the table of signatures holds."""
    people = pd.read_parquet("out/signatures.parquet", columns=["person_id"])["person_id"]
    return {"signatures": len(people), "people": people.nunique()}


def two_workers_answer(rows: int) -> dict[str, int]:
    """Name what was counted."""
    return {"signatures": rows}


one_worker_answer = two_workers_answer


@contextmanager
def _cluster(workers: int, _path: str) -> Iterator[None]:
    """Run a cluster, all of whose workers have read something, and so have imported what they need."""
    options = {"threads_per_worker": 1, "memory_limit": MEMORY, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster) as client:
        client.run(of.read_signatures, [{"osdi:signature": {"comments": "Yes"}}])
        yield


one_worker_within = partial(_cluster, 1)
two_workers_within = exported_within = partial(_cluster, 2)
