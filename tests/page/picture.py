"""The picture of the page in the README: ``python -m tests.page.picture`` makes it anew of the sample archive.

It carries the words that it shows, so that a test compares them with the page on a machine without a browser, too.
"""

from __future__ import annotations

import re
from html import unescape
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from .conftest import installed, launched, rendered

REPOSITORY = Path(__file__).parents[2]
PICTURE = REPOSITORY / "notebooks" / "report-page.png"
SIZE = {"width": 1280, "height": 960}
#: The section after the last that the picture shows.
_BELOW = 'id="changes_by_source"'
_NO_TEXT = re.compile(r"<(style|script|nav)\b.*?</\1>|<[^>]*>", re.DOTALL)


def words(html: str) -> str:
    """Return the words of a page as far as the picture goes."""
    return " ".join(unescape(_NO_TEXT.sub(" ", html.partition(_BELOW)[0])).split())


def taken(browser: Any, html: str) -> bytes:
    """Return a picture of a page, with its words."""
    page = browser.new_page(viewport=SIZE)
    page.set_content(html)
    picture, text = Image.open(BytesIO(page.screenshot())), PngInfo()
    text.add_text("words", words(html), zip=True)
    file = BytesIO()
    picture.convert("P", palette=Image.Palette.ADAPTIVE).save(file, "png", optimize=True, pnginfo=text)
    page.close()
    return file.getvalue()


def main() -> None:
    """Write the picture."""
    browser_path = installed()
    if not browser_path:
        raise SystemExit("no chromium on this machine")
    with launched(browser_path) as browser:
        PICTURE.write_bytes(taken(browser, rendered(REPOSITORY / "data")))


if __name__ == "__main__":
    main()
