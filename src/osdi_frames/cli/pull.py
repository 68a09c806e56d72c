"""`osdi-frames pull`: a service's events into an archive."""

from pathlib import Path
from typing import Any

import click

from osdi_frames.cli.options import as_json, positive, prefix, print_json, progress, runs
from osdi_frames.client.client import Client
from osdi_frames.client.collections import COLLECTION_NAMES
from osdi_frames.client.proof import MAX_PAGES
from osdi_frames.errors import IncompletePull
from osdi_frames.messages import printable, quoted_path


@runs("OSDI_API_KEY=… osdi-frames pull https://example.org/api/v2 archive --with attendances --since last")
@click.argument("url")
@click.argument("destination", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--with",
    "collections",
    multiple=True,
    type=click.Choice(COLLECTION_NAMES),
    help="Read this, too, with what it belongs to (signatures: petitions); repeat it for several.",
)
@click.option(
    "--campaign",
    "campaigns",
    multiple=True,
    metavar="ID",
    help="Only events of this campaign; repeat it for several.",
)
@click.option("--since", metavar="TIME", help="Only what changed since a time, or since the 'last' pull.")
@click.option("--full", is_flag=True, help="Read everything, whatever --since says: it finds what is gone.")
@click.option("--rate", default=4, type=positive, help="Requests a second.")
@click.option("--max-pages", default=MAX_PAGES, type=positive, help="Pages of one collection, at most.")
@click.option("--version", type=click.Choice(["v1", "v2"]), help="Where URL does not end in it.")
@prefix
@click.option("--resume/--no-resume", default=True, help="Go on with a pull that is not complete, or anew.")
@click.option("--allow-http", is_flag=True, help="Send the key in clear to another machine.")
@as_json
@progress
def command(
    url: str, destination: Path, *, collections: tuple[str, ...], as_json: bool, **options: Any
) -> None:
    """Read the events at URL into the folder DESTINATION.

    It reads every page, of other collections too (--with), and says whether that is all.

    The key is read from OSDI_API_KEY. Called again after it was stopped, it reads what is missing.
    Status 0: complete. Status 1: not complete, and why.
    """
    of_pull = {name: options.pop(name) for name in ("since", "resume", "progress")}
    if options.pop("full"):
        of_pull["since"] = None
    of_pull["campaigns"] = options.pop("campaigns") or None
    with Client(url, **options) as client:
        manifest = client.pull(destination, collections=dict.fromkeys(("events", *collections)), **of_pull)
    if as_json:
        print_json({"folder": str(manifest.folder)} | manifest.as_json())
    else:
        for line in str(manifest).split("\n"):
            click.echo(printable(line))
    if not manifest.complete:
        raise IncompletePull(f"{quoted_path(manifest.folder)} is not complete; pull again to go on")
