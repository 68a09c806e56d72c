"""When what is around a document was received, by its own keys or the prefix of its log line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

#: Keys of times, without case and separators, the most exact first; those of receivers come before all others.
_RECEIVED = ("receivedat", "fetchedat", "received")
_TIMES = (
    *("receivedtimestamp", "receivedtime", "requesttime", "time", "timestamp", "ts", "datetime", "date"),
    *(
        "createdat",
        "createddate",
        "created",
        "insertedat",
        "arrivedat",
        "ingestedat",
        "loadedat",
        "extractedat",
        "loggedat",
    ),
    *("publishtime", "publishedat", "eventtime", "timeepoch", "requesttimeepoch", "epoch"),
    *("senttimestamp", "approximatearrivaltimestamp", "approximatefirstreceivetimestamp"),
    *("airbyteextractedat", "airbyteemittedat", "sdcreceivedat", "sdcextractedat", "fivetransynced"),
)
#: Objects that describe the request which their siblings are of.
_ABOUT = frozenset({"requestcontext", "context", "request", "attributes", "metadata", "meta", "http"})
_ISO = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?: ?(?:Z|UTC|[+-]\d{2}:?\d{2}))?"
)
_COMMON_LOG = re.compile(r"\d{2}/[A-Z][a-z]{2}/\d{4}:\d{2}:\d{2}:\d{2} [+-]\d{4}")
_NUMBER = re.compile(r"\d{10,19}(?:\.\d+)?")
#: Seconds, milliseconds, microseconds and nanoseconds since 1970, each between 2001 and 2100.
_UNITS = (1, 10**3, 10**6, 10**9)
_SECONDS = range(10**9, 4_102_444_800)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class WrapperTime:
    """A time of a wrapper."""

    utc: str
    """ISO 8601, in UTC."""
    of_receiver: bool = False
    """Whether its key says that it is when something was received."""


def time_of(wrapper: Mapping[str, Any], around: WrapperTime | None = None) -> WrapperTime | None:
    """Return the time of an object; that of what is `around` it where it has none, or only one that says less.

    >>> time_of({"requestContext": {"time": "11/Mar/2026:16:05:37 +0000"}}).utc
    '2026-03-11T16:05:37Z'
    """
    found = _own(wrapper) or next(
        (
            time
            for name, value in wrapper.items()
            if _plain(name) in _ABOUT and isinstance(value, dict)
            if (time := _own(value))
        ),
        None,
    )
    if found is None or (around and around.of_receiver and not found.of_receiver):
        return around
    return found


def time_in(prefix: str) -> WrapperTime | None:
    """Return the time in the prefix of a log line.

    >>> time_in("[2026-03-11 16:05:38] INFO: ").utc
    '2026-03-11T16:05:38Z'
    """
    found = _ISO.search(prefix) or _COMMON_LOG.search(prefix)
    time = _utc(found[0]) if found else None
    return WrapperTime(time) if time else None


def is_time(key: str) -> bool:
    """Return whether a key is one of times."""
    return _plain(key) in (*_RECEIVED, *_TIMES)


def _own(wrapper: Mapping[str, Any]) -> WrapperTime | None:
    keys: dict[str, Any] = {}
    for name, value in wrapper.items():
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            keys.setdefault(_plain(name), value)
    for name in (*_RECEIVED, *_TIMES):
        if name in keys and (time := _utc(keys[name])):
            return WrapperTime(time, name in _RECEIVED)
    return None


def _plain(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower()) if len(name) < 64 else ""


def _utc(value: str | float) -> str | None:
    """Return a time in UTC; one without a zone is in UTC."""
    text = str(value).strip()
    try:
        if _NUMBER.fullmatch(text):
            moment = _of_number(float(text))
        elif _ISO.fullmatch(text):
            date, rest = text[:10], text[11:].replace(",", ".").replace("UTC", "Z").replace(" ", "")
            moment = datetime.fromisoformat(f"{date}T{rest}")
        elif _COMMON_LOG.fullmatch(text):
            moment = datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z")
        else:
            return None
    except (ValueError, OverflowError):
        return None
    if moment is None:
        return None
    moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment.isoformat().replace("+00:00", "Z")


def _of_number(number: float) -> datetime | None:
    seconds = next((number / unit for unit in _UNITS if int(number / unit) in _SECONDS), None)
    return None if seconds is None else _EPOCH + timedelta(seconds=round(seconds, 6))
