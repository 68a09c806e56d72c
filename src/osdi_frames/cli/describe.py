"""``osdi-frames describe``: the data dictionary."""

import click

from osdi_frames.cli.options import runs
from osdi_frames.tables import TABLES, describe
from osdi_frames.tables import markdown as dictionary
from osdi_frames.tables import table as declared


@runs("osdi-frames describe signatures")
@click.argument("table", required=False)
@click.option("--markdown", is_flag=True, help="As Markdown, with the paths in v2 and v1.")
def command(table: str | None, markdown: bool) -> None:
    """Show every table, or TABLE: its columns, their types and privacy classes, what they mean."""
    if markdown:
        click.echo(dictionary(table))
        return
    for name in [table] if table else TABLES:
        click.echo(f"{name}: {declared(name).meaning}")
        columns = describe(name)
        width = columns["column"].str.len().max()
        shown = columns[["column", "type", "meaning", "privacy"]]
        for column, kind, meaning, privacy in shown.itertuples(index=False):
            note = "" if privacy == "plain" else f" ({privacy})"
            click.echo(f"  {column:<{width}}  {kind:<12}  {meaning}{note}")
        click.echo()
