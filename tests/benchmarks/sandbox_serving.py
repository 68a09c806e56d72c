"""How fast the sandbox serves pages of 25 events from a store with 10,000: page 1, page 400, and pages a second.

Run it from the top of the project: ``python -m tests.benchmarks.sandbox_serving``.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.sandbox.process import served
from tests.sandbox.serving import fill, first_and_last, rate


def main() -> None:
    """Print the figures for 10,000 events."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder) / "sandbox.db") as process:
        fill(process.running, 10_000)
        first, last = first_and_last(process.running, last=400, repeats=200)
        print(f"page 1    {first * 1000:.2f} ms")
        print(f"page 400  {last * 1000:.2f} ms ({last / first:.2f} times page 1)")
        print(f"{rate(process.running, last=400, requests=2000):.0f} pages a second")


if __name__ == "__main__":
    main()
