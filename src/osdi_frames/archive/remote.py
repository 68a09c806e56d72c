"""Files behind addresses: listed once, read in blocks, and asked for again where the network fails.

Credentials are a matter of fsspec; what an address holds of them (a user, the query of a signed address) is in no
name, row or message.
"""

from __future__ import annotations

import glob
import io
import re
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from osdi_frames.archive.names import is_readable, printable
from osdi_frames.errors import InvalidSource, KeyRefused, MissingExtra, ServiceUnreachable, SourceNotFound

_BLOCK = 8 << 20  # bytes asked for at once; a block is fetched while the one before is read
_ATTEMPTS, _LONGEST_PAUSE = 4, 5.0
#: What is an answer, and no failure of the network.
_ANSWERS = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, NotImplementedError)
#: What to call for an address of a service.
PULL = "osdi-frames pull, or osdi_frames.Client(…).pull(…), reads a service into an archive"
_HTTP = ("http://", "https://")
_USER = re.compile(r"(\w://)[^/\s@]*@")
_QUERY = re.compile(r"(https?://[^\s?'\"]*)\?[^\s'\"]*")


@dataclass(frozen=True, slots=True)
class Remote:
    """A file behind an address."""

    name: str  # as rows and problems show it
    path: str = field(repr=False)  # in its file system
    address: str = field(repr=False)  # one of that file system
    size: int | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def has_ranges(self) -> bool:
        """Whether parts of it can be asked for: HTTP does not promise it."""
        return self.size is not None and not self.path.startswith(_HTTP)

    def open(self, stop: int | None = None) -> BinaryIO:
        """Open the file for reading, perhaps up to a byte only; one of a block or less is fetched here."""
        filesystem, _ = filesystem_of(self.address)
        size = stop or self.size
        if size is not None and (size <= _BLOCK or self.has_ranges):
            blocks = _Blocks(self, filesystem, size)
            return io.BytesIO(blocks.read()) if size <= _BLOCK else cast("BinaryIO", blocks)
        options = {"block_size": 0} if self.path.startswith(_HTTP) else {}
        return cast("BinaryIO", _Stream(self, asked(self, filesystem.open, self.path, "rb", **options)))


def listed(address: str) -> list[Remote]:
    """Return the files behind an address: a file, a folder, a pattern."""
    filesystem, path = filesystem_of(address)
    filesystem.invalidate_cache()  # new objects are read, too
    try:
        found = _found(address, filesystem, path)
    except FileNotFoundError:
        found = {}
    except PermissionError as error:
        raise KeyRefused(f"{shown(address)}: {shown(str(error))}") from None
    if not found:
        raise SourceNotFound(f"there is nothing at {shown(address)}")
    protocol = address.partition("://")[0]
    names = {path: path if "://" in path else f"{protocol}://{path.lstrip('/')}" for path in found}
    return [
        Remote(shown(names[path]), path, address, info.get("size"))
        for path, info in found.items()
        if info.get("type") != "directory"
    ]


def _found(address: str, filesystem: Any, path: str) -> dict[str, dict[str, Any]]:
    """List what is at an address, with what is known of each; of a folder, also itself."""
    if glob.has_magic(urlsplit(path).path if path.startswith(_HTTP) else path):
        matched = asked(address, filesystem.glob, path, detail=True)
    else:
        matched = {path: asked(address, filesystem.info, path)}
    found = dict(matched)
    for folder in (path for path, info in matched.items() if info.get("type") == "directory"):
        inside = len(folder.rstrip("/")) + 1
        files = asked(address, filesystem.find, folder, detail=True)
        found |= {path: info for path, info in files.items() if is_readable(path[inside:])}
    return found


