"""`osdi-frames sample`: write an archive that looks real and is not."""

from pathlib import Path
from typing import Any

import click

from osdi_frames import sample
from osdi_frames.cli.options import natural, progress, runs
from osdi_frames.messages import counted, quoted_path


@runs("osdi-frames sample --signatures 200000 --events 5000 --seed 7 archive", "osdi-frames report archive")
@click.argument("destination", type=click.Path(path_type=Path))
@click.option("--signatures", type=natural, default=2000, help="How many different signatures.")
@click.option("--events", type=natural, default=200, help="How many different events.")
@click.option("--seed", default=7, help="The same seed makes the same bytes.")
@click.option("--overwrite", is_flag=True, help="Replace an earlier sample.")
@progress
def command(destination: Path, **options: Any) -> None:
    """Write a realistic archive into the folder DESTINATION: events, signatures, and how they arrive in life."""
    sample.write(destination, **options)
    sizes = [path.stat().st_size for path in destination.rglob("*.ndjson")]
    click.echo(f"{quoted_path(destination)}: {counted(len(sizes), 'file')}, {sum(sizes) / 1e6:.1f} MB")
