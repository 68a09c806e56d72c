"""Bodies of the quarantine that hold deliveries are taken back into the archive, each once."""

from __future__ import annotations

import base64
import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote_plus

import pytest

import osdi_frames as of
from osdi_frames.errors import SourceWarning
from osdi_frames.receiver import erase, requeue, verify
from osdi_frames.receiver.envelope import Envelope
from osdi_frames.receiver.requeue import Requeue
from osdi_frames.receiver.validation import validate_body
from osdi_frames.receiver.worker import Worker
from osdi_frames.sources.files import QUARANTINE

from .test_archive import ANN, AT, run, write


def signed(number: int) -> str:
    return json.dumps(
        {"osdi:signature": {"identifiers": [f"action_network:s{number}"]}, "idempotency_key": f"m{number}"}
    )


#: What an earlier version put into quarantine, relays send, and what holds no delivery.
HELD = [
    signed(1).encode(),
    f"\ufeff[{signed(2)}]".encode(),
    f"payload={quote_plus(f'[{signed(3)}]')}".encode(),
    json.dumps(f"[{signed(4)}]").encode(),
    json.dumps({"body": [json.loads(signed(5))]}, indent=1).encode(),
    base64.b64encode(f"[{signed(6)},{signed(7)}]".encode()),
]
OTHERS = [
    b"",
    b"email=ann%40example.org",
    b'["a"]',
    f"[{signed(8)[:-9]}".encode(),
    b'[{"osdi:signature":{"a":"\xff"}}]',
]


def quarantine(archive: Path, bodies: list[bytes]) -> None:
    owner = Worker(archive, "main", segment_bytes=500)
    for body in bodies:
        reason = validate_body(body) or "not an array"
        entry = Envelope.of(body, sequence=owner.quarantine.next_sequence, at=AT, reason=reason)
        owner.quarantine.append([entry.line()], day=AT[:10])
    owner.close()


def ids(archive: Path) -> list[str]:
    return of.open(archive).signatures(["signature_id"])["signature_id"].tolist()


@pytest.mark.filterwarnings("ignore:.*holds .* that .* no deliver")
def test_what_holds_deliveries_is_taken_back_once_with_its_time(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    quarantine(archive, [*HELD, *OTHERS])
    assert ids(archive) == []
    result = run("requeue", archive)
    assert (result.exit_code, result.stdout) == (
        0,
        "searched 11 bodies in quarantine; took 6 back, 0 before; 5 hold no delivery\n",
    )
    found = of.open(archive).signatures()
    assert sorted(found["signature_id"]) == [f"s{number}" for number in range(1, 8)]
    assert (found["received_at"] == AT).all()
    assert verify(archive).damages == []
    assert requeue(archive) == Requeue(searched=11, before=6, left=5)
    (archive / "main" / QUARANTINE / ".requeued").unlink()  # as where a run is killed before it lists them
    assert requeue(archive) == Requeue(searched=11, before=6, left=5)
    assert verify(archive).deliveries == 6
    listed = of.check(archive).query("problem == 'in quarantine'")
    assert listed["count"].tolist() == [5]
    with pytest.warns(SourceWarning, match="holds 5 bodies that are no deliveries, not read"):
        ids(archive)


def test_a_quarantine_that_is_opened_by_name_is_read_where_it_holds_deliveries(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    quarantine(archive, [*HELD, *OTHERS])
    found = of.open(archive / "main" / QUARANTINE, on_error="skip")
    with pytest.warns(of.errors.ProblemsWarning, match="skipped 5 problems"):
        assert sorted(found.signatures()["signature_id"]) == [f"s{number}" for number in range(1, 8)]
    assert (found.check().query("severity == 'error'")["count"].sum()) == 5


def test_a_receiver_can_run_meanwhile_and_nobody_who_was_erased_comes_back(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    quarantine(archive, [f"{ANN} and more".encode(), ANN.encode(), HELD[0]])
    running = Worker(archive, "main", segment_bytes=1)
    assert requeue(archive) == Requeue(searched=3, requeued=2, left=1)
    running.close()
    done = erase(archive, persons=["ann-1"])
    assert (done.quarantined, done.deliveries, done.left) == (2, 1, [])
    assert requeue(archive) == Requeue(searched=1, before=1)
    assert verify(archive).damages == []


_KILLED = """
import os, signal, sys
from osdi_frames.receiver import requeue

count, seen = int(sys.argv[2]), 0

def kill_at(event, arguments):
    global seen
    if event in ("open", "os.rename", "os.remove"):
        seen += 1
        if seen == count:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(kill_at)
requeue(sys.argv[1])
print(seen)
"""


@pytest.mark.parametrize("times", [4, pytest.param(30, marks=pytest.mark.long)])
@pytest.mark.filterwarnings("ignore:.*holds .* that .* no deliver")
def test_a_killed_run_loses_nothing_and_the_next_ends_it(times: int, tmp_path: Path) -> None:
    def killed(archive: Path, count: int) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-c", _KILLED, str(archive), str(count)]
        return subprocess.run(command, capture_output=True, check=False)

    quarantine(tmp_path / "whole", HELD)
    calls = int(killed(tmp_path / "whole", 0).stdout)
    drawn = random.Random(3)
    for number in range(times):
        archive = tmp_path / f"archive-{number}"
        quarantine(archive, HELD)
        for count in drawn.sample(range(calls // 2, calls), 2):
            ran = killed(archive, count)
            assert ran.returncode in (-signal.SIGKILL, 0), ran.stderr.decode()
        done = requeue(archive)
        assert (done.searched, done.requeued + done.before, done.left) == (6, 6, 0)
        assert verify(archive).damages == []
        assert verify(archive).deliveries == 6
        assert len(ids(archive)) == 7


def test_deliveries_that_a_receiver_wrote_stay(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    write(archive, [f"[{ANN}]".encode(), b"not JSON"])
    assert requeue(archive) == Requeue(searched=1, left=1)
    assert verify(archive).deliveries == 1
