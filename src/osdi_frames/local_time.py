"""The wall clock at a place, as UTC and from it (extra ``geo``)."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Final

import numpy as np
import pandas as pd

from osdi_frames.clock import zone_of
from osdi_frames.errors import MissingExtra, UnknownValue
from osdi_frames.frames import as_frame
from osdi_frames.reports.columns import LOCAL, UTC, Convert, convert_columns, local, utc

#: What marks a time whose place is only known to be in a country.
VAGUE: Final = "place"
#: The places within a country that events and people name.
_SMALLER: Final = ("location_locality", "location_region", "location_postal_code")
#: The times that are a datetime in every zone. A placeholder such as 9999-12-31 may be one in none.
_FIRST, _LAST = pd.Timestamp("0001-01-02"), pd.Timestamp("9999-12-30")


def local_to_utc(events: pd.DataFrame, *, timezone: str | None = None) -> pd.DataFrame:
    """Add the start and end of events in UTC.

    The time zone is the one that an event names in its column `timezone`, else that at its coordinates. Approximate
    coordinates without a locality, region or postal code are those of the middle of a country, as of an event that is
    only online: they have no zone.

    `start_date` and `end_date` are the wall clock at the place (interface 2.1). A wall clock that is put
    forward skips times, and one that is put back shows times twice: such a time is no single moment, so
    it is left missing and marked, never guessed.

    Parameters
    ----------
    events
        one row per event, with start_date, end_date, location_latitude and location_longitude (degrees,
        WGS 84; interface 2.2); where it has them, timezone, location_accuracy, location_locality, location_region
        and location_postal_code are read, too
    timezone
        the IANA name of the zone of events without one

    Returns
    -------
    DataFrame
        a copy, with the same rows and index, and these columns at its end:

        - timezone: IANA name; missing where neither the event names one, nor its place has one, and `timezone` is
          not given. At sea, so also at 0, 0, it is nautical: Etc/GMT+5 is five hours *behind* UTC
        - start_utc, end_utc: ``datetime64[us, UTC]``; missing without a zone or a time, where marked, and
          for the first and last day of the calendar (9999-12-31)
        - start_ambiguity, end_ambiguity: ``gap`` where the clock skips the time, ``fold`` where it shows it twice,
          ``place`` where the coordinates are only those of a country and nothing else says the zone, else missing

    Raises
    ------
    MissingExtra
        the extra ``geo`` is not installed
    MissingColumn
        the frame lacks one of the four columns
    InvalidColumn
        one of them has a value that is neither a time nor a number
    UnknownValue
        there is no such time zone

    Notes
    -----
    To settle what is marked, ask who made the event, or take the later of a fold and the end of a gap:
    ``row.start_date.tz_localize(row.timezone, ambiguous=False, nonexistent="shift_forward")``.

    Examples
    --------
    >>> import osdi_frames as of
    >>> oakland = {"location": {"latitude": 37.8, "longitude": -122.27}}
    >>> events = of.read_events([
    ...     {"title": "March", "start_date": "2026-05-01T18:00:00Z", "location": oakland},
    ...     {"title": "Vigil", "start_date": "2026-11-01T01:30:00Z", "location": oakland},
    ... ])
    >>> local_to_utc(events)[["timezone", "start_utc", "start_ambiguity"]]
                  timezone                 start_utc start_ambiguity
    0  America/Los_Angeles 2026-05-02 01:00:00+00:00             NaN
    1  America/Los_Angeles                       NaT            fold
    """
    events = as_frame(events, caller="local_to_utc")
    needed = convert_columns(events, _NEEDS, report="local_to_utc")
    zones, is_vague = _zones_of(events, needed, timezone)
    start_utc, start_ambiguity = _moments(needed["start_date"], zones)
    end_utc, end_ambiguity = _moments(needed["end_date"], zones)
    start_ambiguity = start_ambiguity.mask(is_vague & needed["start_date"].notna(), VAGUE)
    end_ambiguity = end_ambiguity.mask(is_vague & needed["end_date"].notna(), VAGUE)
    # Arrays, not Series: the frame may have any index.
    return events.assign(
        timezone=zones.array,
        start_utc=start_utc.array,
        end_utc=end_utc.array,
        start_ambiguity=start_ambiguity.array,
        end_ambiguity=end_ambiguity.array,
    )


def utc_to_local(frame: pd.DataFrame, *, timezone: str | None = None) -> pd.DataFrame:
    """Add the wall clock at each row's place.

    The time in UTC is `date` (acts), or else `created_date` (signatures, attendances); the time zone is that at the
    coordinates, as of `local_to_utc`. Each moment has one wall clock, so nothing is a gap; a wall clock that is put
    back shows some times twice, and these are marked.

    Parameters
    ----------
    frame
        one row per act, signature or attendance, with date or created_date, and location_latitude and
        location_longitude (degrees, WGS 84)
    timezone
        the IANA name of the zone of rows without a place; with it a frame needs no coordinates

    Returns
    -------
    DataFrame
        a copy, with the same rows and index, and these columns at its end:

        - timezone: IANA name; missing where there are no coordinates, or impossible ones, and no zone was given
        - local_time: ``datetime64[us]``, the wall clock; missing without a zone or a time, and for the first and last
          day of the calendar
        - local_ambiguity: ``fold`` where the clock shows the time twice, ``place`` where the coordinates are only those
          of a country, else missing

    Raises
    ------
    MissingExtra
        the extra ``geo`` is not installed
    MissingColumn
        the frame lacks a time, or the coordinates
    InvalidColumn
        one of them has a value that is neither a time nor a number
    UnknownValue
        there is no such time zone

    Examples
    --------
    >>> signatures = pd.DataFrame({
    ...     "created_date": pd.to_datetime(["2026-05-02T01:00Z", "2026-11-01T09:30Z"]),
    ...     "location_latitude": [37.8, None],
    ...     "location_longitude": [-122.27, None],
    ... })
    >>> utc_to_local(signatures, timezone="America/Los_Angeles")[["timezone", "local_time", "local_ambiguity"]]
                  timezone          local_time local_ambiguity
    0  America/Los_Angeles 2026-05-01 18:00:00             NaN
    1  America/Los_Angeles 2026-11-01 01:30:00            fold
    """
    frame = as_frame(frame, caller="utc_to_local", example="osdi_frames.read_signatures(source)")
    column = "date" if "date" in frame.columns else "created_date"
    is_placed = timezone is None or {*_COORDINATES} <= {*frame.columns}
    needed = convert_columns(
        frame, {column: utc, **(_COORDINATES if is_placed else {})}, report="utc_to_local"
    )
    zones, is_vague = _zones_of(frame, needed, timezone)
    clock, ambiguity = _wall_clocks(needed[column], zones)
    ambiguity = ambiguity.mask(is_vague & needed[column].notna(), VAGUE)
    return frame.assign(timezone=zones.array, local_time=clock.array, local_ambiguity=ambiguity.array)


def _degrees(column: pd.Series) -> pd.Series:
    return pd.to_numeric(column).astype("float64")


_COORDINATES: Final[Mapping[str, Convert]] = {"location_latitude": _degrees, "location_longitude": _degrees}
_NEEDS: Final[Mapping[str, Convert]] = {"start_date": local, "end_date": local, **_COORDINATES}


def _known(timezone: str) -> str:
    """Return a time zone's name, if there is such a zone."""
    return str(zone_of(timezone))


