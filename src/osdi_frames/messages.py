"""What a message may show of values, keys, texts and paths, which can hold personal data, and how it names and counts.

Of a value that was received, its form: the type, and a mask of each text and number. Of a key, the key where it looks
like the name of a field. Of what a caller gave, the beginning without addresses. Of a path, the beginning of each name.
"""

from __future__ import annotations

import contextlib
import difflib
import itertools
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping

from osdi_frames.addresses import without_addresses

_QUOTED = 60  # characters
_LONGEST_PATH = 4096  # longer ones lead nowhere on any system
_NAMED = 3
_MOST_NAMES = 40
_NAME = re.compile(r"[^/\\!]+")
_ENTRIES = 20  # of an object or a list
HIDDEN = "(hidden)"
#: Words with at most two digits at the end, between the signs that join them.
_FIELD = re.compile(r"_?{word}(?:[_:-]{word})*".format(word=r"[a-z]{1,30}(?:[A-Z][a-z]+)*\d{0,2}"))
_STATUS = re.compile(r"(?=.{1,30}$)[A-Za-z][a-z]*(?:[ _-][a-z]+)*")
_DIGIT, _LETTER = re.compile(r"\d"), re.compile(r"[^\x20-\x40\x5b-\x60\x7b-\x7e]")
_DIGITS = 4  # a number with more may be somebody's
_LARGE = 10**_QUOTED


def beginning(text: str, most: int = _QUOTED) -> str:
    """Return a text, or its beginning where it is longer than what a message shows.

    >>> beginning("March"), beginning("March" * 100, 9)
    ('March', 'MarchMarc…')
    """
    return text if len(text) <= most else f"{text[:most]}…"


def shorten(text: str, most: int = _QUOTED) -> str:
    """Return the beginning of a text, with its addresses hidden.

    >>> shorten("to ann@b.example, and March" * 9, 20)
    'to (e-mail), and Mar…'
    """
    return beginning(without_addresses(text), most)


def value_form(value: object, *, depth: int = 2) -> str:
    """Return the form of a value that was received, as short JSON: 9 for each digit, x for each letter.

    >>> value_form("Ann, +1 510"), value_form({"given_name": "Ann", "a@b.org": [1.5, None, {"a": 1}]})
    ('"xxx, +9 999"', '{"given_name": "xxx", "(hidden)": [9.9, null, {…}]}')
    """
    match value:
        case None | bool():
            form = json.dumps(value)
        case str():
            form = f'"{_LETTER.sub("x", number_form(value))}"'
        case int() | float():
            # Python writes no integer of thousands of digits.
            form = number_form(str(value if not isinstance(value, int) or abs(value) < _LARGE else _LARGE))
        case dict() if depth and value:
            some = itertools.islice(value.items(), _ENTRIES)
            pairs = (f'"{field_name(key)}": {value_form(inner, depth=depth - 1)}' for key, inner in some)
            form = f"{{{', '.join(pairs)}}}"
        case list() if depth and value:
            form = f"[{', '.join(value_form(entry, depth=depth - 1) for entry in value[:_ENTRIES])}]"
        case dict():
            form = "{…}" if value else "{}"
        case list():
            form = "[…]" if value else "[]"
        case _:
            form = type(value).__name__
    return beginning(form)


def status(value: str) -> str:
    """Return a status that no contract names, as JSON: one in words as statuses are, of any other its form.

    >>> status("needs action"), status("Ann Smith"), status("a@b.org")
    ('"needs action"', '"xxx xxxxx"', '"x@x.xxx"')
    """
    return f'"{value}"' if _STATUS.fullmatch(value) else value_form(value)


def number_form(text: str) -> str:
    """Return the beginning of a number's text, with 9 for each digit.

    >>> number_form("-1.5e400"), number_form("NaN")
    ('-9.9e999', 'NaN')
    """
    return _DIGIT.sub("9", beginning(text))


def field_name(key: object) -> str:
    """Return a key that looks like the name of a field, and hide any other: a person's name or address can be a key.

    >>> [field_name(key) for key in ("_links", "osdi:record_signature", "line2", "Ann", "ann@b.org", "a_4158")]
    ['_links', 'osdi:record_signature', 'line2', '(hidden)', '(hidden)', '(hidden)']
    """
    text = str(key)
    return beginning(text) if _FIELD.fullmatch(text) else HIDDEN


def quoted(value: object) -> str:
    """Return texts or a small number that a caller gave, shortened and without addresses; of anything else the type.

    >>> quoted("March"), quoted("to ann@b.example"), quoted(7), quoted([{}])
    ("'March'", "'to (e-mail)'", '7', 'a list of 1')
    """
    match value:
        case str() | os.PathLike():
            return beginning(repr(without_addresses(str(value))))
        case None | bool():
            return repr(value)
        case int() | float() if not math.isfinite(value) or abs(value) < 10**_DIGITS:
            return beginning(repr(value))
        case list() if all(isinstance(entry, str) for entry in value):
            return beginning(f"[{', '.join(map(quoted, value[:_ENTRIES]))}]")
        case list() | tuple() | dict() | set():
            return f"a {type(value).__name__} of {len(value)}"
    return f"a value of type {type(value).__name__}"


