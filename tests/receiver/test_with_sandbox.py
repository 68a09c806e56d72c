"""The sandbox delivers to the receiver, `read_signatures` reads: every signature once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import osdi_frames as of
from osdi_frames.receiver import verify
from tests.clocks import GUARD, wait_for

from .process import Receiver, stored
from .sender import TOKEN

sandbox: Any = pytest.importorskip("osdi_frames.sandbox")

FAULTS: dict[str, dict[str, float]] = {
    "webhook_batch": {"size": 7, "seconds": 0.1, "probability": 0.5},
    "webhook_reorder": {"seconds": 0.5},
    "webhook_retry": {"probability": 0.2},
    "webhook_duplicate": {"probability": 0.2},
}


def _deliver_and_read(archive: Path, *, signatures: int, seconds: float = GUARD) -> None:
    # So many retries that none of 10,000 is given up because a fault took every answer 200 for a failure.
    app = sandbox.create_app(retry_after=(0.2, 0.5, *[1.0] * 10), webhook_timeout=GUARD)
    with Receiver(archive, segment_bytes=1 << 20) as receiver, sandbox.serve(app) as running:
        petition = running.admin("POST", "petitions", title="Save the trees")["id"]
        url = f"http://127.0.0.1:{receiver.port}/{TOKEN}"
        running.admin("POST", "webhooks", url=url, uploads=True)
        for seed, (fault, settings) in enumerate(FAULTS.items()):
            running.inject(fault, seed=seed, **settings)
        for start in range(0, signatures, 500):
            made = [{"comments": f"{n}", "person": {}} for n in range(start, min(start + 500, signatures))]
            running.admin("POST", "uploads", petition=petition, signatures=made)
        wait_for(lambda: not running.admin("GET", "messages?state=waiting"), interval=0.2, seconds=seconds)
        assert running.admin("GET", "dead-letters") == []
        truth = {
            identifier.partition(":")[2]
            for signature in running.admin("GET", "signatures")
            for identifier in signature["identifiers"]
            if identifier.startswith("platform:")
        }
        receiver.stop()
    frame = of.read_signatures(archive)
    assert len(truth) == signatures
    assert len(frame) == signatures
    assert set(frame.signature_id) == truth
    assert sorted(frame.comments, key=int) == [f"{number}" for number in range(signatures)]
    assert verify(archive).damages == []
    print(f"{signatures} signatures in {stored(archive).total()} deliveries, read once each")


def test_what_the_sandbox_delivers_is_read_once_each(tmp_path):
    _deliver_and_read(tmp_path / "archive", signatures=300)


@pytest.mark.long
def test_10000_signatures_that_the_sandbox_delivers_are_read_once_each(tmp_path):
    _deliver_and_read(tmp_path / "archive", signatures=10_000, seconds=300)
