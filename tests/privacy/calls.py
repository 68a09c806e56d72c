"""Each public function with a call that is right: what it needs is read when this is imported."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import osdi_frames as of
from osdi_frames import receiver, sample, sandbox
from tests import acts

from .said import EVENT, events

EVENTS = events()
SIGNATURES = of.read_signatures([[{"osdi:signature": {"comments": "hi"}}]])
ARCHIVE = of.open(EVENT)
ACTS = acts.frame(
    [
        {
            "person_id": "p",
            "date": datetime(2026, 5, 1, tzinfo=UTC),
            "action": "signed",
            "subject_id": "march",
            "source": "email",
            "referrer": None,
            "number": 1,
            "excluded": None,
        }
    ]
)
REPORT = of.rsvps_by_campaign(EVENTS)
FILTERS = dict.fromkeys(("since", "until", "petition", "campaign", "status"))
SETTINGS = {"prefix": None, "on_error": "raise", "limits": None, "progress": None}
OPTIONS = {"reports": [], "show_addresses": False, "min_count": None, "include": (), "exclude_sources": ()}
EXPORT = {"destination": "out", "tables": ["events"], "format": "csv", "partition_by": None, "dedupe": True}
PRIVACY = {"pseudonymize": None, "drop": None, "coordinate_decimals": 1, "postal_characters": 3}
SERVICE = {"base_url": "http://127.0.0.1:9/api/v2", "api_key": "key"}

#: Each public function with a call that is right; what a function hands on to a method of the handle is tried there.
#: Those of reports and plots are made in one place each.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "open": (lambda **given: of.open(**given).check(), {"source": EVENT, **SETTINGS}),
    "check": (of.check, {"source": EVENT}),
    "describe": (of.describe, {}),
    "export": (of.export, {"source": EVENT, **EXPORT, "since": None}),
    "read_events": (of.read_events, {"source": EVENT}),
    "read_signatures": (of.read_signatures, {"source": EVENT}),
    "read_table": (of.read_table, {"source": EVENT, "table": "events"}),
    "report": (of.report, {"source": EVENT, "reports": [], **FILTERS}),
    "write_report": (of.write_report, {"source": EVENT, "destination": "report", "reports": []}),
    "Archive.donations": (ARCHIVE.donations, {}),
    "Archive.check": (ARCHIVE.check, {}),
    "Archive.dask": (of.open("a.json").dask, {"name": "events"}),
    "Archive.export": (ARCHIVE.export, {"engine": None, **EXPORT, **PRIVACY}),
    "Archive.partitions": (of.open("a.json").partitions, {}),
    "Archive.report": (ARCHIVE.report, OPTIONS),
    "Archive.scan": (ARCHIVE.scan, {"name": "events"}),
    "Archive.table": (ARCHIVE.table, {"name": "events"}),
    "Archive.supporter_amounts": (ARCHIVE.supporter_amounts, {"as_of": "2026-05-31"}),
    "Archive.supporters": (ARCHIVE.supporters, {"as_of": "2026-05-31"}),
    "Archive.tables": (ARCHIVE.tables, {"names": ["events"]}),
    "Archive.where": (lambda **given: ARCHIVE.where(**given).events(), FILTERS),
    "Archive.write_report": (ARCHIVE.write_report, {"destination": "report", **OPTIONS}),
    "Client": (of.Client, SERVICE),
    "Limits": (of.Limits, {}),
    "local_to_utc": (of.local_to_utc, {"events": EVENTS}),
    "manifests": (of.manifests, {"source": "pulled"}),
    "overlap": (of.overlap, {"a": SIGNATURES, "b": SIGNATURES, "by": "email", "min_count": 5}),
    "pseudonymize": (of.pseudonymize, {"frame": EVENTS, "key": b"k" * 32}),
    "write_csv": (of.write_csv, {"frame": EVENTS, "path": "a.csv"}),
    "write_excel": (of.write_excel, {"frame": EVENTS, "path": "a.xlsx"}),
    "rsvps_by": (of.rsvps_by, {"events": EVENTS, "by": "title"}),
    "rsvps_over_time": (of.rsvps_over_time, {"events": EVENTS, "by": "title"}),
    "rsvps_by_campaign": (of.rsvps_by_campaign, {"events": EVENTS}),
    "rsvps_by_pull": (of.rsvps_by_pull, {"events": EVENTS}),
    "signatures_by_petition": (of.signatures_by_petition, {"signatures": SIGNATURES}),
    "signatures_over_time": (of.signatures_over_time, {"signatures": SIGNATURES}),
    "engagement": (of.engagement, {"actions": ACTS, "freq": "M"}),
    "retention": (of.retention, {"actions": ACTS, "until": "2026-05-31"}),
    "repeats": (of.repeats, {"actions": ACTS}),
    "hosts": (of.hosts, {"actions": ACTS}),
    "funnel": (of.funnel, {"actions": ACTS, "steps": ["signed", "rsvped"], "within": "30D"}),
    "attribution": (of.attribution, {"actions": ACTS, "to": "signed", "touch": "both"}),
    "growth": (of.growth, {"actions": ACTS, "by": "source", "freq": "M"}),
    "Levels": (of.Levels, {"rules": {1: {"acts": 1}}, "months": 6}),
    "supporters": (of.supporters, {"actions": ACTS, "as_of": "2026-05-31"}),
    "supporter_amounts": (of.supporter_amounts, {"actions": ACTS, "as_of": "2026-05-31"}),
    "people_by_level": (of.people_by_level, {"actions": ACTS, "before": "2026-05-01", "as_of": "2026-05-31"}),
    "acts_by": (of.acts_by, {"actions": ACTS, "by": "source"}),
    "amounts_by": (of.amounts_by, {"frame": ACTS, "by": "source"}),
    "upcoming": (of.upcoming, {"events": EVENTS, "days": 14, "now": "2026-05-31"}),
    "utc_to_local": (of.utc_to_local, {"frame": ACTS, "timezone": "UTC"}),
    "weekday_hours": (of.weekday_hours, {"frame": EVENTS}),
    "compare": (of.compare, {"frame": ACTS, "period": "7D", "until": "2026-05-31"}),
    "activity": (of.activity, {"actions": ACTS, "period": "7D", "count": 3, "until": "2026-05-31"}),
    "changes": (of.changes, {"actions": ACTS, "period": "7D", "until": "2026-05-31"}),
    "goals": (of.goals, {"signatures": SIGNATURES, "goals": {"p": 3}, "until": "2026-05-31"}),
    "plots.rsvps_by_campaign": (of.plots.rsvps_by_campaign, {"report": REPORT}),
    "plots.engagement": (of.plots.engagement, {"report": of.engagement(ACTS)}),
    "plots.retention": (of.plots.retention, {"report": of.retention(ACTS)}),
    "plots.repeats": (of.plots.repeats, {"report": of.repeats(ACTS), "top": 2}),
    "plots.hosts": (of.plots.hosts, {"report": of.hosts(ACTS), "top": 2}),
    "plots.funnel": (of.plots.funnel, {"report": of.funnel(ACTS), "top": 2}),
    "plots.attribution": (of.plots.attribution, {"report": of.attribution(ACTS, "signed"), "top": 2}),
    "plots.growth": (of.plots.growth, {"report": of.growth(ACTS), "top": 2}),
    "plots.activity": (of.plots.activity, {"report": of.activity(ACTS)}),
    "plots.compare": (of.plots.compare, {"report": of.compare(ACTS), "top": 2}),
    "plots.goals": (of.plots.goals, {"report": of.goals(SIGNATURES, {}), "top": 2}),
    "plots.weekday_hours": (of.plots.weekday_hours, {"report": of.weekday_hours(EVENTS)}),
    "plots.event_map": (of.plots.event_map, {"events": EVENTS}),
    "plots.signature_map": (of.plots.signature_map, {"signatures": EVENTS, "decimals": 1}),
    "reports.Report": (of.reports.Report, {}),
    "reports.suppress": (of.reports.suppress, {"report": REPORT, "below": 3}),
    "receiver.create_app": (receiver.create_app, {"archive": "received", "tokens": ["t" * 32]}),
    "receiver.erase": (receiver.erase, {"archive": "received", "persons": ["p"]}),
    "receiver.requeue": (receiver.requeue, {"archive": "received"}),
    "receiver.verify": (receiver.verify, {"archive": "received"}),
    "sandbox.create_app": (sandbox.create_app, {}),
    "sample.write": (sample.write, {"destination": "made", "signatures": 1, "events": 1}),
}
