"""The members of a tar, of a damaged one those that are left, too."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator
from typing import IO, Any, Self, cast

from osdi_frames.archive.streams import Reader

#: Magic and version in a tar's header, of POSIX and of GNU, and where they stand. JSON holds no NUL.
MAGICS, MAGIC_AT = (b"ustar\x0000", b"ustar  \x00"), 257

# How a block fails to be a header; with `ignore_zeros` tarfile goes on after the end marker and the invalid.
_INVALID: Any = tarfile.InvalidHeaderError  # type: ignore[attr-defined] # not in the stubs
_END: Any = tarfile.EOFHeaderError  # type: ignore[attr-defined] # the same
_EMPTY: Any = tarfile.EmptyHeaderError  # type: ignore[attr-defined] # the same
_TRUNCATED: Any = tarfile.TruncatedHeaderError  # type: ignore[attr-defined]
_LARGEST_EXTENSION = 1 << 20  # bytes of a long name or of pax records, which tarfile reads at once
_EXTENSIONS = frozenset(
    {
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
    }
)


def entries(
    reader: Reader, damaged: Callable[[str], object]
) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    """Yield the members of a tar in their order, those that are files with their content.

    Call `damaged` with each stretch that holds no header where one is due, and for a missing end. After such a
    stretch reading goes on with the next valid header. Content is to be read before the next member.
    """
    options: Any = {"ignore_zeros": True, "damaged": damaged}
    with _Tar.open(fileobj=reader, mode="r|", **options) as archive:
        while info := archive.next():
            archive.members.clear()  # type: ignore[attr-defined] # tarfile keeps them to look names up
            yield info, archive.extractfile(info) if info.isfile() else None
        if not archive.ended:
            damaged("truncated: the end marker is missing")


class _Header(tarfile.TarInfo):
    """A header that reports to its tar what is not one."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        info = super().frombuf(buf, encoding, errors)
        if info.size < 0 or (info.type in _EXTENSIONS and info.size > _LARGEST_EXTENSION):
            raise _INVALID("bad size")
        return info

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
        tar = cast("_Tar", archive)
        try:
            info = super().fromtarfile(tar)
        except _EMPTY:  # the end of the file
            raise
        except _TRUNCATED:
            tar.lose()
            raise
        except _END:
            tar.ended = True
            raise
        except (tarfile.HeaderError, ValueError) as error:
            tar.lose()
            raise _INVALID(str(error)) from error
        tar.ended = tar.lost = False
        return info


class _Tar(tarfile.TarFile):
    """A tar that remembers whether its end marker came last, and what was no header."""

    tarinfo = _Header
    ended = False
    lost = False

    def __init__(self, *args: Any, damaged: Callable[[str], object], **options: Any) -> None:
        self._damaged = damaged
        super().__init__(*args, **options)  # reads the first header

    def lose(self) -> None:
        """Report, once until a header follows, that there is none where one is due."""
        if not self.lost:
            self.lost = True
            self._damaged(f"no valid header before byte {self.fileobj.tell():,}")
