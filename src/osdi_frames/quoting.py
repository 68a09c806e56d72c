"""What messages quote of values, texts and paths: the beginning, since personal data can be anywhere in them."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator

_QUOTED = 60  # characters
_LONGEST_PATH = 4096  # longer ones lead nowhere on any system
_NAMED = 3
_NAME = re.compile(r"[^/\\!]+")


def cut(text: str, most: int = _QUOTED) -> str:
    """Return a text, or its beginning where it is longer than what a message quotes.

    >>> cut("March"), cut("March" * 100, 9)
    ('March', 'MarchMarc…')
    """
    return text if len(text) <= most else f"{text[:most]}…"


def quoted(value: object) -> str:
    """Return a value as Python writes it, cut.

    >>> quoted("March"), quoted(["x" * 1000])
    ("'March'", "['xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…")
    """
    return cut(repr(value))


def cut_within(message: str, values: Iterable[str]) -> str:
    """Cut some values where a message of another program repeats them.

    >>> cut_within("no such option: --" + "x" * 61, ["x" * 61]) == "no such option: --" + "x" * 60 + "…"
    True
    """
    forms = [form for value in values if len(value) > _QUOTED for form in (value, repr(value))]
    for form in sorted(forms, key=len, reverse=True):
        message = message.replace(form, cut(form))
    return message


def named(path: str) -> str:
    """Return the path of a file, also of one inside of another, with each name in it cut.

    >>> named("archive/a.zip!2026/" + "x" * 61) == "archive/a.zip!2026/" + "x" * 60 + "…"
    True
    """
    return _NAME.sub(lambda name: cut(name[0]), path)


def located(path: str | os.PathLike[str]) -> str:
    """Return a path that a caller gave: the folders that are there as `named`, the rest cut, as it can be any text.

    >>> located(f"{os.curdir}/" + "x/" * 1000) == f"{os.curdir}/" + "x/" * 29 + "x…"
    True
    """
    text = os.fspath(path)
    there = text if len(text) <= _LONGEST_PATH else ""
    while there and not os.path.lexists(there):
        there = there.rpartition(os.sep)[0]
    return f"{named(there)}{cut(text[len(there) :])}"


def with_paths_cut(error: Exception) -> Exception:
    """Return an error, one of the system with its paths as `located` shows them.

    >>> with_paths_cut(FileNotFoundError(2, "No such file", "x" * 61)).filename == "x" * 60 + "…"
    True
    """
    if not isinstance(error, OSError) or error.filename is None:
        return error
    paths = [located(path) if isinstance(path, str) else path for path in (error.filename, error.filename2)]
    return OSError(error.errno, error.strerror, paths[0], None, paths[1])


@contextlib.contextmanager
def paths_cut() -> Iterator[None]:
    """Let errors of the system name paths as `located` does: a caller can have given any text for one."""
    try:
        yield
    except OSError as error:
        raise with_paths_cut(error) from None


def listed(names: Iterable[str], most: int = _NAMED) -> str:
    """Return the first of some names, and how many more there are.

    >>> listed("abc"), listed("abcde")
    ('a, b, c', 'a, b, c, and 2 more')
    """
    names = list(names)
    more = f", and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(map(cut, names[:most]))}{more}"
