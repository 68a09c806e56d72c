"""Text as it reads once its escapes are undone: JSON's, percent signs, HTML's, other forms of a sign."""

from __future__ import annotations

import html
import re
import unicodedata
from urllib.parse import unquote

#: How often text may have been escaped: JSON in JSON, percent signs in a form.
LAYERS = 4

_JSON = re.compile(r"((?:\\u[0-9A-Fa-f]{4})+)|\\(.)", re.DOTALL)
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_REPEATED = re.compile("(?<=%)(?:25)+(?=[0-9A-Fa-f]{2})|(?<=&)(?:amp;)+")


def undo(text: str) -> str:
    r"""Undo a layer of escapes; of percent signs and ampersands that were themselves escaped, every layer.

    >>> undo(r"a\u0040b"), undo("a%2540b"), undo("a&amp;#64;b"), undo("ａ＠ｂ。ｃ")
    ('a@b', 'a@b', 'a@b', 'a@b.c')
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).replace("\u3002", ".")  # which mail programs read as a dot
    text = _REPEATED.sub("", _JSON.sub(_unescaped, text))
    return html.unescape(unquote(text))


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:
        return bytes.fromhex(found[1].replace("\\u", "")).decode("utf-16-be", "replace")
    return _CONTROLS.get(found[2], found[2])
