"""E-mail addresses, phone numbers and queries in texts, found and hidden however they are escaped or spelled."""

from __future__ import annotations

import base64
import html
import re
import unicodedata
from urllib.parse import unquote

#: How often text may have been escaped: JSON in JSON, percent signs in a form.
LAYERS = 4

_JSON = re.compile(r"((?:\\u[0-9A-Fa-f]{4})+)|\\(.)", re.DOTALL)
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_REPEATED = re.compile("(?<=%)(?:25)+(?=[0-9A-Fa-f]{2})|(?<=&)(?:amp;)+")
#: What may be base64, and its form for addresses; and what each makes of the sign @, at each place of three bytes.
_BASE64 = [re.compile(rf"[A-Za-z0-9{more}]{{8,}}") for more in ("+/", "_-")]
_SIGN_IN_BASE64 = "Q[C-H]|[EUk0][AB]|[BFJNRVZdhlptx159]A"

#: A name before the sign, or what stands in quotes; then a host next to the sign, or with blanks between.
_LOCAL = r'(?:"(?:[^"\\]|\\.){1,64}+"|(?<![^\s@/?&=<>:;,])[^\s@/?&=<>:;,]++)'
_NEXT = r"@(?:[^\s@/?&=<>;,]+\.[^\s@/?&=<>;,]+|(?i:localhost)\b)"
_APART = r"\s*+@\s*+(?:(?:[\w-]+\.)+(?:[^\W\d_]{2,}|xn--[\w-]+)(?![\w-])|(?i:localhost)\b)"
_WITHIN_NUMBERS = r"\d\s().+/\xad\u200b-\u200f\u2010-\u2015\u2060\u2212\ufeff-"
#: What a text may hold of a person, and what stands there instead; queries hold tokens and addresses.
#: Matches begin at a boundary and try one sign of each kind, or a long text would take quadratic time.
_PERSONAL = [
    (re.compile(pattern), shown)
    for pattern, shown in {
        # Three dots are those that stand for a query, with their escapes undone.
        r"(?<![^\s?#])((?>[^\s?#]*?(?:://|[\w-]\.\w\w))[^\s?#]*)[?#](?!\.{3}(?!\S))\S+": r"\1?…",
        f"{_LOCAL}(?:{_NEXT}|{_APART})": "(e-mail)",
        rf"\+\d[{_WITHIN_NUMBERS}]{{5,}}\d": "(phone)",
    }.items()
]
_EMAIL = re.compile(f"{_LOCAL}{_NEXT}")
#: Each of these texts has one of these signs, or one of which an escape is made, in any form of Unicode.
SIGNS = (
    r"[@\x{fe6b}\x{ff20}+\x{207a}\x{208a}\x{fb29}\x{fe62}\x{ff0b}?\x{2047}-\x{2049}\x{fe16}\x{fe56}\x{ff1f}"
    r"#\x{fe5f}\x{ff03}%\x{fe6a}\x{ff05}&\x{fe60}\x{ff06}\\\x{fe68}\x{ff3c}]"
    f"|{_SIGN_IN_BASE64}"
)


def without_addresses(text: str) -> str:
    """Hide e-mail addresses, phone numbers and queries of web addresses within a text, however they are spelled.

    Where one is hidden that is found only once escapes are undone, those of the whole text are.

    >>> [without_addresses(text) for text in ("to-a@b.example", "b.example/x?t=1", "call +1 510 555 0199", "2026-03")]
    ['(e-mail)', 'b.example/x?…', 'call (phone)', '2026-03']
    >>> [without_addresses(text) for text in ("ann&#64;b.example", "ann @b.example", '"a b"@localhost')]
    ['(e-mail)', '(e-mail)', '(e-mail)']
    """
    found = text
    for _ in range(LAYERS):
        hidden = text
        for pattern, shown in _PERSONAL:
            hidden = pattern.sub(shown, hidden)
        if hidden != text:
            found = hidden
        text = undo(hidden)
        if text == hidden:
            break
    return found


def undo(text: str) -> str:
    r"""Undo a layer of escapes; of percent signs and ampersands that were themselves escaped, every layer.

    Base64 is decoded where it holds an e-mail address.

    >>> undo(r"a\u0040b"), undo("a%2540b"), undo("a&amp;#64;b"), undo("ａ＠ｂ。ｃ"), undo("to-YW5uQGIuZXhhbXBsZQ")
    ('a@b', 'a@b', 'a@b', 'a@b.c', 'to-ann@b.example')
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).replace("\u3002", ".")  # which mail programs read as a dot
    text = _REPEATED.sub("", _JSON.sub(_unescaped, text))
    text = html.unescape(unquote(text))
    for encoded in _BASE64:
        text = encoded.sub(_decoded, text)
    return text


def _decoded(found: re.Match[str]) -> str:
    token = found[0]
    if not re.search(_SIGN_IN_BASE64, token):
        return token
    try:
        text = base64.b64decode(f"{token}===", b"-_" if {*token} & {*"-_"} else None).decode()
    except ValueError:
        return token
    return text if _EMAIL.search(text) else token


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:
        return bytes.fromhex(found[1].replace("\\u", "")).decode("utf-16-be", "replace")
    return _CONTROLS.get(found[2], found[2])
