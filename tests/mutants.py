"""Count how many small faults, put into a package one at a time, the given tests notice.

    python -m tests.mutants parsing --count 12 --seed 44 tests/test_problems.py tests/sources

A mutant is the package with one comparison turned, one constant moved, one condition negated or one call left out.
The seed and the source decide which mutants are made, so that two sets of tests meet the same ones.
"""

import argparse
import ast
import copy
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
PACKAGE = SOURCE / "osdi_frames"
HUNG = 900
"""Seconds after which a mutant counts as noticed: it does not end."""

TURNED: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
}


def faulty(node: ast.AST) -> ast.AST | None:
    """Return a node with a fault in place of `node`, or None where no fault is defined."""
    changed = copy.deepcopy(node)
    match changed:
        case ast.Compare(ops=[op]):
            changed.ops = [TURNED[type(op)]]
        case ast.BoolOp(op=op):
            changed.op = ast.Or() if isinstance(op, ast.And) else ast.And()
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.If(test=test) | ast.IfExp(test=test):
            changed.test = ast.UnaryOp(op=ast.Not(), operand=test)
        case ast.Constant(value=bool() as value):
            changed.value = not value
        case ast.Constant(value=int() as value):
            changed.value = value + 1
        case ast.Expr(value=ast.Call() | ast.Await()):
            return ast.Pass()
        case _:
            return None
    return changed


def mutants(path: Path) -> Iterator[tuple[str, str]]:
    """Yield where a fault of a module is and the text of the module with it."""
    tree = ast.parse(path.read_text())
    for parent in ast.walk(tree):
        if isinstance(parent, ast.If) and ast.unparse(parent.test) == "TYPE_CHECKING":
            continue
        for field, value in ast.iter_fields(parent):
            for at, node in enumerate(value if isinstance(value, list) else [value]):
                if not isinstance(node, ast.AST) or (fault := faulty(node)) is None:
                    continue
                set_field(parent, field, at, fault)
                place = f"{path.relative_to(PACKAGE)}:{getattr(node, 'lineno', 0)}"
                yield f"{place} {headline(node)} → {headline(fault)}", ast.unparse(tree)
                set_field(parent, field, at, node)


def set_field(parent: ast.AST, field: str, at: int, node: ast.AST) -> None:
    """Put a node into a field of its parent."""
    if isinstance(value := getattr(parent, field), list):
        value[at] = node
    else:
        setattr(parent, field, node)


def headline(node: ast.AST) -> str:
    """Return the first line of a node's text."""
    return ast.unparse(node).splitlines()[0][:70]


def noticed(path: Path, text: str, tests: list[str]) -> bool:
    """Return whether the tests fail, or cannot be imported, with a module's text replaced."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        (source / path.relative_to(SOURCE)).write_text(text)
        environment = os.environ | {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command, env=environment, start_new_session=True, **quiet) as running:
            try:
                return running.wait(HUNG) != 0
            except subprocess.TimeoutExpired:
                return True
            finally:  # also what the tests started, such as a server that a fault keeps from ending
                with suppress(ProcessLookupError):
                    os.killpg(running.pid, signal.SIGKILL)


def main() -> None:
    """Print a line a mutant, and how many were noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", help="package or module below osdi_frames, such as parsing or durable.py")
    parser.add_argument("tests", nargs="*", help="what pytest is to run; everything by default")
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--seed", type=int, default=44)
    asked = parser.parse_intermixed_args()
    collected = [sys.executable, "-m", "pytest", "-q", "--collect-only", *asked.tests]
    subprocess.run(collected, check=True, stdout=subprocess.DEVNULL)  # or each mutant would count as noticed
    place = PACKAGE / asked.package
    paths = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    every = [(path, where, text) for path in paths for where, text in mutants(path)]
    chosen = random.Random(asked.seed).sample(every, min(asked.count, len(every)))
    count = 0
    for path, where, text in chosen:
        begun = time.monotonic()
        killed = noticed(path, text, asked.tests)
        count += killed
        print(f"{'noticed' if killed else 'MISSED '} {time.monotonic() - begun:4.0f} s  {where}", flush=True)
    print(f"{count} of {len(chosen)} mutants of {asked.package} noticed (seed {asked.seed}, of {len(every)})")


if __name__ == "__main__":
    main()
