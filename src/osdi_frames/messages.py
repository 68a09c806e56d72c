"""Format values, keys, texts and paths for messages without revealing personal data; format lists of names and counts.

- A received value is shown as its form: the JSON with every letter and digit masked.
- A received key is shown if it looks like a field's name, and hidden otherwise.
- A caller's argument is shown without addresses, and shortened.
- A path is shown with each of its names shortened.
"""

from __future__ import annotations

import contextlib
import difflib
import itertools
import json
import math
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from textwrap import fill

from osdi_frames.addresses import without_addresses

_QUOTED = 60  # characters of a text that a message shows
_LONGEST_PATH = 4096  # characters; no system has longer paths
_NAMED = 3  # names that a message lists
_MOST_NAMES = 40  # names that a message with suggestions lists
_NAME = re.compile(r"[^/\\!]+")
_ENTRIES = 20  # entries of an object or list
HIDDEN = "(hidden)"
#: A field's name: words with at most two digits at the end, joined by underscores, colons or hyphens.
_FIELD = re.compile(r"_?{word}(?:[_:-]{word})*".format(word=r"[a-z]{1,30}(?:[A-Z][a-z]+)*\d{0,2}"))
_STATUS = re.compile(r"(?=.{1,30}$)[A-Za-z][a-z]*(?:[ _-][a-z]+)*")
_DIGIT, _LETTER = re.compile(r"\d"), re.compile(r"[^\x20-\x40\x5b-\x60\x7b-\x7e]")
_DIGITS = 4  # a number with more could be a phone number or an id
_LARGE = 10**_QUOTED


def beginning(text: str, most: int = _QUOTED) -> str:
    """Return a text, cut off after the number of characters that a message shows.

    >>> beginning("March"), beginning("March" * 100, 9)
    ('March', 'MarchMarc…')
    """
    return text if len(text) <= most else f"{text[:most]}…"


def shorten(text: str, most: int = _QUOTED) -> str:
    """Return a text without its addresses, cut off after some characters.

    >>> shorten("to ann@b.example, and March" * 9, 20)
    'to (e-mail), and Mar…'
    """
    return beginning(without_addresses(text), most)


def value_form(value: object, *, depth: int = 2) -> str:
    """Return the form of a received value: short JSON with 9 for each digit and x for each letter.

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
            first = itertools.islice(value.items(), _ENTRIES)
            pairs = (f'"{field_name(key)}": {value_form(inner, depth=depth - 1)}' for key, inner in first)
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
    """Return an unknown status as JSON if it consists of words in lower case as statuses do, or else its form.

    >>> status("needs action"), status("Ann Smith"), status("a@b.org")
    ('"needs action"', '"xxx xxxxx"', '"x@x.xxx"')
    """
    return f'"{value}"' if _STATUS.fullmatch(value) else value_form(value)


def number_form(text: str) -> str:
    """Return the text of a number with 9 for each digit, cut off as in any message.

    >>> number_form("-1.5e400"), number_form("NaN")
    ('-9.9e999', 'NaN')
    """
    return _DIGIT.sub("9", beginning(text))


def field_name(key: object) -> str:
    """Return a key that looks like a field's name; hide any other, since it can be a person's name or address.

    >>> [field_name(key) for key in ("_links", "osdi:record_signature", "line2", "Ann", "ann@b.org", "a_4158")]
    ['_links', 'osdi:record_signature', 'line2', '(hidden)', '(hidden)', '(hidden)']
    """
    text = str(key)
    return beginning(text) if _FIELD.fullmatch(text) else HIDDEN


def quoted(value: object) -> str:
    """Return a caller's argument: a text shortened and without addresses, a small number, or the type of others.

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
    """Return another program's message with the occurrences of some values shortened.

    >>> shorten_within("no such option: --" + "x" * 61, ["x" * 61]) == "no such option: --" + "x" * 60 + "…"
    True
    """
    forms = [form for value in values if len(value) > _QUOTED for form in (value, repr(value))]
    for form in sorted(forms, key=len, reverse=True):
        message = message.replace(form, beginning(form))
    return message


def shorten_names(path: str) -> str:
    """Return the path of a file, or of a member of an archive file, with each name in it shortened.

    >>> shorten_names("archive/a.zip!2026/" + "x" * 61) == "archive/a.zip!2026/" + "x" * 60 + "…"
    True
    """
    return _NAME.sub(lambda name: beginning(name[0]), path)


def quoted_path(path: str | os.PathLike[str]) -> str:
    """Return a caller's path: each name of its existing folders is shortened, and the rest as a whole.

    >>> quoted_path(f"{os.curdir}/" + "x/" * 1000) == f"{os.curdir}/" + "x/" * 29 + "x…"
    True
    """
    text = os.fspath(path)
    existing = text if len(text) <= _LONGEST_PATH else ""
    while existing and not os.path.lexists(existing):
        existing = existing.rpartition(os.sep)[0]
    return f"{shorten_names(existing)}{beginning(text[len(existing) :])}"


