"""OSDI event collections and signature webhooks as typed DataFrames, reports and Parquet."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from osdi_frames.collector import without_collector
from osdi_frames.errors import no_attribute
from osdi_frames.messages import quoted

if TYPE_CHECKING:
    from osdi_frames import errors as errors
    from osdi_frames import plots as plots
    from osdi_frames import reports as reports
    from osdi_frames.archive import Archive as Archive
    from osdi_frames.client.client import Client as Client
    from osdi_frames.errors import (
        OsdiError as OsdiError,
    )
    from osdi_frames.errors import (
        ProblemsWarning as ProblemsWarning,
    )
    from osdi_frames.errors import (
        ServiceWarning as ServiceWarning,
    )
    from osdi_frames.errors import (
        SourceWarning as SourceWarning,
    )
    from osdi_frames.excel import write_excel as write_excel
    from osdi_frames.local_time import local_to_utc as local_to_utc
    from osdi_frames.local_time import utc_to_local as utc_to_local
    from osdi_frames.output.files import write_csv as write_csv
    from osdi_frames.privacy import pseudonymize as pseudonymize
    from osdi_frames.pulls import Manifest as Manifest
    from osdi_frames.pulls import manifests as manifests
    from osdi_frames.reports.attendances import (
        attendances_by as attendances_by,
    )
    from osdi_frames.reports.attendances import (
        attendances_by_campaign as attendances_by_campaign,
    )
    from osdi_frames.reports.attendances import (
        attendances_by_month as attendances_by_month,
    )
    from osdi_frames.reports.attendances import (
        attendances_by_referrer as attendances_by_referrer,
    )
    from osdi_frames.reports.attendances import (
        attendances_by_region as attendances_by_region,
    )
    from osdi_frames.reports.attendances import (
        attendances_by_source as attendances_by_source,
    )
    from osdi_frames.reports.attendances import (
        attendances_over_time as attendances_over_time,
    )
    from osdi_frames.reports.change import activity as activity
    from osdi_frames.reports.change import changes as changes
    from osdi_frames.reports.change import compare as compare
    from osdi_frames.reports.conversion import attribution as attribution
    from osdi_frames.reports.conversion import funnel as funnel
    from osdi_frames.reports.conversion import growth as growth
    from osdi_frames.reports.goals import goals as goals
    from osdi_frames.reports.hours import weekday_hours as weekday_hours
    from osdi_frames.reports.participation import (
        acts_by as acts_by,
    )
    from osdi_frames.reports.participation import (
        amounts_by as amounts_by,
    )
    from osdi_frames.reports.participation import (
        engagement as engagement,
    )
    from osdi_frames.reports.participation import (
        repeats as repeats,
    )
    from osdi_frames.reports.participation import (
        retention as retention,
    )
    from osdi_frames.reports.rsvps import (
        rsvps_by as rsvps_by,
    )
    from osdi_frames.reports.rsvps import (
        rsvps_by_campaign as rsvps_by_campaign,
    )
    from osdi_frames.reports.rsvps import (
        rsvps_by_month as rsvps_by_month,
    )
    from osdi_frames.reports.rsvps import (
        rsvps_by_pull as rsvps_by_pull,
    )
    from osdi_frames.reports.rsvps import (
        rsvps_by_region as rsvps_by_region,
    )
    from osdi_frames.reports.rsvps import (
        rsvps_over_time as rsvps_over_time,
    )
    from osdi_frames.reports.signatures import (
        signatures_by as signatures_by,
    )
    from osdi_frames.reports.signatures import (
        signatures_by_month as signatures_by_month,
    )
    from osdi_frames.reports.signatures import (
        signatures_by_petition as signatures_by_petition,
    )
    from osdi_frames.reports.signatures import (
        signatures_by_referrer as signatures_by_referrer,
    )
    from osdi_frames.reports.signatures import (
        signatures_by_region as signatures_by_region,
    )
    from osdi_frames.reports.signatures import (
        signatures_by_source as signatures_by_source,
    )
    from osdi_frames.reports.signatures import (
        signatures_by_website as signatures_by_website,
    )
    from osdi_frames.reports.signatures import (
        signatures_over_time as signatures_over_time,
    )
    from osdi_frames.reports.supporters import Levels as Levels
    from osdi_frames.reports.supporters import hosts as hosts
    from osdi_frames.reports.supporters import people_by_level as people_by_level
    from osdi_frames.reports.supporters import supporter_amounts as supporter_amounts
    from osdi_frames.reports.supporters import supporters as supporters
    from osdi_frames.reports.upcoming import upcoming as upcoming
    from osdi_frames.shared_people import overlap as overlap
    from osdi_frames.shortcuts import (
        check as check,
    )
    from osdi_frames.shortcuts import (
        export as export,
    )
    from osdi_frames.shortcuts import (
        open as open,
    )
    from osdi_frames.shortcuts import (
        read_events as read_events,
    )
    from osdi_frames.shortcuts import (
        read_signatures as read_signatures,
    )
    from osdi_frames.shortcuts import (
        read_table as read_table,
    )
    from osdi_frames.shortcuts import (
        report as report,
    )
    from osdi_frames.shortcuts import (
        write_report as write_report,
    )
    from osdi_frames.sources.limits import Limits as Limits
    from osdi_frames.tables.dictionary import describe as describe

    __version__: str

#: The module of each public name; it is imported when the name is first asked for, so that what is not used
#: costs nothing: `osdi-frames --help` needs no pandas, and who reads archives neither HTTP nor plots.
_HOMES = {
    "sources.limits": ("Limits",),
    "client.client": ("Client",),
    "pulls": ("Manifest", "manifests"),
    "errors": ("OsdiError", "ProblemsWarning", "ServiceWarning", "SourceWarning"),
    "excel": ("write_excel",),
    "output.files": ("write_csv",),
    "archive": ("Archive",),
    "local_time": ("local_to_utc", "utc_to_local"),
    "privacy": ("pseudonymize",),
    "reports.upcoming": ("upcoming",),
    "reports.attendances": (
        "attendances_by",
        "attendances_by_campaign",
        "attendances_by_month",
        "attendances_by_referrer",
        "attendances_by_region",
        "attendances_by_source",
        "attendances_over_time",
    ),
    "reports.change": ("activity", "changes", "compare"),
    "reports.conversion": ("attribution", "funnel", "growth"),
    "reports.goals": ("goals",),
    "reports.hours": ("weekday_hours",),
    "reports.participation": ("acts_by", "amounts_by", "engagement", "repeats", "retention"),
    "reports.rsvps": (
        "rsvps_by",
        "rsvps_by_campaign",
        "rsvps_by_month",
        "rsvps_by_pull",
        "rsvps_by_region",
        "rsvps_over_time",
    ),
    "reports.supporters": ("Levels", "hosts", "people_by_level", "supporter_amounts", "supporters"),
    "reports.signatures": (
        "signatures_by",
        "signatures_by_month",
        "signatures_by_petition",
        "signatures_by_referrer",
        "signatures_by_region",
        "signatures_by_source",
        "signatures_by_website",
        "signatures_over_time",
    ),
    "shared_people": ("overlap",),
    "shortcuts": (
        "check",
        "export",
        "open",
        "read_events",
        "read_signatures",
        "read_table",
        "report",
        "write_report",
    ),
    "tables.dictionary": ("describe",),
}
_MODULES = ("errors", "plots", "receiver", "reports", "sandbox")
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def __dir__() -> list[str]:
    return sorted([*_HOME_OF, "plots"])


def __getattr__(name: str) -> Any:
    """Import the module of a public name, and return what it names."""
    if name in _HOME_OF:
        with without_collector():
            value = globals()[name] = getattr(import_module(f"osdi_frames.{_HOME_OF[name]}"), name)
        return value
    if name in _MODULES:
        return import_module(f"osdi_frames.{name}")
    if name == "__version__":
        from importlib.metadata import version  # takes a tenth of the import of pandas

        return version("osdi-frames")
    if name == "__all__":
        return __dir__()
    raise no_attribute(f"module {quoted(__name__)}", name, __dir__())
