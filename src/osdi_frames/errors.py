"""Every error of osdi-frames.

::

    OsdiError
    ├── UnknownTable        (KeyError)          a table that is not declared
    ├── UnknownColumn       (KeyError)          a column that the table does not declare
    ├── MissingColumn       (KeyError)          a frame that lacks a column which a report needs
    ├── UnfitColumn         (ValueError)        what a report cannot count or group by
    ├── SourceNotFound      (FileNotFoundError) a path, folder or pattern with nothing behind it
    ├── DestinationExists   (FileExistsError)   an export that would write over something
    ├── BadDocument         (ValueError)        something in an archive that no table can take
    ├── ArchiveOwned        (BlockingIOError)   an archive folder that another receiver writes to
    ├── BadWorkerName       (ValueError)        a receiver's name that no folder can have
    ├── WeakToken           (ValueError)        a receiver's token that could be guessed
    ├── DatabaseUnusable    (OSError)           a sandbox's database that is locked, damaged or none
    ├── RequestRefused      (ValueError)        a request that the sandbox answers with an error status
    └── MissingExtra        (ImportError)       an optional dependency that is not installed

    ProblemsWarning         (UserWarning)       problems that were passed over with ``on_error="skip"``

Each is also the builtin that a reader of Python expects, so ``except FileNotFoundError`` works.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class OsdiError(Exception):
    """Any error that osdi-frames raises on purpose."""

    # KeyError shows the repr of its argument; these messages are sentences.
    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class UnknownTable(OsdiError, KeyError):
    """A table that is not declared; the message lists those that are."""


class UnknownColumn(OsdiError, KeyError):
    """A column that a table does not declare; the message names the nearest ones."""


class MissingColumn(OsdiError, KeyError):
    """A frame lacks a column that a report needs; the message names it."""


class UnfitColumn(OsdiError, ValueError):
    """What a report was told to count or group by does not fit; the message says why."""


class SourceNotFound(OsdiError, FileNotFoundError):
    """Nothing is at the path, folder or pattern that was to be read."""


class DestinationExists(OsdiError, FileExistsError):
    """Something stands where an export was to be written."""


class BadDocument(OsdiError, ValueError):
    """Something in an archive that no table can take, with its file and line."""


class ArchiveOwned(OsdiError, BlockingIOError):
    """Another process writes to the folder; the message says which one and what to do."""


class BadWorkerName(OsdiError, ValueError):
    """The name of a receiver's process cannot be the name of its folder."""


class WeakToken(OsdiError, ValueError):
    """A token of the receiver is too short to be a secret; the message never shows it."""


class DatabaseUnusable(OsdiError, OSError):
    """A file that cannot be a sandbox's database: another one uses it, it is damaged, or something else."""


class RequestRefused(OsdiError, ValueError):
    """A request that the sandbox answers with an error: `status` is the HTTP status, the message its words."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class MissingExtra(OsdiError, ImportError):
    """An optional dependency is not installed; the message says how to install it."""

    @classmethod
    def named(cls, extra: str) -> MissingExtra:
        """Say which extra of the package brings what is missing."""
        return cls(f"this needs an optional dependency: pip install 'osdi-frames[{extra}]'")


class ProblemsWarning(UserWarning):
    """Problems were passed over with ``on_error="skip"``; the message says how many."""


def nearest(name: str, names: Iterable[str]) -> str:
    """Say which of `names` are nearest to a mistyped `name`.

    >>> nearest("modified", ["modified_date", "created_date", "title"])
    'nearest: modified_date'
    """
    names = list(names)
    found = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return f"nearest: {', '.join(found)}" if found else f"there are: {', '.join(names)}"
