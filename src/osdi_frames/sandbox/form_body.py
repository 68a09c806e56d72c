"""Bodies that are no JSON: fields of forms or queries."""

import re
from typing import Any
from urllib.parse import parse_qsl


def parse_fields(text: str) -> dict[str, Any]:
    """Read fields with the nesting of their names.

    A name that is repeated makes a list. Raises ValueError where a part is no field.

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
