"""What the package says: what it logs and warns of, and the tracebacks of its errors."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

import osdi_frames as of

from .somebody import EMAIL, ENCODED, PERSON

CANARY = "peregrinus"
LONG = "x" * 70 + CANARY
LEAKS = (CANARY, "quillonfarth-mail", ENCODED)
EVENT = {"title": "March", "total_accepted": 3, "start_date": "2026-05-01T18:00:00Z"}


@cache
def events() -> pd.DataFrame:
    """Read the event."""
    return of.read_events(EVENT)


#: What a caller can give by mistake: addresses, and something personal after the 60th character. Paths can hold an @.
WORD = f"{EMAIL} {ENCODED} {LONG}"
TEXTS = {
    "word": LONG,
    "lines": "x\n" * 35 + CANARY,
    "JSON": json.dumps({"person": PERSON, "comments": LONG}),
    "path": f"/dev/null/{LONG}/{CANARY}.json",
    "parts": f"/dev/null/{'x/' * 35}{CANARY}.json",
    "pattern": f"nowhere/{LONG}*{CANARY}.json",
    "service": f"https://127.0.0.1:9/{LONG}",
    "file": f"https://127.0.0.1:9/{LONG}.json",
    "object": f"memory://{LONG}",
    "protocol": f"{'x' * 70}{CANARY}://a.json",
}
#: What it stands in.
SHAPES: dict[str, Callable[[str], Any]] = {
    "text": lambda text: text,
    "list": lambda text: [text],
    "key": lambda text: {text: text, "comments": [text]},
    "frame": lambda text: pd.DataFrame({text: [text], "total_accepted": [text], "title": [[text]]}),
}


@contextlib.contextmanager
def folder_with_an_event() -> Iterator[None]:
    """Work in a new folder with one event."""
    with (
        tempfile.TemporaryDirectory(dir=Path.cwd(), ignore_cleanup_errors=True) as folder,
        contextlib.chdir(folder),
    ):
        Path("a.json").write_text(json.dumps(EVENT))
        yield


@contextlib.contextmanager
def said() -> Iterator[list[str]]:
    """Yield a list that has at the end what this package logged and warned of, and the traceback of an error."""
    texts: list[str] = []
    log, root = io.StringIO(), logging.getLogger()
    handler, level = logging.StreamHandler(log), root.level
    handler.addFilter(logging.Filter("osdi_frames"))
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield texts
        except Exception as error:  # noqa: BLE001 (whatever it is, it is shown to somebody)
            texts.append("".join(traceback.format_exception(error)))
        finally:
            root.removeHandler(handler)
            root.setLevel(level)
    texts += [log.getvalue(), *(str(each.message) for each in caught)]


def leaked(call: Callable[[], Any]) -> str:
    """Return what a call said, if the canary is in it."""
    with said() as texts, folder_with_an_event():
        call()
    return of_leaks("\n".join(texts))


def of_leaks(text: str) -> str:
    """Return the end of a text that shows what it is not to show."""
    return text[-2000:] if any(leak in text for leak in LEAKS) else ""
