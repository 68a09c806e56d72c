"""How fast archives are read, against what people write by hand: ``python -m tests.benchmarks --help``.

Before a line is measured, its contestants have to give the same answer. Then they take turns, each in a
process of its own; a ratio is the median of the ratios of the rounds. A target that is missed is shown, and
is no error; a contestant that fails or answers differently is one.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .archives import path_of
from .lines import Contestant, Figure, Line, Target, cluster_lines, large_lines, lines
from .measure import disagreement

ROOT = Path(__file__).parents[2]
LIBRARIES = ("osdi-frames", "duckdb", "polars", "pandas", "pyarrow", "orjson")

_HEAD = ("", "| line | target | measured | rounds | |", "|---|---|--:|--:|---|")

Figures = dict[str, Any]
Round = dict[str, Figures]


class Failed(Exception):
    """A contestant that ended with an error, or answered differently."""


def main() -> None:
    """Measure the lines, print the table, write it as JSON and as a picture."""
    options = _options()
    options.keep.mkdir(parents=True, exist_ok=True)
    options.out.mkdir(parents=True, exist_ok=True)
    compileall.compile_dir(ROOT / "src", quiet=1)  # as every package is that pip installs
    chosen = [*lines(options.deliveries), *cluster_lines(options.deliveries, options.deliveries)]
    chosen += large_lines() if options.large else []
    chosen = [
        line for line in chosen if not options.only or any(words in line.name for words in options.only)
    ]
    machine = {"processor": _processor(), "cores": os.cpu_count(), "python": platform.python_version()}
    machine |= {"load before": os.getloadavg()[0], "versions": {name: version(name) for name in LIBRARIES}}
    measured, failures = [], []
    print(_machine_in_words(machine, options), *_HEAD, sep="\n", flush=True)
    for line in chosen:
        try:
            _make_archives(line, options.keep)
            _compare_answers(line, options.keep)
            rounds = _measure(line, options.keep, options.runs)
        except Failed as error:
            failures.append(f"{line.name}: {error}")
            continue
        results = [_result(target, rounds, line) for target in line.targets]
        for result in results:
            print(_row(line, result), flush=True)
        medians = {name: _medians([one[name] for one in rounds]) for name in line.contestants}
        measured.append({"line": line.name, "contestants": medians, "targets": results})
    print("\n" + _table_of_contestants(measured))
    machine["load after"] = os.getloadavg()[0]
    whole = {"deliveries": options.deliveries, "runs": options.runs, "machine": machine, "lines": measured}
    (options.out / "benchmarks.json").write_text(json.dumps(whole | {"failures": failures}, indent=1) + "\n")
    _draw(measured, options.out / "benchmarks.png")
    sys.exit("\n".join(failures) or 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--deliveries", type=int, default=200_000, help="deliveries of an archive")
    parser.add_argument("--runs", type=int, default=5, help="rounds, of which the median counts")
    parser.add_argument("--only", action="append", metavar="NAME", help="lines whose name contains this")
    parser.add_argument("--large", action="store_true", help="also archives of 2,000,000 deliveries, 3 GB")
    parser.add_argument("--out", type=Path, default=Path("benchmarks"), help="folder for JSON and picture")
    keep = Path(tempfile.gettempdir()) / "osdi-frames-benchmarks"
    parser.add_argument("--keep", type=Path, default=keep, help="folder in which archives are kept")
    return parser.parse_args()


def _run(module: str, *arguments: str | Path, folder: str | None = None) -> str:
    """Run a module of this folder; this process stays small, since a child begins with its peak."""
    command = [sys.executable, "-m", f"tests.benchmarks.{module}", *arguments]
    # What is measured is the package next to these tests, wherever another is installed.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    ran = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    if ran.returncode:
        raise Failed(f"{' '.join(map(str, arguments))}: {ran.stderr.strip()[-800:]}")
    return ran.stdout


def _call(contestant: Contestant, keep: Path, *options: str) -> Figures:
    path = path_of(keep.resolve(), contestant.archive)
    with tempfile.TemporaryDirectory() as folder:
        figures: Figures = json.loads(_run("measure", contestant.call, path, *options, folder=folder))
    if contestant.archive:
        figures["seconds a delivery"] = figures["seconds"] / contestant.deliveries
    return figures


def _make_archives(line: Line, keep: Path) -> None:
    for name in {contestant.archive for contestant in line.contestants.values()} - {""}:
        if not path_of(keep, name).exists():
            _run("archives", keep, name)


def _compare_answers(line: Line, keep: Path) -> None:
    answers = {
        name: _call(contestant, keep, "--answer")["answer"] for name, contestant in line.agreeing.items()
    }
    if differing := disagreement(answers):
        raise Failed(differing)


def _measure(line: Line, keep: Path, runs: int) -> list[Round]:
    return [
        {name: _call(contestant, keep) for name, contestant in line.contestants.items()} for _ in range(runs)
    ]


def _result(target: Target, rounds: list[Round], line: Line) -> dict[str, Any]:
    values = [_value(one, target.of, target.figure) for one in rounds]
    if target.against is not None:
        others = (_value(one, target.against, target.figure) for one in rounds)
        values = [value / other for value, other in zip(values, others, strict=True)]
    measured = statistics.median(values)
    return {
        "name": f"{line.name} / {target.against}" if target.against else line.name,
        "figure": target.figure,
        "against": target.against,
        "target": target.at_most,
        "measured": measured,
        "lowest": min(values),
        "highest": max(values),
        "met": measured <= target.at_most,
    }


def _value(round_: Round, name: str, figure: Figure) -> float:
    return float(round_[name][figure])


def _row(line: Line, result: dict[str, Any]) -> str:
    unit, scale = (
        ("", 1.0) if result["against"] else ((" MB", 1e-6) if result["figure"] == "peak" else (" s", 1.0))
    )
    aim, found, low, high = (result[name] * scale for name in ("target", "measured", "lowest", "highest"))
    times = f" × {result['against']}" if result["against"] else unit
    figure = "" if result["figure"] == "seconds" else f", {result['figure']}"
    met = "met" if result["met"] else "missed"
    return f"| {line.name} | ≤ {aim:g}{times}{figure} | {found:.2f} | {low:.2f}–{high:.2f} | {met} |"


def _medians(figures: list[Figures]) -> dict[str, float]:
    return {
        name: statistics.median(figure[name] for figure in figures)
        for name in ("seconds", "processor", "peak")
    }


def _table_of_contestants(measured: list[dict[str, Any]]) -> str:
    rows = [
        f"| {line['line']} | {name} | {own['seconds']:.2f} | {own['processor']:.2f} | {own['peak'] / 1e6:,.0f} |"
        for line in measured
        for name, own in line["contestants"].items()
    ]
    return "\n".join(
        ["| line | contestant | seconds | processor seconds | peak MB |", "|---|---|--:|--:|--:|", *rows]
    )


def _machine_in_words(machine: dict[str, Any], options: argparse.Namespace) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    return (
        f"{options.deliveries:,} deliveries, medians of {options.runs}; {machine['processor']}, "
        f"{machine['cores']} cores, load {machine['load before']:.1f}; Python {machine['python']}, {versions}"
    )


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    names = [line for line in info.read_text().splitlines() if "model name" in line] if info.exists() else []
    return names[0].partition(":")[2].strip() if names else platform.processor()


def _draw(measured: list[dict[str, Any]], path: Path) -> None:
    """Draw each figure as a share of its target; what is left of the line is met."""
    from matplotlib.figure import Figure as Picture

    results = [result for line in measured for result in line["targets"]][::-1]
    picture = Picture(figsize=(9, 1 + 0.32 * len(results)), layout="constrained")
    axes = picture.subplots()
    shares = [result["measured"] / result["target"] for result in results]
    colours = ["tab:green" if result["met"] else "tab:red" for result in results]
    bars = axes.barh([result["name"] for result in results], shares, color=colours)
    labels = [f"{result['measured']:.3g} of {result['target']:.3g}" for result in results]
    for place, label, share in zip(bars, labels, shares, strict=True):
        axes.text(min(share, 2.6) + 0.03, place.get_y() + place.get_height() / 2, label, va="center")
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xlim(0, 3)
    axes.set_xlabel("measured, as a share of the target")
    picture.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
