"""What a file is, by its name and its first bytes: documents, a container of files, or neither."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable
from typing import Literal, TypeAlias, cast

from osdi_frames.sources import streams
from osdi_frames.sources.streams import CORRUPT, BufferedStream

#: Suffixes of files that hold documents, one a line or in any layout.
LINES = frozenset({".jsonl", ".ndjson"})
DOCUMENTS = LINES | {".json"}
COMPRESSED = frozenset({".gz", ".zst", ".bz2", ".xz"})
COMPRESSED_TARS = frozenset({".tgz", ".tzst", ".tbz", ".tbz2", ".txz"})
ARCHIVES = COMPRESSED_TARS | {".zip", ".tar"}
_READABLE = DOCUMENTS | ARCHIVES
#: Suffixes of files that hold tables, such as those of an export.
TABLE_SUFFIXES = (".parquet", ".csv", ".xlsx")

#: Names, without suffix, of files that describe their folder, and names that file managers put into every folder.
ABOUT = frozenset({"readme"})
BY_MANAGERS = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})

ContainerKind: TypeAlias = Literal["gz", "zst", "bz2", "xz", "zip", "tar"]

#: The function that decompresses a file of each kind.
UNPACK = {"gz": streams.gunzipped, "zst": streams.unzstd, "bz2": streams.unbzip2, "xz": streams.unxz}
ZIP_END = b"PK\x05\x06"
#: How many bytes at the beginning of a file are read to recognise its content.
HEAD = 1 << 16

_KINDS = {**{f".{kind}": kind for kind in (*UNPACK, "zip", "tar")}, **dict.fromkeys(COMPRESSED_TARS, "tar")}
#: How a container begins: zips also without members, tars of POSIX and of GNU. JSON holds no NUL.
_MAGIC = re.compile(
    rb"(?P<gz>\x1f\x8b)|(?P<zst>%b|.%b)|(?P<bz2>BZh[1-9](?:1AY&SY|\x17rE8P\x90))|(?P<xz>\xfd7zXZ\x00)"
    rb"|(?P<zip>PK\x03\x04|%b)|(?P<tar>.{257}ustar(?:\x0000|  \x00))"
    % tuple(map(re.escape, (streams.ZSTD_MAGIC, streams.ZSTD_SKIPPABLE, ZIP_END))),
    re.DOTALL,
)
#: How objects and lists of objects begin in JSON: a log or a configuration file has text after its bracket.
_JSON = re.compile(rb'(?:\xef\xbb\xbf)?[ \t\r\n]*(?:\{[ \t\r\n]*["}]|\[[ \t\r\n]*[\[{\]])')
_DEEPEST = 8  # compressed files inside one another whose content is looked at


def holds_documents(name: str, head: Callable[[], bytes]) -> bool:
    """Return whether a file is read: by its name or, where that has no suffix, by its first bytes.

    >>> holds_documents("a.json.gz", bytes), holds_documents("notes.txt", lambda: b"{}")
    (True, False)
    >>> holds_documents("export", lambda: b'[{"title": "March"}]'), holds_documents("log", lambda: b"[10:00] Up")
    (True, False)
    """
    return is_readable(name) or not (suffix_inside(name) or is_ignored(name) or not _begins_document(head()))


def _begins_document(head: bytes, depth: int = 0) -> bool:
    """Return whether a file begins with a document, or as a container that can hold some."""
    kind = container(head=head)
    if kind not in UNPACK:
        return kind is not None or bool(_JSON.match(head))
    inside = b""
    with contextlib.suppress(*CORRUPT):  # the head is cut off
        inside = next(UNPACK[kind](BufferedStream(io.BytesIO(head))), b"")
    # The first block of a bzip2 can be larger than the head: then the file has to be read.
    return not inside or depth == _DEEPEST or _begins_document(inside, depth + 1)


def container(name: str = "", head: bytes = b"") -> ContainerKind | None:
    """Return which container a file is, by its first bytes, else by its name; None for a file of documents."""
    if found := _MAGIC.match(head):
        return cast("ContainerKind", found.lastgroup)
    # The beginning may be damaged; and whoever saved a decompressed file may have kept its name.
    is_text = _JSON.match(head) or (head and suffix(name) in COMPRESSED)
    return None if is_text else cast("ContainerKind | None", _KINDS.get(suffix(name)))


def is_readable(name: str) -> bool:
    """Return whether a name is that of documents or of a container, and not hidden.

    >>> [is_readable(name) for name in ("a.ndjson.gz", "../b.tar.gz", ".hidden.json", "notes.txt")]
    [True, True, False, False]
    """
    return suffix_inside(name) in _READABLE and not is_inside_hidden(name)


def is_ignored(name: str) -> bool:
    """Return whether nobody misses a file that is not read: it is hidden, or describes its folder.

    >>> [is_ignored(name) for name in (".hidden/a.txt", "in/README.md", "notes.txt", "export")]
    [True, True, False, False]
    """
    last = name[name.rfind("/") + 1 :]
    return is_inside_hidden(name) or last in BY_MANAGERS or last.partition(".")[0].lower() in ABOUT


def is_inside_hidden(name: str) -> bool:
    """Return whether a file, or a folder above it, is hidden."""
    return (name[:1] == "." or "/." in name) and any(map(is_hidden, name.split("/")))


def is_hidden(part: str) -> bool:
    """Return whether one part of a path is hidden: ``.`` and ``..`` are not."""
    return part.startswith(".") and part not in (".", "..")


def is_lines(name: str) -> bool:
    """Return whether a file has a document on each line, by its name.

    >>> [is_lines(name) for name in ("a.ndjson", "b.zip!c.JSONL.gz", "d.json")]
    [True, True, False]
    """
    return suffix_inside(name) in LINES


def suffix_inside(name: str) -> str:
    """Return the suffix that a file has when it is decompressed.

    >>> suffix_inside("b.ndjson.gz.zst"), suffix_inside("export.gz")
    ('.ndjson', '')
    """
    while (last := suffix(name)) in COMPRESSED:
        name = without_suffix(name)
    return last


def without_suffix(name: str) -> str:
    """Return a name without its last suffix, and without blanks after that.

    >>> without_suffix("a.json.gz ")
    'a.json'
    """
    return name.rstrip()[: -len(suffix(name))]


def suffix(name: str) -> str:
    """Return the last suffix of a name in lower case, without blanks after it; an empty text if there is none.

    >>> suffix("a.tar/b.JSON "), suffix("a.tar/b")
    ('.json', '')
    """
    name = name.rstrip()
    stem, dot, last = name[name.rfind("/") + 1 :].rpartition(".")
    return f".{last.lower()}" if stem and dot else ""
