"""Pull what changed (all of it once a week, and after fewer records remained), report, export: for cron.

    OSDI_API_KEY=…
    10 4 * * *  /srv/osdi/.venv/bin/python /srv/osdi/nightly.py https://example.org/api/v2 /srv/osdi

It ends with 0 when everything came. Else it ends with 1 and says why, the reports of the night before stay as they
are, and the next run reads what is missing.
"""

import argparse
from datetime import UTC, datetime, timedelta
from pathlib import Path

import osdi_frames as of


def nightly(address: str, folder: Path) -> None:
    pulled = folder / "archive"
    pulls, week_ago = of.manifests(pulled), datetime.now(UTC) - timedelta(days=7)
    is_due = not any(pull.is_full and pull.complete and pull.started_at > week_ago for pull in pulls)
    with of.Client(address) as client:
        manifest = client.pull(pulled, since=None if is_due or pulls[-1].fewer_records else "last")
    if not manifest.complete:
        raise of.OsdiError(manifest.why)
    archive = of.open(pulled)
    events = archive.events()
    for report in (of.rsvps_by_campaign(events, archive.campaigns()), of.rsvps_by(events, "location_region")):
        of.write_csv(report, folder / f"rsvps_by_{report.index.name}.csv")
    archive.export(folder / "tables", tables=["events"], overwrite=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Pull what changed, report and export.")
    parser.add_argument("address", help="the service, as https://example.org/api/v2")
    parser.add_argument("folder", help="where archive, reports and tables are kept", type=Path)
    try:
        nightly(**vars(parser.parse_args()))
    except (of.OsdiError, OSError) as error:
        parser.exit(1, f"nightly: {error}\n")
