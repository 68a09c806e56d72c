"""The command line in this process (one of its own takes a second to import), and what is given to one of its own."""

import io
import os
import sys
import warnings
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from subprocess import CompletedProcess
from typing import BinaryIO
from unittest import mock

import pytest

from osdi_frames.cli import main
from tests.clocks import wait_for


def run(*words: object, cwd: Path | None = None, **environment: str) -> CompletedProcess[str]:
    """Run a command as a shell does, and return its exit status and what it printed."""
    command = ["osdi-frames", *map(str, words)]
    stdout, stderr = io.StringIO(), io.StringIO()
    with ExitStack() as stack:
        for context in (
            chdir(cwd or Path.cwd()),
            redirect_stdout(stdout),
            redirect_stderr(stderr),
            mock.patch.object(sys, "argv", command),
            mock.patch.dict(os.environ, environment),
            warnings.catch_warnings(),  # `main` shows warnings its own way
            pytest.raises(SystemExit),
        ):
            ended = stack.enter_context(context)
        warnings.simplefilter("default", UserWarning)
        main()
    return CompletedProcess(command, ended.value.code or os.EX_OK, stdout.getvalue(), stderr.getvalue())


def open_fifo(path: Path) -> BinaryIO:
    """Open a fifo for writing as soon as somebody reads it."""
    opened: list[int] = []

    def is_read() -> bool:
        with suppress(OSError):
            opened.append(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        return bool(opened)

    wait_for(is_read)
    return os.fdopen(opened[0], "wb")
