"""Damaged and unusual archives are read as the reference reads them, or reported; see ``python -m tests.fuzz``."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clocks import GUARD

from .making import FEATURES
from .running import Worker, case, run

#: Small archives on which the program failed once, each for a feature that it has.
CASES = {
    path.stem: json.loads(path.read_text())
    for path in sorted((Path(__file__).parent / "cases").glob("*.json"))
}


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker(seconds=GUARD, idle=GUARD) as worker:
        yield worker


@pytest.mark.parametrize("number", [2, 3])  # some that take no second
def test_an_archive_made_by_chance_is_read_or_reported(worker: Worker, number: int) -> None:
    spec = case(1, number)
    assert not worker.examine(spec, number), spec["features"]


@pytest.mark.long
@pytest.mark.parametrize("feature", [None, *FEATURES])
def test_any_archives_made_by_chance_are_read_or_reported(feature: str | None) -> None:
    seed, seconds = random.SystemRandom().randrange(10**6), 60 if feature else 1200
    with Worker() as impatient:
        for number, spec, failures in run(impatient, seed, seconds, only=feature):
            assert not failures, f"seed {seed}, case {number}, {spec['features']}"


#: The cases of the default run: of what other tests have no example of.
QUICK = ("array", "compact-then-pretty", "duplicate-key", "null-entries", "surrogate-key")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in CASES]
)
def test_an_archive_that_failed_once_is_read_or_reported(worker: Worker, name: str) -> None:
    assert not worker.examine(CASES[name], CASES[name]["turn"])
