"""The tables of supporters, which are computed of actions and people: one row a person, and what each of them gave."""

from osdi_frames.tables.actions import ACTION_NAMES, ACTIONS, made
from osdi_frames.tables.people import PEOPLE, PERSON_ID
from osdi_frames.tables.schema import FREE_TEXT, ElementType, Table

SUPPORTERS = Table(
    "supporters",
    ElementType("supporter", "", ()),
    "One row per person, as of the newest act: how often, when and how they took part, and their level.",
    (
        made("person_id", "Person.", privacy=PERSON_ID),
        made("acts", "Number of acts that count.", "int64"),
        made("participations", "Number of participations.", "int64"),
        made("participations_12m", "Those in the last 12 months.", "int64"),
        made("participations_6m", "Those in the last 6 months.", "int64"),
        *(made(name, f"Participations by {name} alone.", "int64") for name in ACTION_NAMES),
        made("first", "Time of the first act, UTC.", "utc"),
        made("latest", "Time of the latest act, UTC.", "utc"),
        made("days_since", "Whole days since the latest act.", "int64"),
        made("first_source", "Source of the first act."),
        made("first_title", "Title of what the first act is about.", privacy=FREE_TEXT),
        made("is_lapsing", "Acted in the last 12 months, not in the last 3.", "bool"),
        made("level", "0, or the highest level whose rule they meet.", "int64"),
    ),
    made_of={
        ACTIONS: (
            *("person_id", "date", "action", "subject_id", "source", "title"),
            *("received_at", "excluded"),
        ),
        PEOPLE: ("person_id",),
    },
)

SUPPORTER_AMOUNTS = Table(
    "supporter_amounts",
    ElementType("supporter_amount", "", ()),
    "One row per person and currency in which they gave, by donations and tickets.",
    (
        SUPPORTERS.column("person_id"),
        ACTIONS.column("currency"),
        made("amount", "Sum of all that they gave.", "decimal(38)"),
    ),
    made_of={ACTIONS: ("person_id", "date", "action", "amount", "currency", "excluded")},
)
