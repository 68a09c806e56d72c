"""Ctrl-C ends every command with status 130 and leaves nothing half written: real processes, real signals."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pytest

from osdi_frames import sample
from osdi_frames.parsing.database import engine, refused
from tests.clocks import GUARD, cpu_seconds, wait_for
from tests.commands import open_fifo

COMMAND = [sys.executable, "-m", "osdi_frames"]


def stopped(words, *, ready, cwd):
    """Start a command, interrupt it when `ready` says so; return its status, what it said and what is left."""
    # A shell in the background lets its children ignore SIGINT.
    process = subprocess.Popen(
        [*COMMAND, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        ready(process)
        process.send_signal(signal.SIGINT)
        said = "".join(process.communicate(timeout=GUARD))
    finally:
        process.kill()
    return process.returncode, said, sorted(path.name for path in cwd.iterdir())


@pytest.mark.parametrize(
    "words",
    [
        ["report", "pipe", "--out", "out"],
        ["check", "pipe"],
        *(
            pytest.param(words, marks=pytest.mark.long)
            for words in (["report", "pipe"], ["export", "pipe", "out"])
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
    before = sorted(tmp_path.rglob("*"))

    def begun(_process):
        wait_for(lambda: len([*tmp_path.rglob("events")]) >= 2)

    words = ["sample", "made", "--signatures", "300000", "--overwrite"]
    assert stopped(words, ready=begun, cwd=tmp_path)[0] == 130
    assert sorted(tmp_path.rglob("*")) == before


class Interrupted:
    """Rows in which Ctrl-C arrives when the database reads them."""

    times = 0

    def __arrow_c_stream__(self, schema=None):
        self.times += 1
        if self.times > 1:  # the first time, it looks what there is
            raise KeyboardInterrupt
        return pa.table({"text": ["a"]}).__arrow_c_stream__(schema)


def test_an_interrupt_while_the_database_asks_python_is_no_misfit_of_a_document():
    with engine() as lent:
        lent.connection.register("documents", Interrupted())
        with pytest.raises(KeyboardInterrupt), contextlib.suppress(*refused()):
            lent.ask("FROM documents")


def test_an_interrupted_query_of_the_database_is_a_keyboard_interrupt():
    program = (
        "import _thread, threading, osdi_frames as of\n"
        "from osdi_frames.parsing.database import engine\n"
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
