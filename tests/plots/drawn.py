"""What stands on axes, as a reader would tell it, and reports to draw."""

from __future__ import annotations

from io import BytesIO

import pandas as pd
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from osdi_frames import plots, reports
from osdi_frames.reports import Period

#: What the reports are made of.
EVENTS = pd.DataFrame(
    {
        "event_id": ["1", "2", "3", "4"],
        "event_campaign_id": ["climate", "climate", None, "housing"],
        "location_country": ["US", "US", "US", None],
        "location_region": ["CA", None, "CA", "NY"],
        "total_accepted": [30, 12, 5, 9],
        "capacity": pd.array([40, None, None, 10], dtype="Int64"),
        "start_date": pd.to_datetime(["2026-03-04 18:00", "2026-05-09 10:00", None, "2026-05-02 09:30"]),
        "fetched_at": pd.to_datetime(["2026-05-01", "2026-05-01", "2026-05-02", "2026-05-02"], utc=True),
        "location_longitude": [-122.3, None, 12.5, -73.9],
        "location_latitude": [37.8, None, 41.9, 40.7],
    }
)
SIGNATURES = pd.DataFrame(
    {
        "source": ["email", "email", "none", "ads", "email"],
        "referrer": ["g", None, None, "g", None],
        "website": [None, "example.org", None, None, "example.org"],
        "petition_id": ["p", "p", "q", "q", "q"],
        "location_country": ["US", "US", "US", "US", None],
        "location_region": ["CA", "NY", "CA", "CA", None],
        "person_id": ["1", "1", "2", "3", None],
        "created_date": pd.to_datetime(
            ["2026-03-05", "2026-03-09", "2026-05-01", None, "2026-05-03"], utc=True
        ),
    }
)
ATTENDANCES = SIGNATURES.assign(
    event_id=["1", "1", "2", "3", "4"],
    event_campaign_id=["climate", "climate", "housing", None, "housing"],
    attended=pd.array([False, True, None, True, False], dtype="boolean"),
)
TABLES = {"events": EVENTS, "snapshots": EVENTS, "signatures": SIGNATURES, "attendances": ATTENDANCES}
ACTS = pd.DataFrame(
    {
        "person_id": ["ann", "bob", "ann", "cat", "ann"],
        "date": pd.to_datetime(
            ["2026-03-05", "2026-03-06", "2026-03-09", "2026-04-01", "2026-06-02"], utc=True
        ),
        "action": ["signed", "hosted", "rsvped", "signed", "attended"],
        "subject_id": ["park", "march", "march", "park", "march"],
        "source": ["email", "none", "ads", None, "email"],
        "number": [1, 1, 2, 1, 3],
        "is_new": pd.array([True, False, False, None, False], dtype="boolean"),
    }
)
MONTHLY = pd.Grouper(key="start_date", freq="MS")

#: Every plot, with a report to draw.
DRAWN = {
    "rsvps_by_campaign": ("rsvps_by_campaign", lambda: reports.rsvps_by_campaign(EVENTS)),
    "rsvps_by region": ("rsvps_by", lambda: reports.rsvps_by(EVENTS, "location_region")),
    "rsvps_by month": ("rsvps_by", lambda: reports.rsvps_by(EVENTS, MONTHLY)),
    "rsvps_by region and month": ("rsvps_by", lambda: reports.rsvps_by(EVENTS, ["location_region", MONTHLY])),
    "rsvps_by_region": ("rsvps_by_region", lambda: reports.rsvps_by_region(EVENTS)),
    "rsvps_by_month": ("rsvps_by_month", lambda: reports.rsvps_by_month(EVENTS)),
    "rsvps_over_time": ("rsvps_over_time", lambda: reports.rsvps_over_time(EVENTS)),
    "signatures_by_source": ("signatures_by_source", lambda: reports.signatures_by_source(SIGNATURES)),
    "signatures_by_referrer": ("signatures_by_referrer", lambda: reports.signatures_by_referrer(SIGNATURES)),
    "signatures_by_website": ("signatures_by_website", lambda: reports.signatures_by_website(SIGNATURES)),
    "signatures_by two": ("signatures_by", lambda: reports.signatures_by(SIGNATURES, ["source", "referrer"])),
    "signatures_over_time": (
        "signatures_over_time",
        lambda: reports.signatures_over_time(SIGNATURES, freq="MS"),
    ),
    "signatures_over_time by source": (
        "signatures_over_time",
        lambda: reports.signatures_over_time(SIGNATURES, freq="MS", by="source"),
    ),
    "event_map": ("event_map", lambda: EVENTS),
    "signature_map": ("signature_map", lambda: EVENTS),
    "engagement": ("engagement", lambda: reports.engagement(ACTS)),
    "retention": ("retention", lambda: reports.retention(ACTS)),
    "repeats": ("repeats", lambda: reports.repeats(ACTS)),
    "hosts": ("hosts", lambda: reports.hosts(ACTS)),
    "funnel": ("funnel", lambda: reports.funnel(ACTS)),
    "funnel by source": ("funnel", lambda: reports.funnel(ACTS, by="source")),
    "attribution": ("attribution", lambda: reports.attribution(ACTS, "signed")),
    "growth": ("growth", lambda: reports.growth(ACTS)),
    "attribution of both": ("attribution", lambda: reports.attribution(ACTS, "signed", touch="both")),
    "compare": ("compare", lambda: reports.compare(SIGNATURES, "M", until="2026-05")),
    "weekday_hours": ("weekday_hours", lambda: reports.weekday_hours(EVENTS)),
}


