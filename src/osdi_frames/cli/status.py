"""The exit statuses of every command."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """An exit status, with what it means."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> Status:  # noqa: D102 (of an Enum)
        status = int.__new__(cls, value)
        status._value_, status.meaning = value, meaning
        return status

    DONE = 0, "done; `check` found no error, `pull` is complete, `archive verify` found no damage"
    FAILED = 1, "not done, and one line says why; or an error, an incomplete pull or a damage was found"
    USAGE = 2, "a command, option or argument that does not exist, or is missing"
    STOPPED = 130, "stopped by Ctrl-C; nothing is left half written"
