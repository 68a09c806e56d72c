"""Files behind addresses, read in blocks, with retries.

fsspec looks after credentials; names, rows and messages show none of them (a user, the query of a signed address).
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO, cast

from osdi_frames.errors import InvalidSource, MissingExtra, ServiceUnreachable
from osdi_frames.messages import shorten
from osdi_frames.problems import file_name
from osdi_frames.sources.streams import Pieces, ahead

_BLOCK = 8 << 20  # bytes asked for at once; a block is fetched while the one before is read
_PIECE = 1 << 20  # bytes taken from a stream at once
_ATTEMPTS, _LONGEST_PAUSE = 4, 5.0
#: What is an answer, and no failure of the network.
_ANSWERS = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, NotImplementedError)
#: What to call for an address of a service.
PULL = "osdi-frames pull, or osdi_frames.Client(…).pull(…), reads a service into an archive"
HTTP = ("http://", "https://")
#: What file systems call that which changes with the content of a file.
_VERSIONS = ("ETag", "etag", "generation", "mtime", "LastModified", "last_modified", "created")
_USER = re.compile(r"(\w://)[^/\s@]*@")
_QUERY = re.compile(r"(https?://[^\s?'\"]*)\?[^\s'\"]*")


@dataclass(frozen=True, slots=True)
class Remote:
    """A file behind an address."""

    name: str  # as rows and problems show it
    path: str = field(repr=False)  # in its file system
    address: str = field(repr=False)  # one of that file system
    size: int | None = None
    version: tuple[str, ...] | None = field(default=None, repr=False)
    """What changes with its content, where the file system says."""

    @classmethod
    def of(cls, address: str, path: str, info: Mapping[str, Any]) -> Remote:
        """Return a listed file of an address, with the properties that its file system lists."""
        name = path if "://" in path else f"{address.partition('://')[0]}://{path.lstrip('/')}"
        versions = tuple(f"{key}={info[key]}" for key in _VERSIONS if info.get(key))
        return cls(without_credentials(name), path, address, info.get("size"), versions or None)

    def __str__(self) -> str:
        return self.name

    @property
    def has_ranges(self) -> bool:
        """Whether ranges of it can be read, which HTTP does not promise."""
        return self.size is not None and not self.path.startswith(HTTP)

    def open(self, stop: int | None = None) -> BinaryIO:
        """Open the file for reading, up to a byte if one is given; fetch a file of one block at once."""
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

    def head(self, size: int) -> bytes:
        """Return the first bytes of the file; none if it has no ranges, or may not be read."""
        if not self.has_ranges or not self.size:
            return b""
        filesystem, _ = filesystem_of(self.address)
        with contextlib.suppress(FileNotFoundError, PermissionError):
            head: bytes = asked(self, filesystem.cat_file, self.path, start=0, end=min(self.size, size))
            return head
        return b""

    def _block(self, filesystem: Any, size: int, start: int) -> bytes:
        end = min(start + _BLOCK, size)
        bounds = {"start": start, "end": end} if self.has_ranges else {}
        block: bytes = filesystem.cat_file(self.path, **bounds)
        if len(block) != end - start:
            raise ConnectionError(f"{len(block):,} bytes at byte {start:,}, not {end - start:,}")
        return block

    def _streamed(self, stream: Any) -> Iterator[bytes]:
        """Yield the bytes of a file that is one stream; if they fail or end early, the network failed."""
        left = self.size or 0
        with stream:
            while piece := _answer(self, stream.read, _PIECE):
                left -= len(piece)
                yield piece
        if left > 0:
            raise ServiceUnreachable(f"{self}: the stream ended {left:,} bytes early")


def filesystem_of(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and path."""
    from fsspec.core import url_to_fs  # takes its time to import

    try:
        found: tuple[Any, str] = url_to_fs(address)
    except ImportError as error:
        said = f"{shown_address(address)}: {without_credentials(str(error))}"
        if any(scheme in address for scheme in ("s3://", "s3a://", *HTTP)):  # not those of another package
            service = f"; {PULL}" if any(scheme in address for scheme in HTTP) else ""
            said = f"{said}; {MissingExtra.named('cloud')}{service}"
        raise MissingExtra(said) from None
    except ValueError as error:
        raise InvalidSource(f"{shown_address(address)}: {shown_address(str(error))}") from None
    return found


def asked(what: object, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a file system, with retries; raise ServiceUnreachable if the network fails each time."""
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
        reason = shown_address(str(cause if is_failure else error) or type(error).__name__)
        # Without its cause: a traceback would show the whole address.
        raise ServiceUnreachable(f"{what}: {reason}") from None


def shown_address(text: str) -> str:
    """Return an address, or a message with addresses, shortened and without credentials."""
    return shorten(without_credentials(text))


def without_credentials(text: str) -> str:
    """Remove users, passwords and signatures from an address or a message.

    >>> [without_credentials(text) for text in ("ftp://ann:secret@host/a.json", "https://host/a?X-Amz-Signature=5f")]
    ['ftp://host/a.json', 'https://host/a']
    """
    return file_name(_QUERY.sub(r"\1", _USER.sub(r"\1", text)))


class _Blocks(io.RawIOBase):
    """A file up to a byte, read in blocks, each of which is fetched while the one before is read."""

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