#: What reports are asked for that group by anything.
BY = {
    "rsvps_by": ("location_region", ["location_country", "location_region"], ["location_region", MONTHLY]),
    "signatures_by": ("source", ["source", "referrer"], [Period("created_date", "W"), "source"]),
    "attendances_by": ("source", ["event_id", "source"], Period("created_date", "M")),
    "signatures_over_time": (None, "source"),
    "attendances_over_time": (None, "source"),
}


def made(name: str, table: pd.DataFrame) -> list[pd.DataFrame]:
    """Make a report, by each of what it can be asked for."""
    make = getattr(reports, name)
    return [make(table, by) for by in BY[name]] if name in BY else [make(table)]


_DAYS = st.sampled_from([None, "2026-03-04T18:00", "2026-05-09T10:00", "2026-05-02", "2026-02-28T23:59"])
_VALUES = {
    "str": st.sampled_from([None, "", "none", "a", "b", "(other: 2)", "$x$", "=1+1", "2026", "x" * 60]),
    "int64": st.integers(0, 10**9),
    "Int64": st.none() | st.integers(0, 10**9),
    "boolean": st.sampled_from([None, True, False]),
    "float64": st.sampled_from([None, 12.5, -73.9]),
    "datetime64[us]": _DAYS,
    "datetime64[us, UTC]": _DAYS,
}


def generated(like: pd.DataFrame) -> st.SearchStrategy[pd.DataFrame]:
    """Generate tables with the columns of another; no two rows are of one event."""
    rows = st.lists(st.tuples(*(_VALUES[str(dtype)] for dtype in like.dtypes)), max_size=12)
    frames = rows.map(lambda found: pd.DataFrame(found, columns=list(like)).astype(like.dtypes.to_dict()))
    dated = [
        name for name in like if name == "fetched_at"
    ]  # without it no event can be followed through time
    return frames.map(lambda table: table.assign(event_id=table.index.astype("str")).dropna(subset=dated))


def read_back(report: pd.DataFrame) -> pd.DataFrame:
    file = BytesIO()
    report.to_parquet(file)
    return pd.read_parquet(file)


def axes(width: float = 8, height: float = 4.5) -> Axes:
    """Return axes as a caller brings them, of a figure that pyplot does not know."""
    return Figure(figsize=(width, height)).subplots()


def draw(name: str, frame: pd.DataFrame, **options: object) -> Axes:
    return getattr(plots, name)(frame, **{"ax": axes()} | options)


def render(ax: Axes) -> None:
    """Lay the picture out: what matplotlib warns of, it says only now."""
    ax.figure.draw_without_rendering()


def names(ax: Axes) -> list[str]:
    """Return the labels of horizontal bars, from the top."""
    return [label.get_text() for label in ax.get_yticklabels()]


def widths(ax: Axes) -> list[float]:
    """Return the lengths of the horizontal bars that count, from the top."""
    bars = [bar for bar in ax.patches if bar.get_height() > 0.2]
    return [bar.get_width() for bar in sorted(bars, key=lambda bar: bar.get_y())]


def heights(ax: Axes) -> list[list[float]]:
    """Return the heights of upright bars, a list for each series."""
    return [[bar.get_height() for bar in container] for container in ax.containers]


def texts(ax: Axes) -> list[str]:
    """Return what is written at bars."""
    return [text.get_text() for text in ax.texts if text.get_text()]


def total(ax: Axes) -> float:
    """Return what is drawn in all: of lines their ends, of bars those that count."""
    if ax.lines:
        return sum(line.get_ydata()[-1] for line in ax.lines)
    upright = ax.containers and ax.containers[0].orientation == "vertical"
    return sum(map(sum, heights(ax))) if upright else sum(widths(ax))


def legend(ax: Axes) -> list[str]:
    found = ax.get_legend()
    return [text.get_text() for text in found.get_texts()] if found else []


def every_text(ax: Axes) -> list[Text]:
    """Return all Text there is on the figure, once it was drawn."""
    render(ax)
    return [text for text in ax.figure.findobj(Text) if text.get_text()]


def counted(counts: dict[str, int], *, key: str = "source") -> pd.DataFrame:
    """Make a report on signatures, in any order."""
    report = pd.DataFrame({"signatures": list(counts.values()), "people": 1, "share": 0.5})
    return report.set_axis(pd.Index(list(counts), dtype=object, name=key))
