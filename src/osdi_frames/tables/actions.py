"""The table of actions: one row for each act of any kind, made of the tables of acts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from osdi_frames.tables.act import REFERRER_DATA
from osdi_frames.tables.advocacy_campaigns import ADVOCACY_CAMPAIGNS
from osdi_frames.tables.attendances import ATTENDANCES
from osdi_frames.tables.donations import DONATIONS
from osdi_frames.tables.events import EVENTS
from osdi_frames.tables.forms import FORMS
from osdi_frames.tables.fundraising_pages import FUNDRAISING_PAGES
from osdi_frames.tables.outreaches import OUTREACHES
from osdi_frames.tables.people import PEOPLE, PERSON_ID
from osdi_frames.tables.petitions import PETITIONS
from osdi_frames.tables.resource import LOCATION
from osdi_frames.tables.responses import RESPONSES
from osdi_frames.tables.schema import FREE_TEXT, PLAIN, SENSITIVE, Column, ElementType, Privacy, Table, Type
from osdi_frames.tables.signatures import SIGNATURES
from osdi_frames.tables.submissions import SUBMISSIONS
from osdi_frames.tables.surveys import SURVEYS

REFERRED = ("source", "referrer", "website")
PLACE = ("location_country", "location_region")
MONEY = ("amount", "currency")


@dataclass(frozen=True, slots=True)
class Act:
    """Rows of a table as acts of one kind.

    Attributes
    ----------
    action
        What the person did.
    table, titled
        The table whose rows are such acts; that of what they are about.
    person
        The column of the person who acted.
    only
        The column that is true of the rows that are such acts; None for all.
    at
        The column of what the act is about that says when it was done, by the wall clock of its place; None for when it
        was made. No zone of a report moves such an act to another day.
    own
        The columns of actions that the table has under the same names.
    once
        How often such acts are another participation: once for a subject, once for a subject and day (of UTC, whatever
        the zone of a report, since the number is a value of the act), or each of them.
        Acts of one table are one participation of their subject, as an RSVP and coming are.
    """

    action: str
    table: Table
    titled: Table
    person: str = "person_id"
    only: str | None = None
    at: str | None = None
    own: tuple[str, ...] = (*REFERRED, *PLACE)
    once: Literal["a subject", "a day", "each"] = "a subject"

    @property
    def own_id(self) -> str:
        """The column that identifies the act."""
        return self.table.element.own_id

    @property
    def receipts(self) -> tuple[str, ...]:
        """The columns of the table that say when a row was received or fetched."""
        return tuple(
            column.name for column in self.table.columns if column.name in ("received_at", "fetched_at")
        )

    @property
    def subject(self) -> str:
        """The column that identifies what the act is about."""
        return self.titled.element.own_id


#: What people do; of acts at the same time the earlier of these comes first.
ACTS = (
    Act("hosted", EVENTS, EVENTS, person="creator_id", own=()),
    Act("signed", SIGNATURES, PETITIONS),
    Act("rsvped", ATTENDANCES, EVENTS, own=(*REFERRED, *PLACE, *MONEY)),
    Act("attended", ATTENDANCES, EVENTS, only="attended", at="start_date"),
    Act("submitted", SUBMISSIONS, FORMS, once="a day"),
    Act("donated", DONATIONS, FUNDRAISING_PAGES, own=(*REFERRED, *PLACE, *MONEY), once="each"),
    Act("wrote", OUTREACHES, ADVOCACY_CAMPAIGNS, once="a day"),
    Act("responded", RESPONSES, SURVEYS),
)


#: The values of the column `action`, `hosted` last.
ACTION_NAMES = tuple(act.action for act in sorted(ACTS, key=lambda act: act.table == EVENTS))


def made(name: str, meaning: str, kind: Type = "string", privacy: Privacy = SENSITIVE) -> Column:
    """Declare a column of a computed table."""
    return Column(name, kind, (), (), meaning, "resolved", privacy=privacy)


def _taken(columns: tuple[Column, ...], *names: str) -> tuple[Column, ...]:
    """Return columns of acts as those of actions."""
    declared = {column.name: column for column in columns}
    return tuple(
        replace(
            column, v2=(), v1=(), origin="resolved", absent=(), meaning=column.meaning.format("the person")
        )
        for column in map(declared.get, names)
        if column
    )


def made_of(names: Iterable[str]) -> dict[Table, tuple[str, ...]]:
    """Return the columns of each table that some columns of actions are made of."""
    names = {*names, *REFERRED}
    needed = {PEOPLE: ["person_id", *(["created_date"] if "is_new" in names else []), *(names & {*PLACE})]}
    for act in ACTS:
        needed.setdefault(act.table, []).extend(
            (act.own_id, act.person, act.subject, "created_date", "excluded")
        )
        needed[act.table] += ["modified_date", act.only] if act.only else []
        needed[act.table] += names & {*act.own}
        needed[act.table] += act.receipts if "received_at" in names else ()
        needed.setdefault(act.titled, []).extend((act.subject, *(names & {"title"}), *filter(None, [act.at])))
    return {table: tuple(dict.fromkeys(columns)) for table, columns in needed.items()}


_COLUMNS = (
    made("person_id", "Person who acted.", privacy=PERSON_ID),
    made("date", "When, UTC; of attended the start, local clock.", "utc"),
    made("action", f"What was done: {ACTS[1].action}, {ACTS[2].action} or another."),
    made("subject_id", "Petition, event or other that it is about."),
    made("title", "Title of that.", privacy=FREE_TEXT),
    *_taken(REFERRER_DATA, *REFERRED),
    *_taken(LOCATION, *PLACE),
    made("amount", "Amount of a donation, or of all tickets.", "decimal"),
    *_taken(DONATIONS.columns, "currency"),
    made("number", "Which of the person's acts that count, from 1.", "int64"),
    made("participation", "Which of their participations; missing in repeats.", "int64"),
    made("is_first", "Whether it is the person's first.", "bool"),
    made("is_new", "Whether the person was not known before.", "bool"),
    made("excluded", "Why uncounted, as of the act itself."),
    made("received_at", "When last received or fetched, UTC.", "utc", PLAIN),
)

ACTIONS = Table(
    "actions",
    ElementType("action", "", (), month="date"),
    "One row per act of any kind, in order of time.",
    _COLUMNS,
    made_of=made_of(column.name for column in _COLUMNS),
)
