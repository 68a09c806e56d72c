"""Which test shows which row of the contract: a row without one fails."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from .contract import ROWS

V2, V1 = "test_events_v2", "test_events_v1"
SEEN, RULES, SIGNED = "test_collections", "test_rules", "test_signatures"

EDITED = "test_an_editable_field_comes_back_as_it_was_posted_and_put"
MADE = "test_a_field_that_the_service_makes_is_ignored_in_post_and_put"
CONSTANT = "test_constants_are_always_the_same"
BY_HAND = "test_what_only_the_user_interface_sets_is_shown"
GEOCODED = "test_a_known_postal_code_overwrites_what_was_posted"
LINKS = "test_links_of_an_event_lead_where_the_contract_says"
PAGES = "test_the_pages_hold_every_event_once_newest_first"
ENTERED = "test_a_payload_has_only_the_fields_that_the_person_entered"
RENAMED = "test_a_field_set_in_one_version_is_read_in_the_other_under_its_name"
ONLY_V2 = "test_v2_only_fields_are_not_in_v1"

# section, then the test, then its rows
SHOWN: Mapping[str, Mapping[tuple[str, str], tuple[str, ...]]] = {
    "2.1": {
        (V2, "test_identifiers_begin_with_the_service_s_own_and_keep_the_posted"): ("identifiers",),
        (V2, EDITED): (
            *("origin_system", "name", "title", "description", "instructions", "browser_url"),
            *("start_date", "end_date"),
        ),
        (V2, "test_a_post_without_a_required_field_is_refused_with_its_name"): ("title", "origin_system"),
        (V2, "test_created_and_modified_date_are_utc_and_modified_moves"): ("created_date", "modified_date"),
        (V2, BY_HAND): (
            "featured_image_url",
            "capacity",
            "platform:hidden",
            "platform:event_campaign_id",
        ),
        (V2, "test_start_is_kept_as_the_wall_clock_that_was_posted"): ("start_date", "end_date"),
        (V2, "test_total_accepted_is_nought_on_creation"): ("total_accepted",),
        (V2, CONSTANT): ("status", "transparence", "visibility", "guests_can_invite_others", "reminders"),
        (V2, "test_a_group_key_adds_the_sponsor_and_an_individual_key_none"): ("platform:sponsor",),
        (V2, MADE): (
            *("created_date", "modified_date", "featured_image_url", "total_accepted", "capacity"),
            *("platform:event_campaign_id", "status", "transparence", "visibility", "platform:hidden"),
            *("guests_can_invite_others", "reminders", "platform:sponsor"),
        ),
        (V2, "test_an_invalid_value_is_ignored"): ("location",),
    },
    "2.2": {
        (V2, "test_venue_and_postal_code_are_kept"): ("venue", "postal_code"),
        (V2, "test_only_the_first_address_line_is_kept"): ("address_lines",),
        (V2, GEOCODED): (
            *("locality", "region", "language", "location", "location.latitude", "location.longitude"),
        ),
        (V2, "test_a_street_address_makes_it_rooftop"): ("location.accuracy",),
        (V2, "test_the_country_is_us_unless_posted_and_chooses_the_place"): ("country",),
        (V2, "test_without_a_location_the_answer_has_the_contract_s_defaults"): (
            "an event without location data",
        ),
    },
    "2.3": {(V2, CONSTANT): ("method", "minutes")},
    "2.4": {
        (V2, "test_a_group_key_adds_the_sponsor_and_an_individual_key_none"): ("title", "browser_url"),
        (SIGNED, "test_the_sponsor_is_the_referring_group_when_its_code_was_used"): ("title",),
    },
    "2.5": {
        (V2, LINKS): (
            *("self", "osdi:attendances", "osdi:record_attendance_helper", "osdi:creator", "osdi:organizer"),
            "platform:embed",
        ),
        (V2, "test_every_link_of_an_event_resolves"): ("platform:event_campaign", "curies"),
        (V2, "test_curies_name_osdi_and_the_service"): ("curies",),
        ("test_attendances", "test_an_attendance_can_name_a_person_by_link"): (
            "osdi:record_attendance_helper",
        ),
    },
    "2.6": {
        (SEEN, PAGES): (*("total_pages", "per_page", "page", "total_records", "_embedded.osdi:events"),),
        (SEEN, "test_next_is_the_collection_with_the_next_page"): ("_links.next",),
        (SEEN, "test_links_of_a_page_are_self_the_events_and_curies"): (
            *("_links.self", "_links.osdi:events", "_links.curies"),
        ),
        (SEEN, "test_one_event_is_the_same_alone_and_in_its_collection"): ("an individual event",),
    },
    "2.7": {
        (SIGNED, "test_signature_fields_are_what_was_entered"): (
            *("identifiers", "created_date", "modified_date", "comments", "platform:referrer_data", "person"),
            "add_tags",
        ),
        (SIGNED, "test_links_of_a_signature_resolve"): ("_links", "self", "osdi:person", "osdi:petition"),
        (SIGNED, "test_the_sponsor_is_the_group_with_its_address_under_url"): ("platform:sponsor",),
        (SIGNED, "test_the_idempotency_key_is_the_same_over_retries_and_another_for_each_message"): (
            "idempotency_key",
        ),
        (SIGNED, "test_a_referrer_must_be_a_valid_code"): ("source", "referrer", "website"),
        (SIGNED, ENTERED): (
            *("person.created_date, person.modified_date", "person.family_name", "person.postal_addresses"),
            *("person.email_addresses", "person.phone_numbers", "person.languages_spoken"),
            "person.custom_fields",
        ),
    },
    "2.8": {
        (V1, EDITED): (
            *("originating_system", "summary", "description", "platform:event_instructions", "start"),
        ),
        (V1, "test_a_post_without_a_required_field_is_refused_with_its_name"): (
            "originating_system",
            "summary",
        ),
        (V1, MADE): (
            *("created_at", "modified_at", "url", "osdi:organizer", "total_accepted"),
            *("platform:event_campaign_id", "platform:sponsor"),
        ),
        (V1, CONSTANT): (
            *("status", "transparence", "visibility", "guestsCanInviteOthers", "reminders"),
            *("reminders.method", "reminders.minutes"),
        ),
        (V1, "test_location_is_overwritten_from_geocoding"): (
            *("location", "location.venue", "location.address_lines", "location.locality", "location.region"),
            *("location.language", "location.location", "location.location.latitude"),
            *("location.location.longitude", "location.location.accuracy"),
        ),
        (V1, "test_a_location_needs_its_postal_code"): ("location.postal_code",),
        (V1, "test_the_country_is_that_of_the_postal_code"): ("location.country",),
        (V1, "test_without_any_location_a_post_is_answered_as_the_sample_is"): (
            "the sample without postal_code",
        ),
        (V1, "test_the_creator_and_organizer_are_embedded_people"): ("osdi:organizer", "an embedded person"),
        (RULES, "test_v1_takes_an_embedded_person_as_creator"): ("osdi:creator",),
        (V1, "test_the_sponsor_has_its_v1_names"): ("platform:sponsor.summary", "platform:sponsor.url"),
        (V1, "test_v1_links_and_curies_are_those_of_v1"): ("v1 links",),
        (V1, "test_every_link_of_an_embedded_person_resolves"): ("links of an embedded person",),
        (V1, "test_identifiers_begin_with_the_service_s_own_and_keep_the_posted"): ("identifiers",),
    },
    "3": {
        (V2, "test_an_event_is_confirmed_whatever_state_is_sent"): ("confirmed", "tentative", "cancelled"),
    },
    "4": {
        (RULES, "test_successful_answers_have_the_contract_s_headers"): (
            *("headers", "GET events/<event_id>", "POST events"),
        ),
        (SEEN, "test_a_trailing_slash_is_the_same_address"): ("GET events",),
        (SEEN, "test_a_campaign_has_the_events_of_it_even_those_that_no_other_collection_shows"): (
            "GET event_campaigns/<event_campaign_id>/events",
        ),
        (RULES, "test_put_answers_the_whole_event_after_a_partial_change"): ("PUT events/<event_id>",),
        (RULES, "test_an_event_cannot_be_deleted"): ("DELETE events/<event_id>",),
        (SEEN, "test_an_impossible_page_is_refused_clearly"): ("page",),
        (SEEN, "test_a_filter_chooses_events"): ("other query parameters",),
        (V2, MADE): ("rule 1",),
        (V2, "test_an_invalid_value_is_ignored"): ("rule 1",),
        (V1, MADE): ("rule 1",),
        (RULES, "test_the_creator_cannot_be_changed"): ("rule 1",),
        (RULES, "test_an_individual_key_creates_as_its_own_person_whatever_it_names"): ("rule 2",),
        (RULES, "test_a_group_key_may_name_creators_by_their_role"): ("rule 2",),
        (RULES, "test_a_named_creator_gets_the_attendees_on_their_own_list_and_a_default_one_does_not"): (
            "rule 2, the creator's list",
        ),
        (RULES, "test_a_post_with_a_known_identifier_changes_that_event"): ("rule 3",),
        (RULES, "test_a_put_adds_an_identifier"): ("rule 3",),
        (RULES, "test_total_accepted_is_the_number_of_attendances"): ("rule 4",),
        (SIGNED, "test_a_signature_is_delivered_as_the_contract_s_payload"): ("POST <webhook_url>",),
    },
    "5": {
        (RULES, "test_each_version_has_its_header"): ("v2", "v1", "a missing or invalid key"),
        (RULES, "test_a_key_sees_its_own_events_only"): ("individual or group",),
        (V2, "test_a_group_key_adds_the_sponsor_and_an_individual_key_none"): ("individual or group",),
    },
    "6": {
        (SIGNED, "test_a_signature_is_delivered_as_the_contract_s_payload"): ("event type", "emission"),
        (SIGNED, "test_the_idempotency_key_is_the_same_over_retries_and_another_for_each_message"): (
            "idempotency_key",
        ),
        (SIGNED, ENTERED): ("payload",),
        (SIGNED, "test_events_and_attendances_emit_nothing"): ("no webhook of event endpoints",),
        (SIGNED, "test_only_200_counts_and_after_three_retries_a_message_is_set_aside"): (
            "retries and success",
        ),
        (SIGNED, "test_triggers_are_one_petition_or_all_with_uploads_or_without"): ("trigger",),
    },
    "7": {
        (RULES, "test_an_event_cannot_be_deleted"): ("1",),
        (RULES, "test_an_individual_key_creates_as_its_own_person_whatever_it_names"): ("2",),
        (V2, MADE): ("3",),
        (V2, "test_an_invalid_value_is_ignored"): ("3",),
        (RULES, "test_an_unknown_id_address_or_method_is_a_json_error"): ("4",),
        (RULES, "test_a_body_that_is_no_json_object_of_text_is_refused"): ("4",),
        (RULES, "test_successful_answers_have_the_contract_s_headers"): ("200, not 201",),
    },
    "8": {
        (SEEN, PAGES): ("25 a page",),
        (V2, "test_only_the_first_address_line_is_kept"): ("first address line",),
        (V2, CONSTANT): ("1440 minutes",),
        (RULES, "test_a_body_that_is_no_json_object_of_text_is_refused"): ("sizes",),
    },
    "9": {
        (RULES, "test_each_version_has_its_header"): ("header",),
        (V1, RENAMED): ("origin_system", "title and name", "instructions", "start_date and end_date"),
        (V1, "test_times_sponsor_and_guests_have_the_names_of_each_version"): (
            *("created_date, modified_date", "browser_url and featured_image_url"),
            *("guests_can_invite_others", "platform:sponsor"),
        ),
        (V1, ONLY_V2): (
            *("title and name", "browser_url and featured_image_url", "start_date and end_date"),
            "capacity and platform:hidden",
        ),
        (V1, "test_the_creator_and_organizer_are_embedded_people"): ("creator and organizer",),
        (V1, "test_v1_links_and_curies_are_those_of_v1"): ("attendance links",),
        (V1, "test_a_location_needs_its_postal_code"): ("location",),
        (V1, "test_the_country_is_that_of_the_postal_code"): ("location",),
        (RULES, "test_a_post_with_a_known_identifier_changes_that_event"): ("identifiers",),
        (RULES, "test_an_identifier_of_another_key_s_event_is_refused_and_nothing_is_written"): (
            "identifiers",
        ),
        (SIGNED, "test_a_v1_post_is_delivered_with_v2_names"): ("webhook payload",),
    },
}


@pytest.mark.parametrize("section", ROWS)
def test_every_row_has_a_test(section):
    shown = {row for rows in SHOWN[section].values() for row in rows}
    assert sorted(shown) == sorted(set(ROWS[section]))


@pytest.mark.parametrize("section", SHOWN)
def test_every_test_of_the_table_is_there_and_names_the_section(section):
    for module, name in SHOWN[section]:
        tree = ast.parse((Path(__file__).parent / f"{module}.py").read_text(encoding="utf-8"))
        docstrings = {
            node.name: ast.get_docstring(node) for node in tree.body if isinstance(node, ast.FunctionDef)
        }
        assert name in docstrings, f"{module} has no {name}"
        named = re.search(rf"(?<![\d.]){re.escape(section)}(?!\d)", docstrings[name] or "")
        assert named, f"{name} does not name section {section}"