def filesystem_of(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it."""
    from fsspec.core import url_to_fs  # takes its time to import

    try:
        found: tuple[Any, str] = url_to_fs(address)
    except ImportError as error:
        hint = f"pip install 'osdi-frames[cloud]' brings what opens s3:// and https://; {PULL}"
        raise MissingExtra(f"{shown(address)}: {error}; {hint}") from error
    except ValueError as error:
        raise InvalidSource(f"{shown(address)}: {error}") from error
    return found


def asked(what: object, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Ask a file system for something, again where the network fails; raise ServiceUnreachable if it does each time."""
    import stamina  # brings asyncio, which files of this machine do not need

    for attempt in stamina.retry_context(ServiceUnreachable, attempts=_ATTEMPTS, wait_max=_LONGEST_PAUSE):
        with attempt:
            return _answer(what, call, *args, **options)
    raise AssertionError  # the last attempt returns or raises


def _answer(what: object, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    try:
        return call(*args, **options)
    except _ANSWERS as error:
        cause = error.__cause__  # fsspec says of any failure by HTTP that there is no file
        if not type(cause).__module__.startswith("aiohttp") or getattr(cause, "status", 500) < 500:
            raise
        raise _unreachable(what, cause) from None
    except Exception as error:  # noqa: BLE001 (each library behind fsspec has its own)
        raise _unreachable(what, error) from None


def _unreachable(what: object, error: BaseException | None) -> ServiceUnreachable:
    """Return an error without its cause: a traceback would show the whole address."""
    return ServiceUnreachable(f"{shown(str(what))}: {shown(str(error) or type(error).__name__)}")


def shown(text: str) -> str:
    """Return an address, or a message with some, without users, passwords and signatures.

    >>> shown("ftp://ann:secret@host/a.json"), shown("https://host/a.json?X-Amz-Signature=5f")
    ('ftp://host/a.json', 'https://host/a.json')
    """
    return printable(_QUERY.sub(r"\1", _USER.sub(r"\1", text)))


class _Blocks(io.RawIOBase):
    """A file of a known size, up to a byte: read in blocks, each of them as long as asked for."""

    def __init__(self, file: Remote, filesystem: Any, stop: int) -> None:
        self._file, self._filesystem, self._stop = file, filesystem, stop
        self._at = self._start = 0
        self._block = memoryview(b"")
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="osdi-frames-fetching")
        self._next: tuple[int, Future[bytes]] | None = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._stop)[whence]
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] # the stub's Buffer has no len
        if self._at >= self._stop:
            return 0
        if not self._start <= self._at < self._start + len(self._block):
            self._block, self._start = memoryview(self._fetched(self._at)), self._at
        inside = self._at - self._start
        size = min(len(buffer), len(self._block) - inside)
        buffer[:size] = self._block[inside : inside + size]
        self._at += size
        return size

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        super().close()

    def _fetched(self, at: int) -> bytes:
        due, self._next = self._next, None
        block = due[1].result() if due and due[0] == at else self._fetch(at)
        following = at + len(block)
        if following < self._stop and (due is None or due[0] == at):
            self._next = following, self._pool.submit(self._fetch, following)
        return block

    def _fetch(self, at: int) -> bytes:
        end = min(at + _BLOCK, self._stop)

        def fetch() -> bytes:
            bounds = {"start": at, "end": end} if self._file.has_ranges else {}
            block: bytes = self._filesystem.cat_file(self._file.path, **bounds)
            if len(block) != end - at:
                raise ConnectionError(f"{len(block):,} bytes at byte {at:,}, not {end - at:,}")
            return block

        return cast("bytes", asked(self._file, fetch))


class _Stream(io.RawIOBase):
    """A file that is one stream; a failure in the middle is an error of the network."""

    def __init__(self, file: Remote, stream: Any) -> None:
        self._file, self._stream, self._left = file, stream, file.size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] # the stub's Buffer has no len
        try:
            data = self._stream.read(len(buffer))
        except Exception as error:  # noqa: BLE001 (each library behind fsspec has its own)
            raise _unreachable(self._file, error) from None
        if self._left is not None:
            self._left -= len(data)
            if not data and self._left > 0:
                raise ServiceUnreachable(f"{self._file}: the stream ended {self._left:,} bytes early")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()