def with_shortened_paths(error: Exception) -> Exception:
    """Return an error; an OSError with its paths shortened as by `quoted_path`.

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
    """Shorten the paths in an OSError as `quoted_path` does, since a caller can pass any text as a path."""
    try:
        yield
    except OSError as error:
        raise with_shortened_paths(error) from None


def listed(names: Iterable[str], most: int = _NAMED) -> str:
    """Return the first of some names, and the number of the others.

    >>> listed("abc"), listed("abcde")
    ('a, b, c', 'a, b, c, and 2 more')
    """
    return joined(list(map(shorten, names)), most)


def joined(names: Collection[str], most: int = _MOST_NAMES) -> str:
    """Return the first of some names, which are as long as they are shown, and the number of the others."""
    more = f", and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(itertools.islice(names, most))}{more}"


def shorten_apart(texts: Iterable[str], most: int = _QUOTED) -> list[str]:
    """Return texts without their addresses, cut off after some characters, and where they differ, if that is later.

    >>> shorten_apart(["Save the river park: north", "Save the river park: south", "Picnic"], 14)
    ['Save the river…north', 'Save the river…south', 'Picnic']
    """
    texts = list(map(without_addresses, texts))
    cut = _cut_apart(dict.fromkeys(texts), most)
    return [cut[text] for text in texts]


def _cut_apart(texts: Collection[str], most: int) -> dict[str, str]:
    """Return different forms of different texts."""
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for text in texts:
        alike[beginning(text, most)].append(text)
    forms = {}
    for form, some in alike.items():
        if len(some) == 1:
            forms[some[0]] = form
            continue
        same = len(os.path.commonprefix(some))  # noqa: RUF071 (of characters, which these are)
        ends = _cut_apart([text[same:] for text in some], max(most // 2, 1))
        forms |= {text: f"{text[:most]}…{ends[text[same:]]}" for text in some}
    return forms


def titled(titles: Mapping[str, str | None]) -> list[str]:
    """Return ids, each with its title if it has one.

    >>> titled({"5f": "The March", "6a": None})
    ['5f (The March)', '6a']
    """
    ids, texts = shorten_apart(titles), shorten_apart(title or "" for title in titles.values())
    marked = (text if text.startswith("(") else f"({text})" if text else "" for text in texts)  # "(e-mail)"
    return [" ".join(filter(None, both)) for both in zip(ids, marked, strict=True)]


def printable(text: str) -> str:
    r"""Replace unprintable characters: terminal escapes, control characters, bidirectional marks and line ends.

    >>> printable("a\x1b[2Jb\u202ec")
    'a\ufffd[2Jb\ufffdc'
    """
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def wrapped(line: str, indent: int = 2) -> str:
    """Return a line in the width of the terminal, of 80 characters if there is none; further lines are indented."""
    width = shutil.get_terminal_size().columns
    return fill(line, width, subsequent_indent=" " * indent, break_on_hyphens=False, break_long_words=False)


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun in the singular or plural.

    >>> counted(1, "event"), counted(2062, "RSVP"), counted(0, "person", "people")
    ('1 event', '2,062 RSVPs', '0 people')
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def nearest(name: str, names: Iterable[str], titles: Mapping[str, str] | None = None) -> str:
    """Return a hint on the names that resemble a mistyped one, or whose titles do, ignoring case.

    If none does, the hint lists all names; of more than forty the forty that resemble it most.

    >>> nearest("modified", ["modified_date", "created_date", "title"])
    'nearest: modified_date'
    >>> nearest("march", ["5f", "6a"], {"5f": "The March", "6a": "Picnic"})
    'nearest: 5f (The March)'
    """
    names, titles = list(dict.fromkeys(names)), titles or {}
    texts = titled({one: titles.get(one) for one in names})
    by_spelling: dict[str, list[str]] = {}
    for one, text in zip(names, texts, strict=True):
        for spelling in (one, titles.get(one, one)):
            by_spelling.setdefault(spelling.casefold(), []).append(text)
    typed = str(name).casefold()  # a caller can pass an object of any type
    near = difflib.get_close_matches(typed, by_spelling, cutoff=0.5)
    near = near or [spelling for spelling in by_spelling if typed in spelling]
    if not near and len(names) <= _MOST_NAMES:
        return f"there are: {joined(texts)}"
    ranked = near or difflib.get_close_matches(typed, by_spelling, n=len(by_spelling), cutoff=0)
    hints = dict.fromkeys(text for spelling in ranked for text in by_spelling[spelling])
    return f"{'nearest' if near else 'there are'}: {joined(hints)}"
