"""Accounts: whom a key belongs to, and who may create (interface 4, 5)."""

from collections.abc import Mapping
from dataclasses import dataclass

ROLES = ("creator", "administrator", "organizer", "member")

# Whom a group key may name as an event's creator (interface 4, rule 2). Whoever founded the group administers it.
CREATOR_ROLES = {
    "v2": ("creator", "administrator", "organizer"),
    "v1": ("creator", "administrator", "member"),
}


@dataclass(frozen=True, slots=True)
class Account:
    """A person's account, or a group's with roles."""

    account_id: str
    default_creator: str
    title: str
    url: str
    roles: Mapping[str, str] | None = None  # of a group: person_id to role
    referrer_code: str | None = None

    @property
    def sponsor(self) -> dict[str, str]:
        """Return the account as a sponsor (interface 2.4)."""
        return {"title": self.title, "url": self.url}

    def creator(self, person_id: str | None, version: str) -> tuple[str, bool]:
        """Return who creates an event, and whether they were named.

        A person who may not create is replaced (interface 4, rule 2; 7.2).
        """
        if self.roles is None:
            allowed = person_id == self.default_creator
        else:
            allowed = self.roles.get(person_id or "") in CREATOR_ROLES[version]
        return (person_id, True) if person_id and allowed else (self.default_creator, False)


NOBODY = Account("", "", "", "")  # who asks without a key
