"""The public client: reading, pulling and writing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import pandas as pd

from osdi_frames.client.address import Address, segment
from osdi_frames.client.answers import Answer
from osdi_frames.client.collection_reader import CollectionReader, page_bar
from osdi_frames.client.collections import COLLECTIONS, needed
from osdi_frames.client.key import ApiKey
from osdi_frames.client.proof import MAX_PAGES
from osdi_frames.client.pull import PullRequest, moment, pull
from osdi_frames.client.rows import write_rows
from osdi_frames.client.transport import RateLimit, RequestLimits, Transport
from osdi_frames.client.writing import Writer
from osdi_frames.errors import (
    ForeignAddress,
    IncompletePull,
    InvalidField,
    ResourceNotFound,
    ServiceWarning,
)
from osdi_frames.messages import quoted, shorten
from osdi_frames.problems import warn_caller
from osdi_frames.pulls import Manifest
from osdi_frames.reader import Reader
from osdi_frames.tables import known_prefixes

#: The path of all events (interface 4).
EVENTS_PATH = COLLECTIONS["events"].path


class Client:
    """Read and write a service's events, politely and completely.

    A client can be shared by threads, and used where an event loop runs. It reads many pages at once, and
    never asks more than `rate` times in any `per` seconds, retries counted. The key is sent to the origin
    of `base_url` only. Use it as a context manager, or close it. Any call can raise `ServiceError` (the service
    refused) and `ServiceUnreachable` (it did not answer).

    Parameters
    ----------
    base_url
        The service root, ending in its version: ``https://…/api/v2``. ``http://`` is for this machine only.
    api_key
        The key of a person or group; ``OSDI_API_KEY`` of the environment when not given.
    rate, per
        At most `rate` requests in any `per` seconds, as they reach the service; None for no limit.
    workers
        How many pages are read at once.
    timeout, deadline
        Seconds without a byte, and seconds in all, after which a request is given up; after these it is not sent again.
    retries, backoff
        How often a request is sent again after 429, 5xx, a timeout or a cut connection, and the seconds before the
        first time; they double, with jitter. A Retry-After is honoured up to five minutes.
    max_pages
        How many pages of one collection are read at most; one that goes on longer is not complete.
    prefix
        The service's own prefix, in addition to ``platform`` and ``action_network``.
    version
        ``"v1"`` or ``"v2"`` where the address does not state it.
    allow_http
        Send the key in clear to another machine. Certificates of ``https://`` are always verified, by the system's
        authorities or those of ``SSL_CERT_FILE``.
    now
        The clock that stamps `fetched_at`.

    Raises
    ------
    MissingKey
        Neither given nor in the environment.
    BadAddress, InsecureAddress
        The address does not state a version, or would show the key to others.

    Examples
    --------
    >>> import osdi_frames as of
    >>> from osdi_frames import sandbox
    >>> with sandbox.serve() as running, Client(running.base_url, running.group_key) as client:
    ...     created = client.create_event({"title": "Picnic", "origin_system": "Desk"})
    ...     client.events()[["title", "origin_system"]]
        title origin_system
    0  Picnic          Desk
    """

    base_url = ""
    """The service root."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        rate: int | None = 4,
        per: float = 1.0,
        workers: int = 16,
        timeout: float = 30.0,
        deadline: float = 120.0,
        retries: int = 5,
        backoff: float = 0.5,
        max_pages: int = MAX_PAGES,
        prefix: str | None = None,
        version: Literal["v1", "v2"] | None = None,
        allow_http: bool = False,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        key, api_key = ApiKey.find(api_key), None  # no frame of a traceback holds the bare key
        address = Address.parse(base_url, version=version, allow_http=allow_http)
        key.check()
        if workers < 1 or retries < 0 or max_pages < 1:
            raise ValueError("workers and max_pages are at least 1, retries at least 0")
        self._transport = Transport(
            address,
            key,
            RateLimit(rate, per=per),
            RequestLimits(timeout, deadline, retries, backoff, workers, max_pages),
            known_prefixes(prefix),
            now,
        )
        self.base_url = address.base_url
        self._address = address
        self._prefix = prefix
        self._writer = Writer(address.version, known_prefixes(prefix))

    def events(
        self,
        campaign: str | None = None,
        filter: str | None = None,  # noqa: A002 (the service's name for it)
        *,
        progress: bool | None = None,
    ) -> pd.DataFrame:
        """Read all events, or those of one campaign.

        Some events appear under their campaign only (`campaign_events`). Either all of them come, or `IncompletePull`
        says that it could not be proved; `pull` keeps what there is.

        Parameters
        ----------
        campaign
            The id of an event campaign.
        filter
            What the service is to select by: ``"modified_date gt '2026-01-01'"``, in the version's names.
        progress
            A bar by pages: None shows one on a terminal or in a notebook, and for long work only.

        Returns
        -------
        DataFrame
            The table `events`: one row an event, the same columns from v1 and v2.
        """
        return self._frame([EVENTS_PATH if campaign is None else _campaign_path(campaign)], filter, progress)

    def campaign_events(self, campaigns: Iterable[str], *, progress: bool | None = None) -> pd.DataFrame:
        """Read the events of several event campaigns; `progress`, result and errors are those of `events`."""
        return self._frame(map(_campaign_path, _listed(campaigns, "ids of campaigns")), None, progress)

    def event(self, event_id: str) -> pd.DataFrame:
        """Read one event as a DataFrame of one row; `ResourceNotFound` where the key has none with that id."""
        return self._row(self._transport.send("GET", self._at(event_id)))

    def pages(self, path: str = EVENTS_PATH, *, filter: str | None = None) -> Iterator[dict[str, Any]]:  # noqa: A002 (the service's word)
        """Return the pages of any collection in order, as parsed JSON, and read the next ones ahead.

        Nothing is checked but that each is a page: whether rows
        moved meanwhile is for `events` and `pull` to see. `IncompletePull` where the collection goes on after
        `max_pages`, or a page has the rows of an earlier one again; `ForeignAddress` where the service reports no
        totals, and a `next` leads away from it.

        Parameters
        ----------
        path
            Below the service root: ``"events"``, ``"petitions"``, ``"people/<id>/signatures"``.
        filter
            As for `events`.
        """
        collection = CollectionReader(self._transport, path, filter)
        with closing(collection.sweep()) as answers:
            for answer in answers:
                yield answer.body
        if collection.ledger.is_cut or collection.ledger.standstill:
            raise IncompletePull(f"{shorten(path)}: {collection.ledger.lack(self._transport.redact)}")

    def pull(
        self,
        destination: str | os.PathLike[str],
        *,
        collections: Iterable[str] = (EVENTS_PATH,),
        campaigns: Iterable[str] | None = None,
        since: datetime | str | None = None,
        resume: bool = True,
        progress: bool | None = None,
    ) -> Manifest:
        """Read collections into an archive, and prove them complete.

        Each pull has a folder in `destination` with the pages as they came (`read_events` reads them) and a
        manifest, ``.manifest.json``. What was read stays: killed at any moment, or after an error, and called again, it
        reads what is missing. After a complete pull a new one begins.

        Parameters
        ----------
        destination
            A folder, made where there is none; `ArchiveLocked` while another pull is writing into it.
        collections
            What to read: ``"events"``, ``"event_campaigns"``, ``"petitions"``, ``"signatures"`` (of each petition),
            ``"attendances"`` (of each event), ``"forms"``, ``"submissions"`` (of each), ``"fundraising_pages"``,
            ``"donations"``, ``"advocacy_campaigns"``, ``"outreaches"`` (of each), ``"surveys"``, ``"responses"``
            (to each), ``"people"``, ``"tags"``, ``"taggings"`` (of each), or `UnknownValue`. Events that only their
            campaign lists are events, too.
        campaigns
            Ids of event campaigns: their events alone are read. None for all events, with those that only a
            campaign lists; an empty list for those that the service's list of events has.
        since
            Only what was modified since: a time (UTC unless it has a zone), or ``"last"`` for ten minutes before the
            newest modified_date of the last pull in which the collection was complete; without one, all. Signatures,
            attendances and the like are then asked for of petitions, events and others that changed: the manifest says
            what that misses, and where fewer records remain than earlier pulls have (`fewer_records`). Tags and
            taggings are always read whole: the service has no filter for them. None reads everything, and shows
            which are gone.
        resume
            False begins anew although the last pull is not complete.
        progress
            As for `events`.

        Returns
        -------
        Manifest
            `complete`, and `why`: the proof, or what is missing.

        Raises
        ------
        UnknownValue
            With the names that are nearest.
        ArchiveLocked
            Another pull is writing into `destination`.
        """
        ids = None if campaigns is None else _listed(campaigns, "ids of campaigns")
        for campaign in ids or ():
            segment(campaign)  # refuses an invalid id before a folder is made
        resources = needed(_listed(collections, "collections"), campaigns=ids)
        request = PullRequest(resources, ids, moment(since), resume)
        with page_bar(progress) as on_page:
            return pull(self._transport, Path(destination), request, on_page)

    def create_event(
        self, event: Mapping[str, Any], *, creator: str | None = None, strict: bool = True
    ) -> pd.DataFrame:
        """Create an event, and return its row as the service answers it.

        An event that might have arrived is not sent again: an error says so.

        Parameters
        ----------
        event
            Its fields, in the names of either version. `title` and `origin_system` are required.
            `start_date` and `end_date` are datetimes without zone: the wall clock at its place.
        creator
            The id of the person who is to own it; one that the service does not know is refused. A key of a group
            can name its organizers, a key of a person that person; of others a `ServiceWarning` says that the
            service has created the event, and ignored its creator.
        strict
            False leaves out what the service would ignore; True refuses it.

        Raises
        ------
        InvalidField
            Before anything is sent, with the name of the field.
        """
        if creator is not None:
            event = {**event, "_links": {"osdi:creator": {"href": self._at(creator, "people")}}}
        body = replace(self._writer, strict=strict, is_new=True).event(event)
        link = body.get("_links", {}).get("osdi:creator")
        if strict and link:
            try:
                self._transport.send("GET", self._transport.own(link["href"], at=self.base_url))
            except (ResourceNotFound, ForeignAddress) as error:
                raise InvalidField(f"the creator is not known to the service: {error}") from error
        row = self._row(self._send(None, body))
        if strict and link:
            self._warn_if_ignored(link["href"], row)
        return row

    def update_event(self, event_id: str, changed: Mapping[str, Any], *, strict: bool = True) -> pd.DataFrame:
        """Change fields of an event, and return its changed row.

        Errors and `strict` are those of `create_event`.

        Parameters
        ----------
        event_id
            With or without the service's prefix; `ResourceNotFound` where the key has none with that id.
        changed
            The fields to change, in the names of either version; None empties a text, and nothing else can be emptied.
        """
        return self._row(self._send(event_id, replace(self._writer, strict=strict).event(changed)))

    def create_events(
        self, frame: pd.DataFrame, *, dry_run: bool = False, progress: bool | None = None
    ) -> pd.DataFrame:
        """Create an event for each row of a frame with the columns of `read_events`.

        Columns that the service sets itself are passed over, and so are missing
        values. The ``location_`` columns become one location. Identifiers of the service's own are left out; of two
        rows with the same identifier the second is refused. Every row is checked before the first is sent.

        Parameters
        ----------
        frame
            Any columns of the table `events`, `UnknownColumn` of others; `title` and `origin_system` are required.
        dry_run
            Check each row and return what would be sent, and ask the service for nothing.
        progress
            A bar by rows: None shows one on a terminal or in a notebook, and for long work only.

        Returns
        -------
        DataFrame
            One result a row, with its index: `event_id`, `status` (``created``, ``refused`` before it was sent,
            ``failed``, ``not sent``), `sent` (the body as JSON), `error`. Once the service cannot be reached, or
            refuses the key, nothing more is sent.
        """
        writer = replace(self._writer, is_new=True)
        return write_rows(frame, writer, self._send, dry_run=dry_run, progress=progress)

    def update_events(
        self, frame: pd.DataFrame, *, dry_run: bool = False, progress: bool | None = None
    ) -> pd.DataFrame:
        """Change the event of each row of a frame with the columns of `read_events`.

        Missing values leave a field as it is. Parameters, results and errors are those of `create_events`; the column
        `event_id` says which event, and `status` is ``updated``. Every column that a client can set is sent: choose
        those that you have changed, so that what others changed meanwhile stays.

        Examples
        --------
        >>> from osdi_frames import sandbox
        >>> with sandbox.serve() as running, Client(running.base_url, running.group_key) as client:
        ...     events = client.create_event({"title": "Picnic", "origin_system": "Desk"})
        ...     changed = events[["event_id"]].assign(location_locality="Oakland")
        ...     client.update_events(changed, dry_run=True)[["status", "sent"]]
             status                                   sent
        0  not sent  {"location": {"locality": "Oakland"}}
        """
        return write_rows(frame, self._writer, self._send, dry_run=dry_run, progress=progress)

    def delete_event(self, event_id: str) -> None:
        """Ask the service to delete an event; `DeletionRefused` has the service's words (interface 7)."""
        self._transport.send("DELETE", self._at(event_id))

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.base_url!r})"

    def _frame(self, paths: Iterable[str], filter: str | None, progress: bool | None) -> pd.DataFrame:  # noqa: A002 (the service's word)
        lines: list[bytes] = []
        with page_bar(progress) as on_page:
            for path in dict.fromkeys(paths):
                collection = CollectionReader(
                    self._transport, path, filter, lambda answer: lines.append(answer.line()), on_page
                )
                if collection.resolve() is None:
                    raise IncompletePull(
                        f"{shorten(path)}: {collection.ledger.lack(self._transport.redact)}; pull keeps what there is"
                    )
        return self._table(lines)

    def _row(self, answer: Answer) -> pd.DataFrame:
        return self._table([answer.line()], dedupe=False)  # one event has no duplicates to look for

    def _warn_if_ignored(self, link: str, row: pd.DataFrame) -> None:
        """Warn where another person has become the creator than the one that was linked (interface 4, rule 2)."""
        asked, made = unquote(urlsplit(link).path.rstrip("/").rpartition("/")[2]), row["creator_id"][0]
        if asked != made:
            said = "does not name the creator" if pd.isna(made) else f"has {quoted(made)} for its creator"
            warn_caller(
                f"the service ignored the creator {quoted(asked)}: the event {quoted(row['event_id'][0])}, which it"
                f" created, {said}",
                ServiceWarning,
            )

    def _table(self, lines: Iterable[bytes], *, dedupe: bool = True) -> pd.DataFrame:
        """Parse the bytes of answers as the table `events`."""
        received = BytesIO(b"".join(lines))
        received.name = self.base_url  # in `source_file` and in errors
        reader = Reader(received, prefix=self._prefix)
        return reader.frames(reader.resolution({"events": None}, dedupe=dedupe))["events"]

    def _send(self, event_id: str | None, body: Mapping[str, Any]) -> Answer:
        """Create an event, or change the one with an id."""
        if event_id is None:
            return self._transport.send("POST", self._address.collection(EVENTS_PATH), body)
        return self._transport.send("PUT", self._at(event_id), body)

    def _at(self, resource_id: str, collection: str = EVENTS_PATH) -> str:
        """Return the address of a resource by its id, with or without the service's own prefix."""
        return self._address.resource(collection, self._writer.bare(resource_id))


def _campaign_path(campaign_id: str) -> str:
    return COLLECTIONS["campaign_events"].path.format(segment(campaign_id))


def _listed(values: Iterable[str], of: str) -> tuple[str, ...]:
    """Return values without repetitions; refuse a text, which would be read letter by letter."""
    if isinstance(values, str):
        raise TypeError(f"{of} are given as a list: [{quoted(values)}]")
    return tuple(dict.fromkeys(values))
