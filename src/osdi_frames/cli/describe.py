"""``osdi-frames describe``: the data dictionary."""

import click

from osdi_frames.cli.options import runs, with_options
from osdi_frames.tables.dictionary import describe, markdown


@runs("osdi-frames describe signatures")
@click.argument("table", required=False)
@click.option("--all", "every", is_flag=True, help="The columns of every table.")
@click.option("--markdown", "as_markdown", is_flag=True, help="As Markdown, with the paths in v2 and v1.")
def command(table: str | None, *, every: bool, as_markdown: bool) -> None:
    """Show the tables, or of TABLE the columns: what they mean, their types but text, their privacy classes."""
    click.echo(markdown(table) if as_markdown else with_options(describe(table).text(all=every)))
