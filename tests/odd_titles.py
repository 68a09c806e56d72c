"""Titles that are the same, hostile or unknown, and an archive in which everything that has a title has one of them."""

from __future__ import annotations

from typing import Any

TITLES: dict[str, str | None] = {
    "same-1": "Climate",
    "same-2": "Climate",
    "like-a-label": "Climate (same-1)",
    "html": "<script>alert(1)</script>",
    "attribute": "\" onmouseover='alert(1)",
    "bidi": "\u202egnp.exe",
    "control": "a\x00b\x1b[2J\u2028c\r\nd",
    "long-1": "x" * 10_000,
    "long-2": "x" * 9_999 + "y",
    "formula": '=HYPERLINK("https://trap.example.com","free")',
    "tex": "$\\bad{",
    "called-none": "(none)",
    "like-an-id": "untitled",
    "untitled": None,
    "blank": " ",
}
PREFIX = "platform"


def link(kind: str, id_: str) -> dict[str, str]:
    return {"href": f"https://example.org/api/v2/{kind}/{id_}"}


def titled(kind: str, id_: str) -> dict[str, Any]:
    title = {} if TITLES[id_] is None else {"title": TITLES[id_]}
    return {"identifiers": [f"{PREFIX}:{id_}"], **title, "_links": {"self": link(kind, id_)}}


def archive() -> list[Any]:
    """Make an archive in which a campaign, a petition and an event have each of the titles."""
    pages: list[Any] = [
        {"_embedded": {f"{PREFIX}:event_campaigns": [titled("event_campaigns", id_) for id_ in TITLES]}},
        {"_embedded": {"osdi:petitions": [titled("petitions", id_) for id_ in TITLES]}},
    ]
    for number, id_ in enumerate(TITLES):
        event = titled("events", id_) | {
            "total_accepted": 1 + number,
            "start_date": "2026-05-01T18:00:00Z",
            f"{PREFIX}:event_campaign_id": id_,
        }
        acted = {"created_date": f"2026-05-{number + 1:02}T00:00:00Z"}
        attendance = acted | {"identifiers": [f"{PREFIX}:a{number}"], f"{PREFIX}:event_id": id_}
        signature = acted | {"identifiers": [f"{PREFIX}:s{number}"], f"{PREFIX}:petition_id": id_}
        pages.append({"fetched_at": "2026-06-01T00:00:00Z", "body": {"_embedded": {"osdi:events": [event]}}})
        pages.append({"_embedded": {"osdi:attendances": [attendance], "osdi:signatures": [signature]}})
    return pages


#: How they are shown.
LABELS = {
    "Climate (same-1) (same-1)",
    "Climate (same-2)",
    "Climate (same-1) (like-a-l)",
    *(
        title
        for id_, title in TITLES.items()
        if id_ in ("html", "attribute", "bidi", "control", "formula", "tex")
    ),
    *("x" * 10_000, "x" * 9_999 + "y"),
    *("(none) (called-n)", "untitled (like-an-)", "untitled", "blank"),
}
