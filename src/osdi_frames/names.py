"""What people call a thing: by its id, its title, or the beginning of its title."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection

from osdi_frames.errors import UnknownValue
from osdi_frames.messages import joined, nearest, quoted, titled


def id_named(name: str, ids: Collection[str], titles: Collection[tuple[str, str]], *, noun: str) -> str:
    """Return the id of what has a name: this id, or else this title, or else the only title that begins so.

    Titles are compared without blanks around them and however their letters are composed; their beginnings without
    case, too. `ids` are all there are, and `titles` are pairs of one with a title.

    Raises
    ------
    UnknownValue
        Nothing has the name, or several titles are it or begin so; the message lists ids with their titles.

    >>> titles = [("5f", "Save the park"), ("6a", "Save the river")]
    >>> id_named("save the P", ["5f", "6a"], titles, noun="petition")
    '5f'
    """
    if name in ids:
        return name
    for form, is_it, verb in _WAYS:
        wanted = form(name)
        found = {id_: title for id_, title in sorted(titles) if wanted and is_it(form(title), wanted)}
        if len(found) == 1:
            return next(iter(found))
        if found:
            several = joined(titled(found))
            raise UnknownValue(
                f"the titles of {len(found)} {noun}s {verb} {quoted(name)}; give an id: {several}"
            )
    hint = nearest(name, sorted(ids), dict(titles)) if ids else f"there is no {noun} at all"
    raise UnknownValue(f"no {noun} is {quoted(name)}; {hint}")


def _composed(text: str) -> str:
    """Return a text with single blanks between its words, and letters in one character where there is one."""
    return unicodedata.normalize("NFC", " ".join(text.split()))


def _without_case(text: str) -> str:
    return _composed(_composed(text).casefold())


#: How titles are compared, one way after the other: what of them, how, and what the message says of several.
_WAYS: tuple[tuple[Callable[[str], str], Callable[[str, str], bool], str], ...] = (
    (_composed, str.__eq__, "are"),
    (_without_case, str.startswith, "begin with"),
)
