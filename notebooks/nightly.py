"""Pull what changed (all of it once a week, and after fewer records remained), report what is new: for every night.

    OSDI_API_KEY=…
    10 4 * * *  /srv/osdi/.venv/bin/python /srv/osdi/nightly.py https://example.org/api/v2 /srv/osdi

That is a line for cron, which mails what is printed; nightly.timer and Dockerfile are for systemd and containers. What
a receiver has kept in the folder `received` is reported, too. It ends with 0 when everything came. Else it ends with 1
and says why, the report of the night before stays as it is, and the next run reads what is missing.
"""

import argparse
from datetime import UTC, datetime, timedelta
from pathlib import Path

import osdi_frames as of

COLLECTIONS = ["events", "event_campaigns", "petitions", "signatures", "attendances", "people"]


def nightly(address: str, folder: Path) -> None:
    pulled, received = folder / "archive", folder / "received"
    pulls, week_ago = of.manifests(pulled), datetime.now(UTC) - timedelta(days=7)
    is_due = not any(pull.is_full and pull.complete and pull.started_at > week_ago for pull in pulls)
    since = None if is_due or pulls[-1].fewer_records else "last"
    with of.Client(address) as client:
        manifest = client.pull(pulled, collections=COLLECTIONS, since=since)
    if not manifest.complete:
        raise of.OsdiError(manifest.why)
    archive = of.open([pulled, received] if received.exists() else pulled, store=folder / "store")
    made = archive.write_report(folder / "report", formats=["csv", "parquet", "xlsx"])
    archive.export(folder / "tables", overwrite=True)
    print(made, *[made.text(name) for name in ("changes", "news") if name in made], sep="\n\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Pull what changed, report and export.")
    parser.add_argument("address", help="the service, as https://example.org/api/v2")
    parser.add_argument("folder", help="where archive, report and tables are kept", type=Path)
    try:
        nightly(**vars(parser.parse_args()))
    except (of.OsdiError, OSError) as error:
        parser.exit(1, f"nightly: {error}\n")
