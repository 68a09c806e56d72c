"""Every row of the tables and every rule of interface sections 2 to 9, in their order; tests are marked with them."""

from __future__ import annotations

ROWS: dict[str, tuple[str, ...]] = {
    "2.1": (
        *("identifiers", "origin_system", "created_date", "modified_date", "name", "title", "description"),
        *("instructions", "browser_url", "featured_image_url", "start_date", "end_date", "location"),
        *("total_accepted", "platform:event_campaign_id", "status", "transparence", "visibility"),
        *("guests_can_invite_others", "capacity", "platform:hidden", "reminders", "platform:sponsor"),
    ),
    "2.2": (
        *("venue", "address_lines", "locality", "region", "postal_code", "country", "language", "location"),
        *("location.latitude", "location.longitude", "location.accuracy", "an event without location data"),
    ),
    "2.3": ("method", "minutes"),
    "2.4": ("title", "browser_url"),
    "2.5": (
        *("self", "osdi:attendances", "osdi:record_attendance_helper", "osdi:creator", "osdi:organizer"),
        *("platform:event_campaign", "platform:embed", "curies"),
    ),
    "2.6": (
        *("total_pages", "per_page", "page", "total_records", "_links.next", "_links.self"),
        *("_links.osdi:events", "_links.curies", "_embedded.osdi:events", "an individual event"),
    ),
    "2.7": (
        *("identifiers", "created_date", "modified_date", "comments", "platform:referrer_data", "person"),
        *("add_tags", "_links", "platform:sponsor", "idempotency_key", "source", "referrer", "website"),
        *("self", "osdi:person", "osdi:petition", "person.created_date and person.modified_date"),
        *("person.family_name", "person.postal_addresses", "person.email_addresses", "person.phone_numbers"),
        *("person.languages_spoken", "person.custom_fields"),
    ),
    "2.8": (
        *("identifiers", "originating_system", "created_at", "modified_at", "summary", "description"),
        *(
            "platform:event_instructions",
            "url",
            "start",
            "location",
            "location.venue",
            "location.address_lines",
        ),
        *("location.locality", "location.region", "location.postal_code", "location.country"),
        *("location.language", "location.location", "location.location.latitude"),
        *("location.location.longitude", "location.location.accuracy", "osdi:creator", "osdi:organizer"),
        *("total_accepted", "platform:event_campaign_id", "status", "transparence", "visibility"),
        *("guestsCanInviteOthers", "reminders", "reminders.method", "reminders.minutes", "platform:sponsor"),
        *("platform:sponsor.summary", "platform:sponsor.url", "the sample without postal_code", "v1 links"),
        *("an embedded person", "links of an embedded person"),
    ),
    "3": ("confirmed", "tentative", "cancelled"),
    "4": (
        *("headers", "GET events", "GET event_campaigns/<event_campaign_id>/events", "GET events/<event_id>"),
        *(
            "POST events",
            "PUT events/<event_id>",
            "DELETE events/<event_id>",
            "page",
            "other query parameters",
        ),
        *("rule 1", "rule 2", "rule 2 on the creator's list", "rule 3", "rule 4", "POST <webhook_url>"),
    ),
    "5": ("v2", "v1", "individual or group", "a missing or invalid key"),
    "6": (
        *("event type", "emission", "idempotency_key", "payload", "no webhook of event endpoints"),
        *("retries and success", "trigger"),
    ),
    "7": ("1", "2", "3", "4", "200 not 201"),
    "8": ("25 a page", "first address line", "1440 minutes", "sizes"),
    "9": (
        *("header", "origin_system", "title and name", "created_date and modified_date", "instructions"),
        *("browser_url and featured_image_url", "start_date and end_date", "guests_can_invite_others"),
        *("platform:sponsor", "creator and organizer", "attendance links", "location", "identifiers"),
        *("capacity and platform:hidden", "webhook payload"),
    ),
}
