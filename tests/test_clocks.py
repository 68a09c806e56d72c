"""No test of the default run measures time: how long something takes depends on what else the machine does."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clocks import GUARD

TESTS = Path(__file__).parent
#: What reads a clock for the long form, for benchmarks or against hanging, and compares it with no bound of a test.
MEASURING = {
    "clocks.py": {"wait_for"},
    "client/test_speed.py": {"pull_times"},
    "fuzz/__main__.py": {"main"},
    "fuzz/running.py": {"run", "smaller"},
    "mutants.py": {"main"},
    "receiver/sender.py": {"offer"},
    "sandbox/serving.py": {"rate", "seconds"},
}
CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "process_time_ns"}
#: Programs whose own limits of time a test sets.
SUBJECTS = {"Client", "client", "client_of", "partial"}


def modules(*words: str) -> Iterator[tuple[str, ast.Module]]:
    """Return the modules in which one of some words occurs."""
    for path in sorted(TESTS.rglob("*.py")):
        name, text = path.relative_to(TESTS).as_posix(), path.read_text()
        if not name.startswith("benchmarks/") and any(word in text for word in words):
            yield name, ast.parse(text)


def called(call: ast.Call) -> str:
    return ast.unparse(call.func)


def reads_a_clock(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and (
        called(node).rpartition(".")[2] in CLOCKS or called(node) in ("time.time", "loop.time")
    )


def is_long(statement: ast.stmt) -> bool:
    decorators = statement.decorator_list if isinstance(statement, ast.FunctionDef) else []
    return "pytest.mark.long" in map(ast.unparse, decorators)


def test_clocks_are_read_in_long_forms_only():
    found = {}
    for name, module in modules(*CLOCKS, ".time("):
        for statement in module.body:
            if any(map(reads_a_clock, ast.walk(statement))) and not is_long(statement):
                found.setdefault(name, set()).add(getattr(statement, "name", ast.unparse(statement)))
    assert found == MEASURING


def test_what_guards_against_hanging_waits_longer_than_any_machine_is_slow():
    short = [
        f"{name}: {ast.unparse(call)}"
        for name, module in modules("timeout=")
        for call in ast.walk(module)
        if isinstance(call, ast.Call) and called(call).rpartition(".")[2] not in SUBJECTS
        for given in call.keywords
        if given.arg == "timeout" and isinstance(given.value, ast.Constant) and given.value.value < GUARD
    ]
    assert short == []


@pytest.mark.parametrize(
    "program", ["time.monotonic()", "perf_counter() - began", "loop.time()", "time.time()"]
)
def test_a_clock_is_known_when_it_is_read(program):
    assert any(map(reads_a_clock, ast.walk(ast.parse(program))))
