"""Bodies of requests: JSON objects, or fields of forms and queries."""

import json
import re
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

from osdi_frames.errors import RequestRefused
from osdi_frames.json_decoding import STRICT_DECODER

# json.dumps writes NUL as an escape, as it does a backslash before the letters "u0000"
_NOT_TEXT = re.compile("[\ud800-\udfff\ufdd0-\ufdef]|" + r"(?<!\\)(?:\\\\)*\\u0000")


async def read_body(
    request: Request, limit: int, *, empty: str = "", lenient: bool = False
) -> dict[str, Any]:
    """Read a body, which must be a JSON object of interchangeable text.

    With `lenient`, one that is no JSON is a form, and a request without a body has it in its query.
    """
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise RequestRefused(413, f"the body is larger than {limit} bytes")
    try:
        if lenient and not body.lstrip().startswith((b"{", b"[", b'"')):
            parsed: Any = parse_fields((body or request.scope["query_string"]).decode())
        else:
            parsed = STRICT_DECODER.decode(body.decode("utf-8-sig") or empty)
        text = json.dumps(parsed, ensure_ascii=False)
    except (ValueError, RecursionError) as error:
        raise RequestRefused(400, f"the body is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise RequestRefused(400, "the body must be a JSON object")
    if _NOT_TEXT.search(text):
        why = "a NUL, a lone surrogate or a noncharacter, which is no text"
        raise RequestRefused(400, f"the body holds {why}")
    return parsed


def parse_fields(text: str) -> dict[str, Any]:
    """Read fields with the nesting of their names, of which a repeated one makes a list.

    Raise ValueError where a part is no field.

    Examples
    --------
    >>> parse_fields("title=A+B&location[venue]=Hall&tags[]=x&tags[]=y")
    {'title': 'A B', 'location': {'venue': 'Hall'}, 'tags': ['x', 'y']}
    """
    found: dict[str, Any] = {}
    pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=True, errors="strict") if text else ()
    for name, value in pairs:
        *path, last = list(filter(None, re.split(r"[][]", name))) or [name]
        inside = found
        for key in path:
            if not isinstance(inside.setdefault(key, {}), dict):
                inside[key] = {}  # text and fields of the same name: the fields stay
            inside = inside[key]
        known = inside.setdefault(last, value)
        if isinstance(known, list):
            known.append(value)
        elif known is not value:
            inside[last] = [known, value]
    return found
