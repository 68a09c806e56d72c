"""``osdi-frames sandbox``: the whole interface, served on this machine."""

from pathlib import Path
from typing import Any

import click

from osdi_frames.cli.options import listed, port, runs
from osdi_frames.messages import quoted_path


def _seconds(_context: click.Context, _parameter: click.Parameter, value: str) -> list[float]:
    parts = value.split(",")
    if not all(part.replace(".", "", 1).isdecimal() for part in parts):
        raise click.BadParameter("seconds with commas between them, as in 300,900,2400")
    return [float(part) for part in parts]


def _prefix(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not (value.isascii() and value.isidentifier()):
        raise click.BadParameter("a word, as in platform or action_network")
    return value


@runs(
    "osdi-frames sandbox --demo --db sandbox.db",
    "curl -H 'OSDI-API-Token: sandbox-group-key' http://127.0.0.1:8700/api/v2/events",
)
@click.option("--db", type=click.Path(path_type=Path, dir_okay=False), help="Keep all in this SQLite file.")
@port(8700)
@click.option("--demo", is_flag=True, help="Fill an empty sandbox with events, petitions, people and more.")
@click.option("--prefix", default="platform", callback=_prefix, help="The service's own prefix.")
@click.option(
    "--retry-after", default="300,900,2400", callback=_seconds, help="Seconds before webhook retries."
)
@click.option(
    "--lenient", is_flag=True, help="Take what other clients send: forms, no origin_system, petitions."
)
@click.option(
    "--allow-webhook-hosts",
    "webhook_hosts",
    callback=listed,
    multiple=True,
    metavar="HOST,…",
    help="Hosts besides this machine to which webhooks may be delivered.",
)
def command(*, db: Path | None, port: int, demo: bool, **settings: Any) -> None:
    """Serve the whole interface on this machine, to learn on and to develop against."""
    from osdi_frames import sandbox  # needs the extra `serve`, which --help does not

    app = sandbox.create_app(db, **settings)
    with sandbox.bind(port) as listening:
        running = sandbox.Running(*listening.getsockname())
        if demo:
            sandbox.fill_demo(app, origin=running.origin)
        click.echo(f"v2     {running.base_url}  (key in the header OSDI-API-Token)")
        click.echo(f"v1     {running.base_url_v1}  (key in the header api-key)")
        click.echo(f"keys   {running.individual_key}, {running.group_key}")
        click.echo(f"admin  {running.origin}/sandbox/")
        try:
            sandbox.run(app, listening)
        finally:
            kept = (
                f"everything is kept in {quoted_path(db)}" if db else "nothing was kept (--db FILE keeps it)"
            )
            click.echo(f"stopped; {kept}")
