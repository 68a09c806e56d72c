"""Disks that are full or fail: no 200 without a durable record, and 200 again when there is space."""

from __future__ import annotations

import asyncio
import contextlib
import re
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from osdi_frames.receiver.verification import verify
from osdi_frames.receiver.worker import Worker
from tests.clocks import GUARD, wait_for

from .process import HTTP, Receiver, stored, tracing
from .sender import TOKEN, Connection, delivery, request


@contextlib.contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def _may_mount() -> bool:
    command = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


async def _deliver(port: int, numbers: range) -> dict[bytes, int]:
    connection = await Connection.to(port)
    answers = {body: await connection.send(request(body)) for body in map(delivery, numbers)}
    connection.close()
    return answers


def _acknowledged(answers: dict[bytes, int]) -> set[bytes]:
    return {body for body, status in answers.items() if status == 200}


async def _until_200(port: int, body: bytes) -> None:
    connection = await Connection.to(port)
    async with asyncio.timeout(GUARD):
        while await connection.send(request(body)) != 200:
            await asyncio.sleep(0.02)
    connection.close()


@pytest.mark.skipif(not _may_mount(), reason="mounting is not allowed here; RLIMIT_FSIZE is tested instead")
def test_a_disk_that_fills_up_gives_503_and_200_again_once_there_is_room(tmp_path):
    with small_disk(tmp_path / "disk", 256) as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(64 << 10))
        log = tmp_path / "log"
        with Receiver(disk / "archive", log=log, segment_bytes=40_000) as receiver:
            answers = asyncio.run(_deliver(receiver.port, range(600)))
            assert set(answers.values()) == {200, 503}
            ballast.unlink()
            body = delivery(1000)
            asyncio.run(_until_200(receiver.port, body))
            receiver.stop()
            acknowledged = _acknowledged(answers) | {body}
            assert acknowledged - set(stored(disk / "archive")) == set()
            assert verify(disk / "archive").damages == []
    assert log.read_text().count("could not be written") < 5


def test_a_file_size_limit_gives_503_and_nothing_acknowledged_is_lost(tmp_path):
    log = tmp_path / "log"
    with Receiver(tmp_path / "archive", log=log) as receiver:
        resource.prlimit(receiver.process.pid, resource.RLIMIT_FSIZE, (30_000, resource.RLIM_INFINITY))
        answers = asyncio.run(_deliver(receiver.port, range(60)))
        assert set(answers.values()) == {200, 503}
        resource.prlimit(receiver.process.pid, resource.RLIMIT_FSIZE, (1 << 30, resource.RLIM_INFINITY))
        body = delivery(1000)
        asyncio.run(_until_200(receiver.port, body))
        receiver.stop()
    assert stored(tmp_path / "archive").keys() == _acknowledged(answers) | {body}
    assert verify(tmp_path / "archive").damages == []
    assert re.search(r"File too large: '.*archive/main/[-0-9]+/[0-9]+\.ndjson'", log.read_text())


def test_a_start_on_a_full_disk_with_a_torn_end_loses_nothing(tmp_path):
    if not _may_mount():
        pytest.skip("mounting is not allowed here")
    with small_disk(tmp_path / "disk", 128) as disk:
        archive = disk / "archive"
        with Receiver(archive) as receiver:
            answers = asyncio.run(_deliver(receiver.port, range(10)))
            receiver.kill()
        (segment,) = archive.glob("main/2*/*")
        with segment.open("ab") as file:
            file.write(b'{"checksum":"torn')
        ballast = disk / "ballast"
        with contextlib.suppress(OSError):
            ballast.write_bytes(bytes(1 << 20))
        with Receiver(archive) as receiver:
            ballast.unlink()
            more = asyncio.run(_deliver(receiver.port, range(10, 20)))
            receiver.stop()
        Worker(archive, "main", segment_bytes=1).close()
        assert stored(archive).keys() == _acknowledged(answers | more)
        assert len(answers | more) == 20


def _fail_at(archive: Path, *faults: str, deliveries: int) -> list[int]:
    with Receiver(archive, segment_bytes=30_000) as receiver:
        options = [part for fault in faults for part in ("-e", f"inject={fault}")]
        with tracing(receiver.threads["writer"], *options):
            answers = asyncio.run(_deliver(receiver.port, range(deliveries)))
        answers |= asyncio.run(_deliver(receiver.port, range(deliveries, deliveries + 3)))
        receiver.stop()
    assert stored(archive).keys() == _acknowledged(answers)
    assert verify(archive).damages == []
    return list(answers.values())


@pytest.mark.parametrize("fault", ["ENOSPC", "EIO"])
@pytest.mark.parametrize("call", ["write", "fsync"])
@pytest.mark.parametrize("nth", [1, 3])
def test_a_failed_call_is_answered_503_and_the_next_delivery_200(tmp_path, call, fault, nth):
    answers = _fail_at(tmp_path / "archive", f"{call}:error={fault}:when={nth}", deliveries=5)
    assert sorted(answers) == [200] * 7 + [503]


@pytest.mark.long
@pytest.mark.parametrize("fault", ["ENOSPC", "EIO"])
@pytest.mark.parametrize("call", ["write", "fsync"])
def test_each_of_the_first_50_calls_that_fails_is_answered_503_and_the_next_200(tmp_path, call, fault):
    for nth in range(1, 51):
        answers = _fail_at(tmp_path / f"{nth}", f"{call}:error={fault}:when={nth}", deliveries=51)
        assert sorted(answers) == [200] * 53 + [503]


def test_a_file_that_can_neither_be_synced_nor_cut_back_is_given_up_and_nothing_is_lost(tmp_path):
    answers = _fail_at(tmp_path / "archive", "fsync:error=EIO:when=5", "ftruncate:error=EIO", deliveries=8)
    assert answers.count(503) == 1


def test_while_every_sync_fails_nothing_is_acknowledged_and_the_health_page_says_failing(tmp_path):
    with Receiver(tmp_path / "archive", probe_seconds=0.1) as receiver:
        with tracing(receiver.threads["writer"], "-e", "inject=fsync:error=EIO"):
            answers = asyncio.run(_deliver(receiver.port, range(10)))
            assert set(answers.values()) == {503}
            refused = HTTP.post(f"http://127.0.0.1:{receiver.port}/{TOKEN}", content=b"[]")
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert _health(receiver.port) == "failing"
        asyncio.run(_until_200(receiver.port, delivery(0)))
        wait_for(lambda: _health(receiver.port) != "failing")


def _health(port: int) -> str:
    return HTTP.get(f"http://127.0.0.1:{port}/healthz").json()["status"]
