"""Erase one person's data from an archive, however the person is spelled in it."""

from __future__ import annotations

import base64
import contextlib
import itertools
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

from osdi_frames.addresses import LAYERS, undo
from osdi_frames.document_forms import envelope_time
from osdi_frames.durable import PARTIAL, write_file
from osdi_frames.errors import ArchiveLocked, InvalidArgument
from osdi_frames.json_decoding import PAIRS_DECODER
from osdi_frames.locking import require_shared_locks, wait_for_lock
from osdi_frames.messages import quoted_path, with_shortened_paths
from osdi_frames.receiver import envelope
from osdi_frames.receiver.segments import Segment, seal_finished, segments, write_sealed
from osdi_frames.receiver.validation import elements
from osdi_frames.receiver.worker import TORN, Worker, worker_folders
from osdi_frames.sources.files import QUARANTINE
from osdi_frames.tables.people import ID_OF_ADDRESS, id_of_address
from osdi_frames.tables.schema import PREFIXES

_ERASING = f".erasing{PARTIAL}"  # ends what is being written; a sealing receiver writes under another name
_RECEIVED = re.compile(rb'"received":"([A-Za-z0-9+/]*)')  # see `envelope`
#: Keys of a person's id, and of links to a person, which warehouses join by an underscore.
_PERSON_IDS = ("person_id", *(f"{prefix}_person_id" for prefix in PREFIXES))
_PERSON_LINKS = ("osdi:person", "osdi:people", "osdi_person", "osdi_people")


@dataclass(slots=True)
class Erasure:
    """What was searched and erased, and in `left` each place where one of the ids and addresses is or may be left."""

    searched: int = 0
    deliveries: int = 0
    elements: int = 0
    quarantined: int = 0
    torn: int = 0
    left: list[str] = field(default_factory=list)


