"""Ctrl-C ends every command with status 130 and leaves nothing half written: real processes, real signals."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pyarrow as pa
import pytest

from osdi_frames import sample
from osdi_frames.engine import engine, refused
from tests.client.hostile import listening, page_of, speaking
from tests.clocks import GUARD, cpu_seconds, wait_for
from tests.commands import open_fifo
from tests.receiver.sender import TOKEN

COMMAND = [sys.executable, "-m", "osdi_frames"]


def stopped(words, *, ready, cwd, within=GUARD, program=COMMAND):
    """Start a command, interrupt it when `ready` says so; return its status, what it said and what is left.

    Hidden files can be left where cleaning up takes too long: a later run takes them for what they are.
    """
    # A shell in the background lets its children ignore SIGINT.
    process = subprocess.Popen(
        [*program, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={**os.environ, "OSDI_API_KEY": "key"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        ready(process)
        process.send_signal(signal.SIGINT)
        said = "".join(process.communicate(timeout=within))
    finally:
        process.kill()
    return process.returncode, said, sorted(path.name for path in cwd.iterdir() if path.name[0] != ".")


@pytest.mark.parametrize(
    "words",
    [
        ["report", "pipe", "--out", "out"],
        *(
            pytest.param(words, marks=pytest.mark.long)
            for words in (["check", "pipe"], ["report", "pipe"], ["export", "pipe", "out"])
        ),
    ],
    ids=" ".join,
)
def test_a_reading_that_waits_for_a_pipe_is_stopped(words, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    opened = []

    def written(_process):
        opened.append(open_fifo(tmp_path / "pipe"))
        opened[0].write(b'{"title": "t", "total_accepted": 1}\n')
        opened[0].flush()
        time.sleep(0.1)

    status, said, left = stopped(words, ready=written, cwd=tmp_path)
    opened[0].close()
    assert (status, left) == (130, ["pipe"])
    assert said.strip() == "osdi-frames: stopped"


@pytest.mark.parametrize(
    "seconds", [0.6, *(pytest.param(seconds, marks=pytest.mark.long) for seconds in (0.4, 1, 1.4, 2, 3))]
)
def test_a_report_is_stopped_at_any_moment(seconds, data, tmp_path):
    def has_worked(process):
        wait_for(lambda: cpu_seconds(process.pid) >= seconds or process.poll() is not None)

    status, said, left = stopped(["report", str(data), "--out", "out"], ready=has_worked, cwd=tmp_path)
    if status == 0:  # it was quicker
        assert left == ["out"]
    else:
        assert (status, left) == (130, [])
        assert said.strip().endswith("osdi-frames: stopped")


#: How long a command may take to end: a process is as slow as what else the machine does.
WITHIN = pytest.mark.parametrize("within", [GUARD, pytest.param(1, marks=pytest.mark.long)])


@contextlib.contextmanager
def dripping(page, reached):
    """Serve pages of a collection, of which one never ends; set `reached` when it is asked for."""

    def write(connection, head):
        path = head.split()[1].decode()
        body = page_of(path, total_pages=30, total_records=30)[2]
        if page == 1 or "page=" in path:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            reached.set()
            while True:
                connection.sendall(b" ")
                time.sleep(0.1)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))

    with speaking(write) as base_url:
        yield base_url


@contextlib.contextmanager
def refusing(headers, reached):
    """Serve errors after the first page; set `reached` when one was repeated, or a pause was asked for."""
    errors = []

    def answer(path):
        if "page=" not in path:
            return page_of(path, total_pages=30, total_records=30)
        errors.append(path)
        if headers or len(errors) > 4:
            reached.set()
        return 503, headers, b"{}"

    with listening(answer) as service:
        yield service.base_url


WAITING = {
    "pull, the first page never ends": (["pull", "URL", "pulled"], lambda at: dripping(1, at)),
    "pull, later pages never end": (["pull", "URL", "pulled"], lambda at: dripping(2, at)),
    "pull, a pause is asked for": (["pull", "URL", "pulled"], lambda at: refusing({"Retry-After": "25"}, at)),
    "pull, errors are repeated": (["pull", "URL", "pulled"], lambda at: refusing({}, at)),
    "report of an address that never ends": (["report", "URL.json"], lambda at: dripping(1, at)),
}


@WITHIN
@pytest.mark.parametrize(
    "name",
    [
        name if "later" in name or "repeated" in name else pytest.param(name, marks=pytest.mark.long)
        for name in WAITING
    ],
)
def test_a_command_that_waits_for_a_service_is_stopped(name, within, tmp_path):
    words, serving = WAITING[name]
    reached = threading.Event()

    def waits(_process):
        assert reached.wait(GUARD)
        time.sleep(0.2)

    with serving(reached) as base_url:
        line = [word.replace("URL", base_url) for word in words]
        status, said, left = stopped(line, ready=waits, cwd=tmp_path, within=within)
    assert (status, left) == (130, ["pulled"] if "pull" in words else [])
    first, *notes = said.strip().splitlines()
    assert first == "osdi-frames: stopped"
    assert not notes or re.fullmatch(r"what was read stays in .*; pull again to go on", *notes)


SERVERS = {
    "receive": (["receive", "received", "--token", TOKEN], f"POST /{TOKEN}", ["received"]),
    "sandbox": (["sandbox"], "POST /api/v2/events", []),
}


@WITHIN
@pytest.mark.parametrize("name", SERVERS)
def test_a_server_whose_client_sends_half_a_request_is_stopped(name, within, tmp_path):
    words, request, expected = SERVERS[name]
    clients = []

    def asked(process):
        lines = iter((process.stderr if name == "receive" else process.stdout).readline, "")
        port = next(found[1] for line in lines if (found := re.search(r"127\.0\.0\.1:(\d+)", line)))
        clients.append(socket.create_connection(("127.0.0.1", int(port))))
        head = f"{request} HTTP/1.1\r\nHost: a\r\nOSDI-API-Token: sandbox-group-key\r\nContent-Length: 9\r\n\r\n["
        clients[0].sendall(head.encode())
        time.sleep(0.2)

    status, said, left = stopped([*words, "--port", "0"], ready=asked, cwd=tmp_path, within=within)
    clients[0].close()
    assert (status, left) == (130, expected)
    assert said.strip().endswith("osdi-frames: stopped")
    assert "Traceback" not in said


#: A command that does not end when it is interrupted.
STUBBORN = """
import time
from osdi_frames.cli import describe, run

