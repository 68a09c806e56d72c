"""The table of benchmarks as data: who does the work, on which archive, and what is aimed at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Figure = Literal["seconds", "peak", "seconds a delivery"]


@dataclass(frozen=True, slots=True)
class Contestant:
    """A function of a module of this folder, and the archive it reads."""

    call: str
    archive: str = ""

    @property
    def deliveries(self) -> int:
        """The number of deliveries of its archive."""
        return int(self.archive.rpartition("-")[2])


@dataclass(frozen=True, slots=True)
class Target:
    """The most that a contestant's figure may be: times that of another, or where there is none, in itself."""

    at_most: float
    against: str | None = None
    of: str = "osdi-frames"
    figure: Figure = "seconds"


@dataclass(frozen=True, slots=True)
class Line:
    """Contestants that take turns, and who of them, with whom else, has to give the same answer."""

    name: str
    contestants: Mapping[str, Contestant]
    targets: tuple[Target, ...]
    agreeing: Mapping[str, Contestant] = field(default_factory=dict)


def lines(deliveries: int) -> list[Line]:
    """Return the lines that are always measured, on archives of so many deliveries."""
    sample, files = f"sample-{deliveries}", f"files-{max(1, deliveries // 10)}"
    people = f"people-{deliveries}"
    made = [line for archive in (sample, f"other-{deliveries}") for line in _readings(archive)]
    to_pandas = {
        "osdi-frames": Contestant("by_osdi_frames.to_pandas", sample),
        "scan": Contestant("by_osdi_frames.scan", sample),
    }
    small = {
        "osdi-frames": Contestant("by_osdi_frames.scan", files),
        "duckdb": Contestant("by_duckdb.files", files),
    }
    again = {
        "again": Contestant("by_osdi_frames.again", sample),
        "osdi-frames": Contestant("by_osdi_frames.by_source", sample),
    }
    fitting = {
        "odd": Contestant("by_osdi_frames.skipped", f"odd-{max(1, deliveries // 10)}"),
        "clean": Contestant("by_osdi_frames.skipped", f"sample-{max(1, deliveries // 10)}"),
    }
    started = {
        "osdi-frames": Contestant("by_command_line.import_osdi_frames"),
        "pandas": Contestant("by_command_line.import_pandas"),
    }
    return [
        *made,
        Line("to pandas", to_pandas, (Target(1.4, "scan"),), to_pandas),
        Line(f"{files.removeprefix('files-')} files", small, (Target(1.2, "duckdb"),), small),
        Line(
            "by_source, with a handle asked before", again, (Target(0.2, "osdi-frames", of="again"),), again
        ),
        Line("values that do not fit", fitting, (Target(3, "clean", of="odd"),), fitting),
        _command("report", "report", 4, sample),
        _command("report, each of another person", "report", 5, people),
        _with_a_store(f"parts-{deliveries}", 0.15),
        _with_a_store(files, 0.3),
        _command("report --out", "report_out", 6, sample),
        _command("report --out, each of another person", "report_out", 8, people),
        _command("check", "check", 4, sample),
        _command("export", "export", 7, sample),
        Line("import", started, (Target(1.2, "pandas"),)),
        Line("--help", {"osdi-frames": Contestant("by_command_line.list_commands")}, (Target(0.3),)),
    ]


def _with_a_store(archive: str, at_most: float) -> Line:
    """Measure a report with a store against one without: nothing is new, it was asked before, one file is new."""
    calls = {
        "without": "report",
        "nothing new": "report_stored",
        "asked again": "report_again",
        "one new file": "report_grown",
    }
    contestants = {name: Contestant(f"by_command_line.{call}", archive) for name, call in calls.items()}
    targets = (
        *(Target(at_most, "without", of=name) for name in ("nothing new", "asked again")),
        Target(0.2, "without", of="one new file"),
    )
    return Line(f"report with a store, {archive}", contestants, targets, contestants)


def cluster_lines(deliveries: int, large: int) -> list[Line]:
    """Return the lines of a cluster of this machine, the export on an archive of its own size."""
    read, write = f"sample-{deliveries}", f"sample-{large}"
    workers = {
        "two workers": Contestant("by_dask.two_workers", read),
        "one worker": Contestant("by_dask.one_worker", read),
    }
    exports = {"cluster": Contestant("by_dask.exported", write), **_export(write)}
    memory = Target(1e9, of="two workers", figure="peak")
    return [
        Line("dask", workers, (Target(0.65, "one worker", of="two workers"), memory), workers),
        Line("export on dask", exports, (Target(1.2, "osdi-frames", of="cluster"),), exports),
    ]


def _export(archive: str) -> dict[str, Contestant]:
    return {"osdi-frames": Contestant("by_command_line.export", archive)}


def large_lines() -> list[Line]:
    """Return the lines of archives up to 3 GB."""
    sizes = {"osdi-frames": "sample-2000000", "a quarter": "sample-500000"}
    commands = {"report --out": "report_out", "export": "export"}
    peaks = (Target(1e9, figure="peak"), Target(1.2, "a quarter", figure="peak"))
    growing = {"osdi-frames": "sample-2000000", "50,000": "sample-50000"}
    scan = {
        "osdi-frames": Contestant("by_osdi_frames.streamed", sizes["osdi-frames"]),
        "duckdb": Contestant("by_duckdb.streamed", sizes["osdi-frames"]),
    }
    return [
        Line("scan, 2000000", scan, (Target(1.2, "duckdb"), Target(0.6e9, figure="peak")), scan),
        _with_a_store("parts-2000000", 0.1),
        *cluster_lines(500_000, 2_000_000),
        *(
            Line(
                f"memory of {name}",
                {size: Contestant(f"by_command_line.{call}", sizes[size]) for size in sizes},
                peaks,
            )
            for name, call in commands.items()
        ),
        *(
            Line(
                f"growth of {name}",
                {
                    contestant: Contestant(f"by_osdi_frames.{name}", growing[contestant])
                    for contestant in growing
                },
                (Target(at_most, "50,000", figure="seconds a delivery"),),
            )
            for name, at_most in (("streamed", 1.1), ("streamed_deduped", 1.25))
        ),
    ]


def _readings(archive: str) -> list[Line]:
    maker = archive.partition("-")[0]
    scan = {
        "osdi-frames": Contestant("by_osdi_frames.scan", archive),
        "duckdb": Contestant("by_duckdb.scan", archive),
        "polars": Contestant("by_polars.scan", archive),
        "json_normalize": Contestant("by_pandas.scan", archive),
    }
    by_source = {name: Contestant(f"by_{module}.by_source", archive) for name, module in _BY_SOURCE.items()}
    scanned = (Target(1.5, "duckdb"), Target(0.65, "polars"), Target(0.12, "json_normalize"))
    counted = (Target(1.8, "duckdb"), Target(0.9, "polars"))
    return [
        Line(f"scan, {maker}", scan, scanned, scan),
        Line(f"by_source, {maker}", by_source, counted, by_source),
    ]


_BY_SOURCE = {"osdi-frames": "osdi_frames", "duckdb": "duckdb", "polars": "polars"}


def _command(name: str, call: str, at_most: float, archive: str) -> Line:
    """Measure a command against D, and compare what it counts with a query."""
    mine = {"osdi-frames": Contestant(f"by_command_line.{call}", archive)}
    against = {"D": Contestant("by_duckdb.scan", archive)}
    totals = {"duckdb": Contestant("by_duckdb.totals", archive)}
    return Line(name, mine | against, (Target(at_most, "D"),), mine | totals)