def shorten_within(message: str, values: Iterable[str]) -> str:
    """Shorten some values where a message of another program repeats them.

    >>> shorten_within("no such option: --" + "x" * 61, ["x" * 61]) == "no such option: --" + "x" * 60 + "…"
    True
    """
    forms = [form for value in values if len(value) > _QUOTED for form in (value, repr(value))]
    for form in sorted(forms, key=len, reverse=True):
        message = message.replace(form, beginning(form))
    return message


def shorten_names(path: str) -> str:
    """Return the path of a file, also of one inside of another, with each name in it shortened.

    >>> shorten_names("archive/a.zip!2026/" + "x" * 61) == "archive/a.zip!2026/" + "x" * 60 + "…"
    True
    """
    return _NAME.sub(lambda name: beginning(name[0]), path)


def quoted_path(path: str | os.PathLike[str]) -> str:
    """Return a path that a caller gave, with each name of folders that exist shortened, and the rest as any text is.

    >>> quoted_path(f"{os.curdir}/" + "x/" * 1000) == f"{os.curdir}/" + "x/" * 29 + "x…"
    True
    """
    text = os.fspath(path)
    there = text if len(text) <= _LONGEST_PATH else ""
    while there and not os.path.lexists(there):
        there = there.rpartition(os.sep)[0]
    return f"{shorten_names(there)}{beginning(text[len(there) :])}"


def with_shortened_paths(error: Exception) -> Exception:
    """Return an error, one of the system with its paths as `quoted_path` shows them.

    >>> with_shortened_paths(FileNotFoundError(2, "No such file", "x" * 61)).filename == "x" * 60 + "…"
    True
    """
    if not isinstance(error, OSError) or error.filename is None:
        return error
    paths = [
        quoted_path(path) if isinstance(path, str) else path for path in (error.filename, error.filename2)
    ]
    return OSError(error.errno, error.strerror, paths[0], None, paths[1])


@contextlib.contextmanager
def shortened_paths() -> Iterator[None]:
    """Let errors of the system name paths as `quoted_path` does: a caller can have given any text for one."""
    try:
        yield
    except OSError as error:
        raise with_shortened_paths(error) from None


def listed(names: Iterable[str], most: int = _NAMED) -> str:
    """Return the first of some names, and how many more there are.

    >>> listed("abc"), listed("abcde")
    ('a, b, c', 'a, b, c, and 2 more')
    """
    names = list(names)
    more = f", and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(shorten(name) for name in names[:most])}{more}"


def printable(text: str) -> str:
    r"""Replace what a terminal would obey or a reader not see: escapes, C1 and bidi controls, line ends.

    >>> printable("a\x1b[2Jb\u202ec")
    'a\ufffd[2Jb\ufffdc'
    """
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun, in the singular for one.

    >>> counted(1, "event"), counted(2062, "RSVP"), counted(0, "person", "people")
    ('1 event', '2,062 RSVPs', '0 people')
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def nearest(name: str, names: Iterable[str], titles: Mapping[str, str] | None = None) -> str:
    """Say which of `names` are nearest to a mistyped `name`, by themselves or by their titles, in any case.

    If none is near, all are listed; of more than forty the first forty.

    >>> nearest("modified", ["modified_date", "created_date", "title"])
    'nearest: modified_date'
    >>> nearest("march", ["5f", "6a"], {"5f": "The March", "6a": "Picnic"})
    'nearest: 5f (The March)'
    """
    titles = titles or {}
    shown = {named: shorten(f"{named} ({titles[named]})" if named in titles else named) for named in names}
    spelled: dict[str, list[str]] = {}
    for named, text in shown.items():
        for spelling in (named, titles.get(named, named)):
            spelled.setdefault(spelling.casefold(), []).append(text)
    wanted = str(name).casefold()  # a caller can give anything
    near = difflib.get_close_matches(wanted, spelled, cutoff=0.5) or [
        text for text in spelled if wanted in text
    ]
    found = list(dict.fromkeys(text for spelling in near for text in spelled[spelling]))
    return (
        f"nearest: {listed(found, _MOST_NAMES)}"
        if found
        else f"there are: {listed(_in_order(wanted, spelled, shown), _MOST_NAMES)}"
    )


def _in_order(wanted: str, spelled: Mapping[str, list[str]], shown: Mapping[str, str]) -> list[str]:
    """Return the names, the nearest first where not all are listed."""
    if len(shown) <= _MOST_NAMES:
        return list(shown.values())
    near = difflib.get_close_matches(wanted, spelled, n=len(spelled), cutoff=0)
    return list(dict.fromkeys(text for spelling in near for text in spelled[spelling]))
