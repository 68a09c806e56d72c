"""What tests of several rooms use."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_umask() -> Iterator[None]:
    """Keep the umask that a command sets in this process from other tests."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture(scope="session")
def data() -> Path:
    """Give the sample archive of the repository."""
    return Path(__file__).parents[1] / "data"