def _zones_of(frame: pd.DataFrame, needed: pd.DataFrame, timezone: str | None) -> tuple[pd.Series, pd.Series]:
    """Return the zone of each row, and where it is missing because its coordinates are those of a country."""
    zones, is_vague = pd.Series(None, index=needed.index, dtype="str"), pd.Series(False, index=needed.index)
    if "timezone" in frame.columns:
        zones = _named(frame["timezone"].reset_index(drop=True))
    if {*_COORDINATES} <= {*needed.columns}:
        is_vague = _of_a_country(frame)
        placed = needed.loc[zones.isna() & ~is_vague, [*_COORDINATES]]
        zones = zones.fillna(_zones(*(placed[name] for name in _COORDINATES)))
    if timezone is not None:
        zones = zones.fillna(_known(timezone))
    return zones, is_vague & zones.isna()


def _named(names: pd.Series) -> pd.Series:
    """Return the names of time zones; others are missing."""
    texts = names.astype("str").str.strip()
    known = {}
    for name in texts.dropna().unique():
        with contextlib.suppress(UnknownValue):
            known[name] = _known(name)
    return texts.map(known).astype("str")


def _of_a_country(frame: pd.DataFrame) -> pd.Series:
    """Return which coordinates are approximate, and no smaller place than a country is known."""
    rows = frame.reset_index(drop=True)
    smaller = [rows[name] for name in _SMALLER if name in rows.columns]
    if "location_accuracy" not in rows.columns or not smaller:
        return pd.Series(False, index=rows.index)
    is_known = [names.astype("str").str.strip().fillna("") != "" for names in smaller]
    approximate = rows["location_accuracy"].astype("str").str.casefold() == "approximate"
    return pd.Series(approximate.to_numpy(bool) & ~np.logical_or.reduce(is_known), rows.index)


def _zones(latitude: pd.Series, longitude: pd.Series) -> pd.Series:
    """Name the time zone of each place."""
    try:
        from tzfpy import get_tz
    except ImportError as error:
        raise MissingExtra.named("geo") from error
    on_earth = latitude.between(-90, 90) & longitude.between(-180, 180)
    names = [get_tz(*place) or None for place in zip(longitude[on_earth], latitude[on_earth], strict=True)]
    return pd.Series(names, index=latitude.index[on_earth], dtype="str").reindex(latitude.index)


def _moments(clock: pd.Series, zones: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Return each wall clock's moment, or why none."""
    moments = pd.Series(pd.NaT, index=clock.index, dtype=UTC)
    doubts = pd.Series(None, index=clock.index, dtype="str")
    known = clock[clock.between(_FIRST, _LAST)]
    for zone, times in known.groupby(zones[known.index]):
        certain = times.dt.tz_localize(zone, ambiguous="NaT", nonexistent="NaT")
        moments[times.index] = certain.dt.tz_convert("UTC")
        doubtful = times[certain.isna()]
        first = doubtful.dt.tz_localize(zone, ambiguous=np.ones(len(doubtful), bool), nonexistent="NaT")
        doubts[doubtful.index] = np.where(first.isna(), "gap", "fold")
    return moments, doubts


def _wall_clocks(moments: pd.Series, zones: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Return each moment's wall clock, and which are ambiguous."""
    clock = pd.Series(pd.NaT, index=moments.index, dtype=LOCAL)
    ambiguity = pd.Series(None, index=moments.index, dtype="str")
    known = moments[moments.between(_FIRST.tz_localize("UTC"), _LAST.tz_localize("UTC"))]
    for zone, times in known.groupby(zones[known.index]):
        shown = times.dt.tz_convert(zone).dt.tz_localize(None)
        clock[times.index] = shown
        twice = shown[shown.dt.tz_localize(zone, ambiguous="NaT").isna()]
        ambiguity[twice.index] = "fold"
    return clock, ambiguity