def erase(
    archive: str | Path,
    *,
    persons: Iterable[str] = (),
    emails: Iterable[str] = (),
    store: str | Path | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Erasure:
    """Erase a person's elements from sealed segments.

    An element is about a person when a link of it leads to one of `persons` (interface 2.7: the id in
    ``_links.osdi:person.href`` or ``osdi:people``, whatever query or fragment follows), or one of its
    ``email_addresses`` is one of `emails`, whatever the case. Of a person without an id, `persons` can name the id
    that tables have (``email:…``): the address that it is made of is looked for first. The other elements of a
    delivery stay, byte for byte; the line keeps its number and records when something was erased. An element about
    someone else that names the person, in a comment or a custom field, is not changed and is listed in
    `Erasure.left`. In quarantine the whole
    body goes wherever it names the person, also escaped.

    From a `store` of parsed rows everything goes that was parsed of files that have changed, once nobody reads it; the
    next reading parses these again.

    Where a receiver is writing, what it has not sealed yet is searched and listed there too, not
    changed; without one, everything is sealed first. A second erasure waits for the first.

    Raises
    ------
    InvalidArgument
        An id or address is empty.
    DestinationExists
        The folder of the store holds something else.
    SourceNotFound
        No receiver has written here, or there is no such store.
    """
    require_shared_locks()
    kept = None
    if store is not None:
        from osdi_frames.store.store import find_store, remove_stale  # a receiver needs no Parquet

        kept = find_store(store)
    folders = worker_folders(Path(archive))
    persons, emails = [*persons], [*emails]
    if made := {id_ for id_ in persons if id_.startswith(ID_OF_ADDRESS)}:
        emails += (address for address in _addresses(folders) if id_of_address(address) in made)
    eraser = _Eraser(Person(persons, emails), envelope_time(now()))
    for folder in folders:
        with _alone(folder):
            for segment in (*segments(folder), *segments(folder / QUARANTINE)):
                eraser.erase_from(segment)
            for path in (folder / TORN).glob("*.torn"):
                eraser.erase_torn(path)
    if kept is not None:
        remove_stale(kept)
    return eraser.done


def _addresses(folders: Iterable[Path]) -> Iterator[str]:
    """Yield the e-mail addresses of all persons in what a receiver wrote."""
    for segment in itertools.chain.from_iterable(map(segments, folders)):
        with contextlib.suppress(OSError):  # it is named where it is searched
            for line in segment.lines():
                entry = envelope.read(line.removesuffix(b"\n"))
                if entry is not None and b"email_addresses" in entry.body:
                    for element, *_ in elements(entry.body.decode(), PAIRS_DECODER):
                        yield from _addresses_in(element)


def _addresses_in(node: object, key: str = "") -> Iterator[str]:
    """Yield the addresses among the ``email_addresses`` of an element, whose objects are tuples of pairs."""
    if isinstance(node, tuple):
        for name, value in node:
            if name == "address" and key == "email_addresses" and isinstance(value, str):
                yield value
            yield from _addresses_in(value, name)
    elif isinstance(node, list):
        for entry in node:
            yield from _addresses_in(entry, key)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let one erasure at a time rewrite segments, since a second one would restore what the first erased.

    Seal first what no receiver writes to.
    """
    descriptor = wait_for_lock(folder / ".erasing")
    try:
        for partial in folder.rglob(f".*{_ERASING}"):
            partial.unlink()  # left by an erasure that was killed
        with (
            contextlib.suppress(ArchiveLocked),
            contextlib.closing(Worker(folder.parent, folder.name, segment_bytes=0, erases=True)) as worker,
        ):
            seal_finished(worker.deliveries)
            seal_finished(worker.quarantine)
        yield
    finally:
        os.close(descriptor)


class _Eraser:
    def __init__(self, person: Person, at: str) -> None:
        self.done = Erasure()
        self._person = person
        self._at = at

    def erase_torn(self, path: Path) -> None:
        if self._person.is_named_in_bytes(path.read_bytes()):
            write_file(path, b"")  # the empty file shows that something was here
            self.done.torn += 1

    def erase_from(self, segment: Segment) -> None:
        left: dict[int, tuple[bytes, int]] = {}
        place = quoted_path(segment.path)
        try:
            for number, line in enumerate(segment.lines(), 1):
                if rest := self._without_person(line, f"{place}:{number}"):
                    left[number] = rest
        except FileNotFoundError:
            return  # a receiver took an empty one away since it was listed
        except OSError as error:
            self.done.left.append(
                f"{place}: {with_shortened_paths(error)}: cannot be read, so it was not searched"
            )
            return
        segment = segment.current()
        if left and not segment.sealed:
            what = "holds more, and a receiver still writes to it: stop it, then repeat this"
            self.done.left.append(f"{place}: {what}")
        elif left:
            lines = enumerate(segment.lines(), 1)
            rewritten = (left[number][0] if number in left else line for number, line in lines)
            write_sealed(rewritten, segment.path, partial=_ERASING)
            counts = [erased for _, erased in left.values()]
            self.done.elements += sum(counts)
            self.done.quarantined += counts.count(0)
            self.done.deliveries += len(counts) - counts.count(0)

    def _without_person(self, line: bytes, place: str) -> tuple[bytes, int] | None:
        """Return the rest of a line and the number of erased elements, 0 in quarantine, or None if all stays.

        List what cannot be searched, and what names the person and stays.
        """
        entry = envelope.read(line.removesuffix(b"\n"))
        if entry is None:
            self.done.left.append(f"{place}: cannot be read, so it was not searched")
            return None
        self.done.searched += 1
        kept, erased = [], 0
        if entry.reason is not None:
            if not self._person.is_named_in_bytes(entry.exact):
                return None
        elif self._person.is_named_in(text := entry.body.decode()):
            for number, (element, start, end) in enumerate(elements(text, PAIRS_DECODER), 1):
                if self._person.is_subject_of(element):
                    erased += 1
                    continue
                kept.append(text[start:end])
                if self._person.is_named_in(kept[-1]):
                    what = "names the person, in an element about someone else; not changed"
                    self.done.left.append(f"{place}: element {number}: {what}")
        if entry.reason is None and not erased:
            return None
        body = f"[{','.join(kept)}]".encode()
        return replace(entry, body=body, received=None, erased_at=self._at).line(), erased


class Person:
    """The ids and e-mail addresses to erase; a link to the person serves as the id."""

    def __init__(self, ids: Iterable[str], emails: Iterable[str]) -> None:
        self._ids = {_path(id_)[-1] for id_ in ids}
        self._emails = {_folded(email.strip()) for email in emails}
        if "" in self._ids | self._emails or "people" in self._ids:
            raise InvalidArgument("an id or address of the person is empty: it would match everything")
        self._names = [*self._emails, *map(_folded, self._ids)]
        # me.ann@x.org and ann@x.organic are other addresses, joe-ann-1 is another id.
        patterns = [rf"(?<!\w)(?<!\w[.+-]){re.escape(email)}(?![\w-])" for email in self._emails]
        patterns += [rf"(?<![^\W_])(?<![^\W_]-){re.escape(_folded(id_))}(?![^\W_]|-\w)" for id_ in self._ids]
        self._pattern = re.compile("|".join(patterns) or "(?!)")

    def is_subject_of(self, node: object, key: str = "") -> bool:
        """Return whether an element, whose objects are tuples of pairs, is about the person.

        It links to the person, or has the person's id or one of the addresses among its ``email_addresses``.
        """
        if isinstance(node, tuple):
            return any(
                self._is_meant_by(name, value, key) or self.is_subject_of(value, name) for name, value in node
            )
        return isinstance(node, list) and any(self.is_subject_of(entry, key) for entry in node)

    def _is_meant_by(self, name: str, value: object, within: str) -> bool:
        if name in _PERSON_IDS or name.endswith(":person_id"):
            return str(value) in self._ids
        if not isinstance(value, str):
            return False
        if name == "address" and within == "email_addresses":
            return any(form.strip() in self._emails for form in _forms(value))
        path = _path(value)
        in_people = any(before == "people" and id_ in self._ids for before, id_ in itertools.pairwise(path))
        return name == "href" and (in_people or (within in _PERSON_LINKS and path[-1] in self._ids))

    def is_named_in(self, text: str) -> bool:
        """Return whether text holds an id or an address: in any case, escaped, percent-encoded or as HTML.

        >>> Person([], ["ann@x.org"]).is_named_in("mail ann%40x.org")
        True
        """
        return any(
            any(name in form for name in self._names) and self._pattern.search(form) for form in _forms(text)
        )

    def is_named_in_bytes(self, data: bytes) -> bool:
        """Return whether bytes of any kind hold an id or an address, also in an envelope's base64."""
        texts = [data.replace(b"\0", b"").decode("utf-8", "replace"), data.decode("latin-1")]
        if b"\0" in data:
            texts += [data.decode(encoding, "replace") for encoding in ("utf-16-le", "utf-16-be")]
        received = (base64.b64decode(found[: len(found) // 4 * 4]) for found in _RECEIVED.findall(data))
        return any(map(self.is_named_in, texts)) or any(map(self.is_named_in_bytes, received))


def _path(link: str) -> list[str]:
    return unquote(re.split("[?#]", link.strip(), maxsplit=1)[0]).rstrip("/").split("/")


def _forms(text: str) -> Iterator[str]:
    """Yield text as it is, and with escapes undone."""
    for _ in range(LAYERS):
        yield _folded(text)
        if "+" in text:
            yield _folded(text.replace("+", " "))  # as in a form
        undone = undo(text)
        if undone == text:
            return
        text = undone


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
