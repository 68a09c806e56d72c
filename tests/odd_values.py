"""Values that are odd at one place of a document or another: the edges of every rule of reading."""

from __future__ import annotations

from typing import Any

#: Texts that are hard to read: escapes, what JSON must escape, other scripts, halves of a pair.
TEXTS = (
    "",
    " ",
    "\x00",
    "a\x00b",
    "\ud800",
    "x\udfffy",
    "\U0001f5f3\ufe0f",
    "\ufdfa",
    "\u2028",
    '"',
    "\\",
    "\\u0041",
    "[1]",
    "{",
    '{"a":1}',
    "null",
    "true",
    "NaN",
    "a,]",
    ",}",
    "\ufeff",
    "\r\n",
    "<p>",
    "'",
    "e\u0301",
)

#: Texts that are numbers, true or false to some columns, and nearly so.
NUMBERS_AS_TEXT = (
    "7",
    "-7",
    "07",
    "7.0",
    "1.7",
    "1e2",
    "+7",
    " 7",
    "7 ",
    "1_000",
    "٣",
    "0x1",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "1e400",
    ".5",
    "5.",
    "-0",
    "-0.0",
    "12345678901234567890",
    "12.50",
    "12.5000",
    "12.345",
    "9999999999999.99",
    "-9999999999999.999",
    "10000000000000",
    "true",
    "false",
    "True",
    "lots",
    "x",
    "none",
    "api",
)

#: Constants that JSON does not have: some readers take them as numbers, here they are texts.
CONSTANTS = ("NaN", "Infinity", "-Infinity")

#: Texts that are datetimes, and nearly so.
DATETIMES = (
    "2026-01-01",
    "2026-01-01T10:30",
    "2026-01-01T10:30:00",
    "2026-01-01 10:30:00+02:00",
    "2026-01-01T10:30:00.123456789Z",
    "2026-01-01T10:30:00,5Z",
    "2026-01-01T10:30:00-11:30",
    "20260101",
    "2026-02-30T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-01-01T25:00:00Z",
    "2016-12-31T23:59:60Z",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-12:00",
    "2026-W01-1",
    "2026-01-01T10:30:00z",
    "1583-01-01T00:00:00Z",
    "0999-01-01T00:00:00Z",
    "2026-01-01T10:30:00+0200",
    "2026-01-01T10:30:00 Z",
)

#: Addresses with and without a last path segment.
ADDRESSES = (
    "https://example.org",
    "https://example.org/",
    "https://example.org/a/b/?c=d/e#f",
    "/people/p1//",
    "p1",
    "?x",
    "#",
    "people/p1#x",
    "https://example.org/events/e9/",
    "https://example.org/a/b%2Fc",
    "//host/x",
)

#: Identifiers with and without a system.
IDENTIFIERS = (
    "platform:",
    "platform:a:b",
    "action_network:z9",
    "change_desk:k1",
    ":",
    ":x",
    "x:",
    "platform",
    "a\nb:c\nd",
)

NUMBERS = (
    *(0, 1, -1, 7, 7.0, 1.7, -0.0, 1e2, 1e16, 1e-7, 1.5e300, 0.1, 12.5, 12.345, 94607),
    *(2**53 + 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**20, 10**30),
)

#: One value of every kind that anything can be.
ODD: tuple[Any, ...] = (
    *(None, True, False),
    *NUMBERS,
    *TEXTS,
    *NUMBERS_AS_TEXT,
    *CONSTANTS,
    *DATETIMES,
    *ADDRESSES,
    *IDENTIFIERS,
    *([], [None], ["a", None, 7], [[]], [{}], {}, {"a": 1}, {"href": 7}, {"href": "x/y"}, {"primary": True}),
    [{"primary": "true", "address": 7}],
    [{"address": "a@example.org"}, {"primary": 1, "address": "b@example.org"}],
    [None, {"primary": None}, {"primary": True, "number": "1"}],
)
