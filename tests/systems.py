"""Other systems: processes without what macOS and Windows do not have, and with what they refuse.

A program that begins with one of `PRELUDES` runs on Linux as it would there, as far as the package can see.
"""

import subprocess
from typing import Any

from tests import forks
from tests.forks import Program

#: Modules that use what is taken away afterwards; the package is not among them.
_LIBRARIES = """
import asyncio, ctypes, fcntl, importlib.util, json, multiprocessing, os, shutil, socket, stat, subprocess, sys
import tempfile, types
import duckdb, matplotlib.pyplot, pandas, pyarrow.parquet, uvicorn
assert not any(name.startswith("osdi_frames") for name in sys.modules)
"""

#: Neither files in memory, nor affinity, nor an exchange of two paths; but a command that empties the disk's cache.
MACOS = f"""{_LIBRARIES}
for name in ("memfd_create", "sched_getaffinity"):
    delattr(os, name)
ctypes.CDLL = lambda *_: types.SimpleNamespace()
fcntl.F_FULLFSYNC = fcntl.F_GETFD
emptied = []
sys.addaudithook(lambda event, arguments: event == "fcntl.fcntl" and emptied.append(arguments[1]))
"""

#: None of POSIX's modules; no folder is opened, nothing synced that is open for reading only, and nothing renamed
#: or removed that this process has open.
WINDOWS = f"""{_LIBRARIES}
flock, getfl = fcntl.flock, lambda descriptor: fcntl_fcntl(descriptor, 3)
fcntl_fcntl, exclusive = fcntl.fcntl, fcntl.LOCK_EX | fcntl.LOCK_NB

msvcrt = types.ModuleType("msvcrt")
msvcrt.LK_NBLCK = 2

def locking(descriptor, mode, size):
    assert (mode, size) == (msvcrt.LK_NBLCK, 1)
    flock(descriptor, exclusive)

msvcrt.locking = locking
sys.modules |= {{"msvcrt": msvcrt, "fcntl": None, "resource": None}}
ctypes.CDLL = lambda *_: types.SimpleNamespace()
for name in ("memfd_create", "sched_getaffinity", "fchmod", "O_DIRECTORY", "O_NOFOLLOW", "link", "mkfifo", "getuid"):
    delattr(os, name)
shutil._use_fd_functions = False

def opened():
    for number in os.listdir("/proc/self/fd"):
        try:
            yield os.readlink(f"/proc/self/fd/{{number}}")
        except FileNotFoundError:
            pass  # that of the list itself

def refusing(function):
    def refused(path, *others, **options):
        inside = os.path.join(os.path.realpath(path), "")
        for file in opened():
            if os.path.join(file, "").startswith(inside):
                raise PermissionError(13, "The process cannot access the file because it is being used", path)
        return function(path, *others, **options)
    return refused

for name in ("unlink", "remove", "rename", "replace", "rmdir"):
    setattr(os, name, refusing(getattr(os, name)))

def open_file(path, *others, _open=os.open, **options):
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied", path)
    return _open(path, *others, **options)

def sync_file(descriptor, _fsync=os.fsync):
    if getfl(descriptor) & os.O_ACCMODE == os.O_RDONLY:
        raise OSError(9, "Bad file descriptor")
    _fsync(descriptor)

os.open, os.fsync = open_file, sync_file
"""

PRELUDES = {"macos": MACOS, "windows": WINDOWS}

COMMAND = """
import osdi_frames.cli
sys.argv[0] = "osdi-frames"
osdi_frames.cli.run()
"""


def start(system: str, program: str, *arguments: object, **options: Any) -> Program:
    """Start a program in a process of another system."""
    return Program(PRELUDES[system] + program, *arguments, fresh=True, **options)


def run(system: str, program: str, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program, or the command line, on another system."""
    return forks.run(PRELUDES[system] + program, *arguments, fresh=True, **options)