def callback(**_):
    try:
        print("ready", flush=True)
        time.sleep(600)
    finally:
        time.sleep(600)

describe.command.callback = callback
run()
"""


@WITHIN
def test_a_command_that_does_not_end_by_itself_is_ended(within, tmp_path):
    def is_ready(process):
        assert process.stdout.readline() == "ready\n"

    program = [sys.executable, "-c", STUBBORN]
    status, said, left = stopped(["describe"], ready=is_ready, cwd=tmp_path, within=within, program=program)
    assert (status, said.strip(), left) == (130, "osdi-frames: stopped", [])


#: A library whose import takes long, and which is then the true one.
SLOW = """
import importlib, pathlib, sys, time
pathlib.Path("importing").touch()
try:
    time.sleep(0.5)
except KeyboardInterrupt:
    pathlib.Path("interrupted").touch()
    raise ImportError("initialization failed")
sys.path = [path for path in sys.path if path not in ("", str(pathlib.Path.cwd()))]
del sys.modules["matplotlib"]
importlib.invalidate_caches()
importlib.import_module("matplotlib")
"""


def test_an_import_is_not_stopped_but_what_follows_it(data, tmp_path):
    (tmp_path / "matplotlib").mkdir()
    (tmp_path / "matplotlib" / "__init__.py").write_text(SLOW)

    def is_importing(_process):
        wait_for((tmp_path / "importing").exists)

    words = ["report", str(data / "events"), "--out", "out"]
    status, said, left = stopped(words, ready=is_importing, cwd=tmp_path)
    assert (status, left) == (130, ["importing", "matplotlib"])
    assert said.strip().endswith("osdi-frames: stopped")


def test_a_sample_is_written_whole_or_not_at_all(tmp_path):
    def begun(_process):
        wait_for(lambda: any(tmp_path.rglob("*.ndjson")))

    words = ["sample", "made", "--signatures", "300000"]
    assert stopped(words, ready=begun, cwd=tmp_path)[::2] == (130, [])


def test_a_sample_in_place_of_an_earlier_one_leaves_that_as_it_was(tmp_path):
    sample.write(tmp_path / "made", signatures=10, events=10)
    before = sorted((tmp_path / "made").rglob("*"))

    def begun(_process):
        wait_for(lambda: len([*tmp_path.rglob("events")]) >= 2)

    words = ["sample", "made", "--signatures", "300000", "--overwrite"]
    assert stopped(words, ready=begun, cwd=tmp_path)[::2] == (130, ["made"])
    assert sorted((tmp_path / "made").rglob("*")) == before


class Interrupted:
    """Rows in which Ctrl-C arrives when the database reads them, after it has looked what there is."""

    is_known = False

    def __arrow_c_stream__(self, schema=None):
        if self.is_known:
            raise KeyboardInterrupt
        return pa.table({"text": ["a"]}).__arrow_c_stream__(schema)


def test_an_interrupt_while_the_database_asks_python_is_no_misfit_of_a_document():
    with engine() as lent:
        rows = Interrupted()
        lent.connection.register("documents", rows)
        rows.is_known = True
        with pytest.raises(KeyboardInterrupt), contextlib.suppress(*refused()):
            lent.ask("FROM documents")


def test_an_interrupted_query_of_the_database_is_a_keyboard_interrupt():
    program = (
        "import _thread, threading, osdi_frames as of\n"
        "from osdi_frames.engine import engine\n"
        "threading.Timer(0.5, _thread.interrupt_main).start()\n"
        "try:\n"
        "    with engine() as lent:\n"
        "        while True:  # each query is short, as those of a reading are\n"
        "            lent.connection.execute('SELECT count(*) FROM range(30000) a, range(30000) b')\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
        "print(len(of.read_events({'title': 'a', 'total_accepted': 1})))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=GUARD, check=False
    )
    assert (ran.stdout, ran.returncode) == ("interrupted\n1\n", 0)
