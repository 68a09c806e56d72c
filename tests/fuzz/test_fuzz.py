"""Damaged and unusual archives are read as the reference reads them, or reported; see ``python -m tests.fuzz``."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .known import KNOWN
from .making import FEATURES
from .running import Worker, run

#: Small archives on which the program failed once, each for a feature that it has.
CASES = {
    path.stem: json.loads(path.read_text())
    for path in sorted((Path(__file__).parent / "cases").glob("*.json"))
}


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as worker:
        yield worker


def read_or_reported(worker: Worker, seed: int, seconds: float, **options: Any) -> None:
    print(f"seed {seed}")
    for number, spec, failures in run(worker, seed, seconds, **options):
        assert not failures, f"seed {seed}, case {number}, {spec['features']}"


def test_archives_made_by_chance_are_read_or_reported(worker: Worker) -> None:
    read_or_reported(worker, 1, seconds=3, without=frozenset(KNOWN))


@pytest.mark.long
@pytest.mark.parametrize("feature", [None, *FEATURES])
def test_any_archives_made_by_chance_are_read_or_reported(worker: Worker, feature: str | None) -> None:
    if feature in KNOWN:
        pytest.skip("known to fail; its cases are")
    seed, seconds = random.SystemRandom().randrange(10**6), 60 if feature else 1200
    read_or_reported(worker, seed, seconds, without=frozenset(KNOWN), only=feature)


@pytest.mark.parametrize("name", CASES)
def test_an_archive_that_failed_once_is_read_or_reported(worker: Worker, name: str) -> None:
    case = CASES[name]
    known = case["feature"] in KNOWN
    failures = worker.examine(case, case["turn"])
    if known:
        assert failures, f"{case['feature']!r} is read well: take it out of known.py"
    else:
        assert not failures


def test_what_is_known_to_fail_is_a_feature_that_has_a_case() -> None:
    assert set(KNOWN) <= set(FEATURES) & {case["feature"] for case in CASES.values()}
