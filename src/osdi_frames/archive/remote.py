"""Files behind addresses: listed once, read in blocks, and asked for again where the network fails.

Credentials are a matter of fsspec; what an address holds of them (a user, the query of a signed address) is in no
name, row or message.
"""

from __future__ import annotations

import glob
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from osdi_frames.archive.names import is_readable, printable
from osdi_frames.archive.streams import Pieces, ahead
from osdi_frames.errors import InvalidSource, KeyRefused, MissingExtra, ServiceUnreachable, SourceNotFound

_BLOCK = 8 << 20  # bytes asked for at once; a block is fetched while the one before is read
_PIECE = 1 << 20  # bytes taken from a stream at once
_ATTEMPTS, _LONGEST_PAUSE = 4, 5.0
#: What is an answer, and no failure of the network.
_ANSWERS = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, NotImplementedError)
#: What to call for an address of a service.
PULL = "osdi-frames pull, or osdi_frames.Client(…).pull(…), reads a service into an archive"
HTTP = ("http://", "https://")
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
        return self.size is not None and not self.path.startswith(HTTP)

    def open(self, stop: int | None = None) -> BinaryIO:
        """Open the file for reading, perhaps up to a byte only; one of a block or less is fetched here."""
        filesystem, _ = filesystem_of(self.address)
        size = stop or self.size
        if size is not None and (size <= _BLOCK or self.has_ranges):
            fetch = partial(asked, self, self._block, filesystem, size)
            if size <= _BLOCK:
                return io.BytesIO(fetch(0) if size else b"")
            return cast("BinaryIO", _Blocks(fetch, size))
        options = {"block_size": 0} if self.path.startswith(HTTP) else {}
        stream = asked(self, filesystem.open, self.path, "rb", **options)
        return cast("BinaryIO", Pieces(self._streamed(stream)))

    def _block(self, filesystem: Any, size: int, start: int) -> bytes:
        end = min(start + _BLOCK, size)
        bounds = {"start": start, "end": end} if self.has_ranges else {}
        block: bytes = filesystem.cat_file(self.path, **bounds)
        if len(block) != end - start:
            raise ConnectionError(f"{len(block):,} bytes at byte {start:,}, not {end - start:,}")
        return block

    def _streamed(self, stream: Any) -> Iterator[bytes]:
        """Yield a file that is one stream; what fails or ends in the middle is an error of the network."""
        left = self.size or 0
        with stream:
            while piece := _answer(self, stream.read, _PIECE):
                left -= len(piece)
                yield piece
        if left > 0:
            raise ServiceUnreachable(f"{self}: the stream ended {left:,} bytes early")


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
    return [
        Remote(
            shown(path if "://" in path else f"{protocol}://{path.lstrip('/')}"),
            path,
            address,
            info.get("size"),
        )
        for path, info in found.items()
        if info.get("type") != "directory"
    ]


def _found(address: str, filesystem: Any, path: str) -> dict[str, dict[str, Any]]:
    """List what is at an address, with what is known of each; of a folder, also itself."""
    found: dict[str, dict[str, Any]] = {}
    if glob.has_magic(urlsplit(path).path if path.startswith(HTTP) else path):
        found |= asked(address, filesystem.glob, path, detail=True)
    else:
        found[path] = asked(address, filesystem.info, path)
    for folder in [name for name, info in found.items() if info.get("type") == "directory"]:
        inside = len(folder.rstrip("/")) + 1
        files = asked(address, filesystem.find, folder, detail=True)
        found |= {name: info for name, info in files.items() if is_readable(name[inside:])}
    return found


def filesystem_of(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it."""
    from fsspec.core import url_to_fs  # takes its time to import

    try:
        found: tuple[Any, str] = url_to_fs(address)
    except ImportError as error:
        hint = f"pip install 'osdi-frames[cloud]', or in a clone '.[cloud]', brings what opens it; {PULL}"
        raise MissingExtra(f"{shown(address)}: {error}; {hint}") from error
    except ValueError as error:
        raise InvalidSource(f"{shown(address)}: {error}") from error
    return found


def asked(what: object, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Ask a file system for something, again where the network fails; raise ServiceUnreachable if it does each time."""
    import stamina  # brings asyncio, which files of this machine do not need

    caller = stamina.RetryingCaller(attempts=_ATTEMPTS, wait_max=_LONGEST_PAUSE)
    return caller(ServiceUnreachable, _answer, what, call, *args, **options)


def _answer(what: object, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    try:
        return call(*args, **options)
    except Exception as error:
        cause = error.__cause__  # fsspec says of any failure by HTTP that there is no file
        is_failure = type(cause).__module__.startswith("aiohttp") and getattr(cause, "status", 500) >= 500
        if isinstance(error, _ANSWERS) and not is_failure:
            raise
        reason = shown(str(cause if is_failure else error) or type(error).__name__)
        # Without its cause: a traceback would show the whole address.
        raise ServiceUnreachable(f"{shown(str(what))}: {reason}") from None


def shown(text: str) -> str:
    """Return an address, or a message with some, without users, passwords and signatures.

    >>> shown("ftp://ann:secret@host/a.json"), shown("https://host/a.json?X-Amz-Signature=5f")
    ('ftp://host/a.json', 'https://host/a.json')
    """
    return printable(_QUERY.sub(r"\1", _USER.sub(r"\1", text)))


class _Blocks(io.RawIOBase):
    """A file up to a byte in blocks, each fetched while the one before is read."""

    def __init__(self, fetch: Callable[[int], bytes], stop: int) -> None:
        self._fetch, self._stop = fetch, stop
        self._blocks: Iterator[Callable[[], bytes]] = iter(())
        self._block, self._start = b"", -1
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._stop)[whence]
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] # the stub's Buffer has no len
        if self._at >= self._stop:
            return 0
        inside = self._at - self._start
        if not 0 <= inside < len(self._block):
            if inside != len(self._block):
                self._blocks = ahead(self._fetch, range(self._at, self._stop, _BLOCK), 1)
            self._block, self._start, inside = next(self._blocks)(), self._at, 0
        data = self._block[inside : inside + len(buffer)]
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)
