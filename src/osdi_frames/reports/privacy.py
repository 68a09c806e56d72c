"""Personal data within labels: e-mail addresses, phone numbers, and what a web address hands on."""

from __future__ import annotations

from typing import Final

import pandas as pd

#: The columns whose texts reports show.
LABELS: Final = (
    "source",
    "referrer",
    "website",
    "location_country",
    "location_region",
    "location_locality",
    "event_campaign_id",
    "petition_id",
    "title",
)
_AT: Final = r"(?:@|\uff20|%(?:25)*40)"
#: What a label may hold of a person, and what stands there instead; queries hold tokens and addresses.
_PERSONAL: Final = {
    r"((?:://|[\w-]+\.\w{2,})[^\s?#]*)(?:[?#]|%(?:25)*3[fF])\S+": r"\1?…",
    rf"[^\s@/?&=<>:;,]+{_AT}[^\s@/?&=<>;,]+\.[^\s@/?&=<>;,]+": "(e-mail)",
    r"(?:\+|%(?:25)*2[bB])\d[\d\s().-]{5,}\d": "(phone)",
}


def hide_personal(frame: pd.DataFrame) -> pd.DataFrame:
    """Hide what labels hold of persons, before anything is counted by them: what then looks alike is one.

    >>> frame = pd.DataFrame({"source": ["to-a@b.example", "b.example/x?t=1", "call +1 510 555 0199", "2026-03-05"]})
    >>> hide_personal(frame)["source"].tolist()
    ['(e-mail)', 'b.example/x?…', 'call (phone)', '2026-03-05']
    """
    texts = {name: frame[name].astype("str") for name in LABELS if name in frame.columns}
    for pattern, shown in _PERSONAL.items():
        texts = {name: text.str.replace(pattern, shown, regex=True) for name, text in texts.items()}
    return frame.assign(**texts)
