"""What a file holds, by its first bytes and by its name: documents, other files, or nothing for a reader."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable
from typing import Literal, TypeAlias, cast

from osdi_frames.sources import streams
from osdi_frames.sources.names import COMPRESSED, TARS, is_ignored, is_readable, suffix, suffix_inside
from osdi_frames.sources.streams import CORRUPT, Reader

Kind: TypeAlias = Literal["gz", "zst", "bz2", "xz", "zip", "tar"]

#: What decompresses a file of each kind.
UNPACK = {"gz": streams.gunzipped, "zst": streams.unzstd, "bz2": streams.unbzip2, "xz": streams.unxz}
ZIP_END = b"PK\x05\x06"
#: The bytes at the beginning of a file by which its content is recognised.
HEAD = 1 << 16

_KINDS = {**{f".{kind}": kind for kind in (*UNPACK, "zip", "tar")}, **dict.fromkeys(TARS, "tar")}
#: How a file that holds others begins: zips also without members, tars of POSIX and of GNU. JSON holds no NUL.
_MAGIC = re.compile(
    rb"(?P<gz>\x1f\x8b)|(?P<zst>%b|.%b)|(?P<bz2>BZh[1-9](?:1AY&SY|\x17rE8P\x90))|(?P<xz>\xfd7zXZ\x00)"
    rb"|(?P<zip>PK\x03\x04|%b)|(?P<tar>.{257}ustar(?:\x0000|  \x00))"
    % tuple(map(re.escape, (streams.ZSTD_MAGIC, streams.ZSTD_SKIPPABLE, ZIP_END))),
    re.DOTALL,
)
#: How objects and lists of objects begin in JSON: a log or a configuration file has text after its bracket.
_JSON = re.compile(rb'(?:\xef\xbb\xbf)?[ \t\r\n]*(?:\{[ \t\r\n]*["}]|\[[ \t\r\n]*[\[{\]])')
_DEEPEST = 8  # of compressed files inside one another, of which the content is looked at


def container(name: str, head: bytes) -> Kind | None:
    """Return what a file is that holds others, by its first bytes, then by its name; None for a file of documents."""
    if found := _MAGIC.match(head):
        return cast("Kind", found.lastgroup)
    # The beginning may be damaged; and whoever saved a decompressed file may have kept its name.
    is_text = head.lstrip(b" \t\r\n").startswith((b"{", b"[")) or (head and suffix(name) in COMPRESSED)
    return None if is_text else cast("Kind | None", _KINDS.get(suffix(name)))


def holds_documents(name: str, head: Callable[[], bytes]) -> bool:
    """Return whether a file of a folder or container is read: by its name, or where that has no suffix by its head.

    >>> holds_documents("a.json.gz", bytes), holds_documents("notes.txt", lambda: b"{}")
    (True, False)
    >>> holds_documents("export", lambda: b'[{"title": "March"}]'), holds_documents("log", lambda: b"[10:00] Up")
    (True, False)
    """
    return is_readable(name) or not (suffix_inside(name) or is_ignored(name) or not _begins_document(head()))


def _begins_document(head: bytes, depth: int = 0) -> bool:
    """Return whether the first bytes of a file are those of documents, or of a container that can hold some."""
    kind = container("", head)
    if kind not in UNPACK:
        return kind is not None or bool(_JSON.match(head))
    inside = b""
    with contextlib.suppress(*CORRUPT):  # it is cut off
        inside = next(UNPACK[kind](Reader(io.BytesIO(head))), b"")
    # Of bzip2 the head can be too little: then all of it has to be read.
    return not inside or depth == _DEEPEST or _begins_document(inside, depth + 1)
