"""Twelve questions of campaign staff, each answered by three lines of code at most.

Each takes what an analyst has at hand: the archive, and its frames. Notebooks answer them with the same lines.
"""

import duckdb
import polars as pl

import osdi_frames as of


def sources_of_those_who_came(actions):
    return of.attribution(actions, to="attended", touch="last")


def rsvps_by_postal_code(attendances):
    return of.attendances_by(attendances, "location_postal_code")


def week_over_week_by_source(signatures):
    return of.compare(signatures, "7D")


def conversion_by_referrer(actions):
    return of.funnel(actions, ("signed", "rsvped"), within="365D", by="referrer")


def no_shows(attendances):
    counted = attendances[attendances.excluded.isna()]
    checked = counted[counted.event_id.isin(counted.event_id[counted.attended])]
    return checked[~checked.attended]


def people_who_attended_more_than_once(actions):
    return of.repeats(actions[actions.action == "attended"])


def days_from_signing_to_rsvp(actions):
    counted = actions[actions.excluded.isna()]
    first = counted.pivot_table(index="person_id", columns="action", values="date", aggfunc="min")
    return (first.rsvped - first.signed)[first.signed <= first.rsvped].dt.days


def hours_of_the_week(signatures):
    return of.weekday_hours(of.utc_to_local(signatures, timezone="America/New_York"))


def map_of_signatures(signatures):
    return of.plots.signature_map(signatures)


def rsvps_and_signatures_by_region(events, signatures):
    rsvps, signed = of.rsvps_by_region(events), of.signatures_by_region(signatures)
    both = rsvps[["events", "rsvps"]].join(signed[["signatures", "people"]], how="outer")
    return both.fillna(0).astype(int)


def two_campaigns_side_by_side(events, campaigns, chosen):
    return of.rsvps_by_campaign(events, campaigns).loc[chosen].set_index("title").T


def in_excel_polars_and_duckdb(archive, report, path):
    of.write_excel(report, path)
    frame = pl.from_arrow(archive.scan("actions"))
    return duckdb.from_arrow(frame).filter("excluded IS NULL").aggregate("action, count(*) AS acts")
