"""Every error of osdi-frames. Each is also the builtin that it is a case of: ``except FileNotFoundError`` works."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from types import FrameType, TracebackType

from osdi_frames.messages import nearest, printable, quoted


def _sentence(error: Exception) -> str:
    return printable(str(error.args[0])) if error.args else ""


class OsdiError(Exception):
    """Any error that osdi-frames raises on purpose."""

    __str__ = _sentence  # KeyError shows the repr of its argument

    def _render_traceback_(self) -> list[str]:
        """Show the caller's own lines only: IPython asks for this, so a notebook's reader sees what to mend.

        Elsewhere tracebacks are whole; in a notebook, %debug still leads to where it was raised.
        """
        from IPython import get_ipython

        cause, self.__cause__ = self.__cause__, None
        try:
            shown = get_ipython().InteractiveTB  # the user's colours and %xmode
            lines: list[str] = shown.structured_traceback(type(self), self, _of_caller(self.__traceback__))
        finally:
            self.__cause__ = cause
        return lines


def is_inside(frame: FrameType) -> bool:
    """Return whether a frame is of this package, and not of its caller."""
    return str(frame.f_globals.get("__name__")).partition(".")[0] == __package__


def _of_caller(traceback: TracebackType | None) -> TracebackType | None:
    """Return the frames of a traceback that come before those of this package."""
    if traceback is None or is_inside(traceback.tb_frame):
        return None
    rest = _of_caller(traceback.tb_next)
    return TracebackType(rest, traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno)


class UnknownTable(OsdiError, KeyError):
    """A table that is not declared; the message lists those that are."""


class UnknownReport(OsdiError, KeyError):
    """A report that was not made; the message lists those that were."""


class UnknownColumn(OsdiError, KeyError):
    """A column that a table does not declare; the message names the nearest ones."""


class UnknownValue(OsdiError, LookupError):
    """What was named is not among those there are: an id in a source, a collection of a service, a time zone."""


class MissingColumn(OsdiError, KeyError):
    """A frame lacks a column that a report needs; the message names it."""


class InvalidColumn(OsdiError, ValueError):
    """A report cannot count or group by a column; the message says why."""


class SourceNotFound(OsdiError, FileNotFoundError):
    """Nothing is at the path, folder or pattern that was to be read."""


class InvalidSource(OsdiError, TypeError, ValueError):
    """What was to be read is no archive; the message says what to call for it."""


class InvalidArgument(OsdiError, ValueError):
    """A value that an argument cannot have; the message says which it can."""


class DestinationExists(OsdiError, FileExistsError):
    """Something stands where an export was to be written."""


class BadDocument(OsdiError, ValueError):
    """Something in an archive that no table can take, with its file and line."""


class ArchiveLocked(OsdiError, BlockingIOError):
    """Another process writes to the folder; the message says which one and what to do."""


class DatabaseUnusable(OsdiError, OSError):
    """A file that cannot be a sandbox's database: another one uses it, it is damaged, or something else."""


class RequestRefused(OsdiError, ValueError):
    """A request that the sandbox answers with an error: `status` is the HTTP status, the message its words."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class BadAddress(OsdiError, ValueError):
    """An address that a client cannot use; the message says why."""


class InsecureAddress(BadAddress):
    """An address that would show the key to others on the way."""


class ForeignAddress(BadAddress):
    """A link or redirect that leads away from the service: the key stays with its own origin."""


class MissingKey(OsdiError, LookupError):
    """No API key was given, or one that no header can carry."""


class ServiceUnreachable(OsdiError, ConnectionError):
    """The service, or an object store, gave no answer, or only a part of one."""


class ServiceTimeout(ServiceUnreachable, TimeoutError):
    """The service gave no answer in time."""


class ServiceError(OsdiError, OSError):
    """The service answered with an error.

    It has the HTTP `status`, the `address` without the values of its query, what the service said as `words`
    (short plain text), and `retry_after`: seconds after which to ask again, where the service sent them.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        address: str = "",
        words: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.address = address
        self.words = words
        self.retry_after = retry_after


class KeyRefused(ServiceError, PermissionError):
    """The service does not take the key, or the key may not do this (401, 403)."""


class ResourceNotFound(ServiceError, LookupError):
    """The service has nothing at that address, or not for this key (404)."""


class DeletionRefused(ServiceError, PermissionError):
    """The service refuses to delete events (interface 7)."""


class BadAnswer(ServiceError, ValueError):
    """An answer that is no resource: not JSON, or empty."""


class PageTooLarge(BadAnswer):
    """An answer that is larger than any page; it was not read to its end."""


class ClientClosed(OsdiError, RuntimeError):
    """The client was closed before this call."""


class IncompletePull(OsdiError, RuntimeError):
    """Not every record of a collection came; the message says what is missing."""


class InvalidField(OsdiError, ValueError):
    """A field that is required, that the service would ignore, or that cannot hold a value; the message says why."""


class UnsupportedSystem(OsdiError, NotImplementedError):
    """What this operating system cannot do; the message says where it works."""


class MissingExtra(OsdiError, ImportError):
    """An optional dependency is not installed; the message says how to install it."""

    @classmethod
    def named(cls, extra: str) -> MissingExtra:
        """Say which extra of the package brings what is missing."""
        return cls(
            f"this needs the extra {extra}: pip install 'osdi-frames[{extra}]', in a clone pip install '.[{extra}]'"
        )


class ProblemsWarning(UserWarning):
    """Problems were skipped with ``on_error="skip"``, or texts cut for a spreadsheet; the message says how many."""

    __str__ = _sentence


class SourceWarning(UserWarning):
    """A source lacks what was asked for, or has ids under an unknown prefix; the message says what to call."""

    __str__ = _sentence


class ServiceWarning(UserWarning):
    """The service did not do all that it was asked to; the message says what it did."""

    __str__ = _sentence


def only_known(function: str, given: Iterable[str], *known: Iterable[str] | None) -> None:
    """Refuse an unknown keyword as Python does, and name the nearest."""
    names = list(chain.from_iterable(filter(None, known)))
    for name in given:
        if name not in names:
            said = f"{function}() got an unexpected keyword argument {quoted(name)}"
            raise TypeError(f"{said}; {nearest(name, names)}")


def no_attribute(of: str, name: str, names: Iterable[str]) -> AttributeError:
    """Return the error of a mistyped name; programs that look for private ones read no hint."""
    hint = "" if name.startswith("_") else f"; {nearest(name, names)}"
    return AttributeError(f"{of} has no attribute {quoted(name)}{hint}")
