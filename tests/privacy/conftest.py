"""What tests of messages work in."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import stamina


@pytest.fixture
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Work in a folder of the test's own; ask for addresses once."""
    monkeypatch.chdir(tmp_path)
    stamina.set_testing(True, attempts=1)
    yield
    stamina.set_testing(False)
