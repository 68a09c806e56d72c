"""What tests of several rooms use."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data() -> Path:
    """Give the sample archive of the repository."""
    return Path(__file__).parents[1] / "data"
