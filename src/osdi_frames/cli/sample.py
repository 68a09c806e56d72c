"""`osdi-frames sample`: write an archive that looks real and is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from osdi_frames import sample
from osdi_frames.cli.options import natural, progress, runs
from osdi_frames.errors import counted


@runs("osdi-frames sample --signatures 200000 --events 5000 --seed 7 archive", "osdi-frames report archive")
@click.argument("destination", type=click.Path(path_type=Path))
@click.option("--signatures", type=natural, help="How many different signatures.  [default: 2000]")
@click.option("--events", type=natural, help="How many different events.  [default: 200]")
@click.option("--seed", default=7, help="The same seed makes the same bytes.")
@click.option("--one-file", is_flag=True, help="Write all deliveries into one file, a line each.")
@click.option("--showcase", is_flag=True, help="Write the small archive that shows every layout.")
@click.option("--overwrite", is_flag=True, help="Write into a folder that holds something.")
@progress
def command(
    destination: Path,
    *,
    signatures: int | None,
    events: int | None,
    one_file: bool,
    showcase: bool,
    progress: bool | None,
    **options: Any,
) -> None:
    """Write a realistic archive into the folder DESTINATION: events, signatures, and how they arrive in life."""
    if showcase:
        if signatures is not None or events is not None or one_file:
            raise click.UsageError("--showcase has a size and a layout of its own")
        sample.write_showcase(destination, **options)
    else:
        sample.write(
            destination,
            signatures=2000 if signatures is None else signatures,
            events=200 if events is None else events,
            one_file=one_file,
            progress=progress is not False,
            **options,
        )
    sizes = [path.stat().st_size for path in destination.rglob("*") if path.is_file()]
    click.echo(f"{destination}: {counted(len(sizes), 'file')}, {sum(sizes) / 1e6:.1f} MB")
