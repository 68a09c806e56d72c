"""Every refusal of the sandbox: its status and its words, which interface 5 and 7 leave open."""

from __future__ import annotations

from osdi_frames.errors import RequestRefused

REFUSALS: dict[str, tuple[int, str]] = {
    "key": (403, "API key invalid or not present: send it in the header {header}"),
    "unknown": (404, "there is no {what} {id!r} for this API key"),
    "unknown path": (404, "there is nothing at this address"),
    "method": (405, "{method} is not possible here; these are: {allowed}"),
    "delete": (405, "{what} cannot be deleted"),
    "json": (400, "the body is not JSON: {why}"),
    "object": (400, "the body must be a JSON object"),
    "characters": (400, "the body holds a NUL, a lone surrogate or a noncharacter, which is no text"),
    "too large": (413, "the body is larger than {limit} bytes"),
    "missing": (400, "required and missing: {fields}"),
    "number": (400, "{what} must be a number from 1 on, not {asked!r}"),
    "filter": (400, "filter: {why}; write for example modified_date gt '2026-01-01' and title eq 'Picnic'"),
    "identifier": (409, "identifiers belong to another event: {identifiers}"),
    "person": (400, "a person is needed: an object under person, or the link osdi:person"),
    "contact": (400, "a person needs an e-mail address or a phone number under person"),
    "elsewhere": (403, "the admin interface answers requests of this machine only, not {why}"),
    "database": (503, "nothing was written: {why}"),
    "setting": (400, "{why}"),
}


def refuse(name: str, **words: object) -> RequestRefused:
    """Make the refusal of that name, to be raised."""
    status, text = REFUSALS[name]
    return RequestRefused(status, text.format(**words))
