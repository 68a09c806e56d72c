"""``osdi-frames archive``: check an archive of the receiver, erase a person, take bodies of the quarantine back."""

import dataclasses
import os
import sys
from pathlib import Path

import click

from osdi_frames import receiver
from osdi_frames.cli import Status
from osdi_frames.cli.options import HELP, Group, as_json, print_json, runs
from osdi_frames.messages import counted, printable

_ARCHIVE = click.argument("archive", type=click.Path(exists=True, file_okay=False, path_type=Path))


@click.group(cls=Group, context_settings=HELP)
def command() -> None:
    """Look after an archive that `osdi-frames receive` writes."""
    os.umask(0o077)


@runs("osdi-frames archive verify archive", group=command)
@_ARCHIVE
@as_json
def verify(archive: Path, *, as_json: bool) -> None:
    """Check every checksum and every sequence number of ARCHIVE; status 1 when something is damaged."""
    found = receiver.verify(archive)
    if as_json:
        print_json(dataclasses.asdict(found))
    else:
        for damage in found.damages:
            click.echo(printable(str(damage)))
        click.echo(
            f"{counted(found.segments, 'segment')}, {counted(found.deliveries, 'delivery', 'deliveries')}, "
            f"{found.quarantined:,} in quarantine, {found.erased:,} with something erased, "
            f"{counted(found.torn, 'torn end')}, {counted(len(found.damages), 'damaged place')}"
        )
    sys.exit(Status.FAILED if found.damages else Status.DONE)


@runs("osdi-frames archive erase archive --person 59ccd3fc --email ann@example.org", group=command)
@_ARCHIVE
@click.option(
    "--person",
    "persons",
    multiple=True,
    help="The id of a person: the last part of its address, or the person_id of tables.",
)
@click.option("--email", "emails", multiple=True, help="An e-mail address of the person, in any case.")
@click.option(
    "--store",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A store of parsed rows of ARCHIVE: what was parsed of the changed files goes, too.",
)
def erase(archive: Path, persons: tuple[str, ...], emails: tuple[str, ...], store: Path | None) -> None:
    """Take one person's data out of what the receiver wrote in ARCHIVE.

    Every element about the person goes; the other elements of its delivery stay as they were received, and
    the line keeps its number. Other files in ARCHIVE are not searched. While a receiver runs, its newest
    segment is not changed: stop it, or run this again later.

    Status 0: none of the ids and addresses is left in what the receiver wrote, in a link, an e-mail address,
    a comment, a custom field or any other text, plain or escaped; also when nothing was found. A name or a
    phone number alone is not searched for. Status 1: some may be left, and each place is named: a comment of
    someone else that holds the address, a segment that is still written, a line that cannot be read.
    """
    if not persons and not emails:
        raise click.UsageError("name the person: --person ID, --email ADDRESS")
    done = receiver.erase(archive, persons=persons, emails=emails, store=store)
    click.echo(
        f"searched {counted(done.searched, 'delivery', 'deliveries')}; "
        f"erased {counted(done.elements, 'element')} in {done.deliveries:,} of them, "
        f"{counted(done.quarantined, 'body', 'bodies')} in quarantine, {counted(done.torn, 'torn end')}"
    )
    if not (done.deliveries or done.quarantined or done.torn or done.left):
        hint = ": an id is the last part of the person's address (person_id in read_signatures)"
        click.echo(f"nothing was found{hint if persons else ''}", err=True)
    for place in done.left:
        click.echo(printable(place), err=True)
    sys.exit(Status.FAILED if done.left else Status.DONE)


@runs("osdi-frames archive requeue archive", group=command)
@_ARCHIVE
@as_json
def requeue(archive: Path, *, as_json: bool) -> None:
    """Take bodies of the quarantine that hold deliveries back into ARCHIVE.

    A delivery is found without its array, behind a byte order mark, as text, base64 or form, and below other keys. It
    becomes a line of ARCHIVE/requeued with the time at which it was received, once, however often this is run; the
    quarantine stays as it is. A receiver may run meanwhile. What holds no delivery is counted; `osdi-frames check`
    of the folder .quarantine lists it.
    """
    done = receiver.requeue(archive)
    if as_json:
        print_json(dataclasses.asdict(done))
    else:
        click.echo(
            f"searched {counted(done.searched, 'body', 'bodies')} in quarantine; took {done.requeued:,} back, "
            f"{done.before:,} before; {done.left:,} hold no delivery"
        )
