"""One contestant in a process of its own: ``python -m tests.benchmarks.measure by_duckdb.scan FILE [--answer]``.

Prints a line of JSON: the seconds of the call alone, after all imports, by the clock and of
all processors together (which other work on the machine changes less); the peak of the process, or of the
command that it started, in bytes; with ``--answer`` a digest of the answer, whose time is not counted.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any


def contestant(
    call: str,
) -> tuple[Callable[[str], Any], Callable[[Any], Any], Callable[[str], AbstractContextManager[Any]]]:
    """Import what `module.function` names; return it, what makes an answer of its result, and what it runs in."""
    module_name, _, name = call.partition(".")
    module = importlib.import_module(f"tests.benchmarks.{module_name}")
    answer = getattr(module, f"{name}_answer", lambda result: result)
    return getattr(module, name), answer, getattr(module, f"{name}_within", nullcontext)


def disagreement(answers: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Compare each answer with the first, on what both of them have, which may not be nothing."""
    first = next(iter(answers), "")
    for name, answer in answers.items():
        common = [column for column in answer if column in answers[first]]
        differing = [column for column in common if answer[column] != answers[first][column]]
        if differing or not common:
            return f"{name} and {first} differ in {', '.join(differing) or 'what they answer'}"
    return None


def main() -> None:
    """Import the contestant's module, call it once, print the figures."""
    call, path, *options = sys.argv[1:]
    function, answer, within = contestant(call)
    with within(path):
        started, busy = time.perf_counter(), sum(os.times()[:4])
        result = function(path)
        figures = {"seconds": time.perf_counter() - started, "processor": sum(os.times()[:4]) - busy}
    users = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    figures["peak"] = max(resource.getrusage(user).ru_maxrss for user in users) * 1024
    if "--answer" in options:
        from tests.benchmarks.answers import digest

        figures["answer"] = digest(answer(result))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
