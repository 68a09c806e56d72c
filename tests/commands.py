"""The command line in this process: one of its own takes a second to import what is imported here."""

import io
import os
import sys
import warnings
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from unittest import mock

import pytest

from osdi_frames.cli import main


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
