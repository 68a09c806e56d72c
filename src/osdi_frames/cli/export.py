"""``osdi-frames export``: tables to Parquet or CSV."""

import os
from pathlib import Path
from typing import Any

import click

from osdi_frames.cli.options import bom, natural, reading, runs, sources
from osdi_frames.messages import quoted_path
from osdi_frames.output.files import FORMATS
from osdi_frames.resolving.filters import Filtering
from osdi_frames.shortcuts import opened_for_export
from osdi_frames.tables import table as declared


def _key(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> bytes | None:
    """Read a key, of a text without the line end that editors and `openssl` write; warn if others can read it."""
    if path is None:
        return None
    if os.name == "posix" and path.stat().st_mode & 0o077:
        shown = quoted_path(path)
        click.echo(f"osdi-frames: warning: others can read {shown}; chmod 600 {shown}", err=True)
    key = path.read_bytes()
    return key.rstrip(b"\r\n") if key.isascii() else key


@runs("osdi-frames export data tables --table events --table signatures --partition-by month")
@sources
@click.argument("destination", type=click.Path(file_okay=False))
@click.option("--table", "tables", multiple=True, help="Only this table; repeat it for several.")
@click.option("--format", type=click.Choice(FORMATS), default="parquet")
@click.option("--partition-by", help="A column, or month: a folder for each value.")
@click.option(
    "--pseudonymize-key-file",
    "pseudonymize",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    callback=_key,
    help="Replace what identifies people by pseudonyms, with the key (32 bytes or more) in this file.",
)
@click.option("--drop", type=click.Choice(["identifying"]), help="Drop what identifies people instead.")
@click.option("--coordinate-decimals", default=1, type=natural, help="With both: decimals of a degree kept.")
@click.option("--postal-characters", default=3, type=natural, help="With both: characters of a code kept.")
@click.option("--overwrite", is_flag=True, help="Replace an earlier export; other files are never replaced.")
@click.option("--escape-formulas/--no-escape-formulas", default=True, help="CSV: an apostrophe before them.")
@bom
@reading
def command(source: tuple[str, ...], destination: str, tables: tuple[str, ...], **options: Any) -> None:
    """Write the tables of SOURCE into the folder DESTINATION: whole, or not at all."""
    archive, others = opened_for_export(list(source), options)
    counts = archive.export(destination, tables=tables or None, **others)
    for line in Filtering(archive.filters).lines(*(declared(name).element for name in counts)):
        click.echo(line)
    for name, rows in counts.items():
        click.echo(f"{name:<24}  {rows:>9,} {'row' if rows == 1 else 'rows'}")
    click.echo(f"written to {quoted_path(destination)}")
