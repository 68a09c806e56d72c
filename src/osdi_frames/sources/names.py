"""What the name of a file says about its content."""

from __future__ import annotations

import os
import re
from urllib.parse import unquote

#: Suffixes of files that hold documents; in folders and containers, files of other types are counted.
LINES = frozenset({".jsonl", ".ndjson"})
DOCUMENTS = LINES | {".json"}
COMPRESSED = frozenset({".gz", ".zst", ".bz2", ".xz"})
TARS = frozenset({".tgz", ".tzst", ".tbz", ".tbz2", ".txz"})  # compressed ones
ARCHIVES = TARS | {".zip", ".tar"}
_READABLE = DOCUMENTS | ARCHIVES
#: Suffixes of files that hold tables, such as those of an export: no reader of archives reads them.
TABLES = (".parquet", ".csv", ".xlsx")

#: Files that are about a folder, by their names without suffix, and those that file managers put into every folder.
ABOUT = frozenset({"readme"})
BY_MANAGERS = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})

#: The list of what a run wrote into a folder of tables.
MANIFEST = ".osdi-frames.json"

#: The folder in which a receiver keeps bodies that are not deliveries; hidden, so that readers skip it.
QUARANTINE = ".quarantine"

#: A segment of a receiver, named after its first line. Sealing compresses it, and for a moment there are both forms.
SEGMENT = re.compile(r"(?P<first>[0-9]{12})\.ndjson(?P<sealed>\.zst)?")
SEALED = ".zst"

_LOCAL = "file://"


def is_address(path: str) -> bool:
    """Return whether a path is an address, and not one of this machine."""
    return "://" in path and not path.startswith(_LOCAL)


def local_path(path: str) -> str:
    """Return the path of a ``file://`` address, with or without a host, escaped or as it is; or a path itself."""
    if not path.startswith(_LOCAL):
        return path
    path = path.removeprefix(_LOCAL).removeprefix("localhost")
    if os.sep == "\\" and re.match(r"/[A-Za-z][:|]", path):
        path = path[1:]  # as in file:///C:/data
    return path if os.path.lexists(path) else unquote(path)


def slashed(path: str) -> str:
    r"""Return a path with slashes between its parts, as Windows takes them, too, though it writes others.

    >>> slashed("data/a.json")
    'data/a.json'
    """
    return path.replace(os.sep, "/")


def is_readable(name: str) -> bool:
    """Return whether a file of a folder or container holds documents, by its name; hidden ones are not read.

    >>> [is_readable(name) for name in ("a.ndjson.gz", "../b.tar.gz", ".hidden.json", "notes.txt")]
    [True, True, False, False]
    """
    return suffix_inside(name) in _READABLE and not _in_hidden(name)


def is_ignored(name: str) -> bool:
    """Return whether a file of a folder or container is none of an archive: a hidden one, or one about the folder.

    >>> [is_ignored(name) for name in (".hidden/a.txt", "in/README.md", "notes.txt", "export")]
    [True, True, False, False]
    """
    last = name[name.rfind("/") + 1 :]
    return _in_hidden(name) or last in BY_MANAGERS or last.partition(".")[0].lower() in ABOUT


def _in_hidden(name: str) -> bool:
    return (name[:1] == "." or "/." in name) and any(map(is_hidden, name.split("/")))


def is_hidden(part: str) -> bool:
    """Return whether one part of a path is a hidden name; ``.`` and ``..`` are not."""
    return part.startswith(".") and part not in (".", "..")


def is_lines(name: str) -> bool:
    """Return whether a file holds one document per line, by its name.

    >>> [is_lines(name) for name in ("a.ndjson", "b.zip!c.JSONL.gz", "d.json")]
    [True, True, False]
    """
    return suffix_inside(name) in LINES


def suffix_inside(name: str) -> str:
    """Return the suffix that a file has once it is decompressed.

    >>> suffix_inside("b.ndjson.gz.zst"), suffix_inside("export.gz")
    ('.ndjson', '')
    """
    while (last := suffix(name)) in COMPRESSED:
        name = without_suffix(name)
    return last


def without_suffix(name: str) -> str:
    """Return a name without its last suffix, and without blanks after it.

    >>> without_suffix("a.json.gz ")
    'a.json'
    """
    return name.rstrip()[: -len(suffix(name))]


def suffix(name: str) -> str:
    """Return the last suffix of a name in lower case, without blanks after it; empty if there is none.

    >>> suffix("a.tar/b.JSON "), suffix("a.tar/b")
    ('.json', '')
    """
    name = name.rstrip()
    stem, dot, last = name[name.rfind("/") + 1 :].rpartition(".")
    return f".{last.lower()}" if stem and dot else ""


def printable(name: str) -> str:
    r"""Return a name as text; bytes of it that are not UTF-8 are shown as escapes.

    >>> printable("caf\udce9.json")
    'caf\\xe9.json'
    """
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "backslashreplace")
