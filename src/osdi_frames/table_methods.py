"""A method of an archive for each declared table."""

from __future__ import annotations

from osdi_frames.reader import Reader, TableMethod


class TableMethods(Reader):
    """A reader with a method for each declared table; a test keeps these equal to the declarations."""

    events = TableMethod("events")
    """`start_date` and `end_date` are the wall clock at the place of the event (interface 2.1)."""
    event_reminders = TableMethod("event_reminders")
    event_identifiers = TableMethod("event_identifiers")
    event_people = TableMethod("event_people")
    event_campaigns = TableMethod("event_campaigns")
    campaigns = TableMethod("event_campaigns")
    attendances = TableMethod("attendances")
    attendance_tags = TableMethod("attendance_tags")
    attendance_emails = TableMethod("attendance_emails")
    attendance_phones = TableMethod("attendance_phones")
    attendance_addresses = TableMethod("attendance_addresses")
    attendance_custom_fields = TableMethod("attendance_custom_fields")
    attendance_identifiers = TableMethod("attendance_identifiers")
    attendance_tickets = TableMethod("attendance_tickets")
    petitions = TableMethod("petitions")
    signatures = TableMethod("signatures")
    signature_tags = TableMethod("signature_tags")
    signature_emails = TableMethod("signature_emails")
    signature_phones = TableMethod("signature_phones")
    signature_addresses = TableMethod("signature_addresses")
    signature_custom_fields = TableMethod("signature_custom_fields")
    signature_identifiers = TableMethod("signature_identifiers")
    forms = TableMethod("forms")
    submissions = TableMethod("submissions")
    submission_tags = TableMethod("submission_tags")
    submission_emails = TableMethod("submission_emails")
    submission_phones = TableMethod("submission_phones")
    submission_addresses = TableMethod("submission_addresses")
    submission_custom_fields = TableMethod("submission_custom_fields")
    submission_identifiers = TableMethod("submission_identifiers")
    fundraising_pages = TableMethod("fundraising_pages")
    donations = TableMethod("donations")
    donation_tags = TableMethod("donation_tags")
    donation_emails = TableMethod("donation_emails")
    donation_phones = TableMethod("donation_phones")
    donation_addresses = TableMethod("donation_addresses")
    donation_custom_fields = TableMethod("donation_custom_fields")
    donation_identifiers = TableMethod("donation_identifiers")
    donation_recipients = TableMethod("donation_recipients")
    advocacy_campaigns = TableMethod("advocacy_campaigns")
    outreaches = TableMethod("outreaches")
    outreach_tags = TableMethod("outreach_tags")
    outreach_emails = TableMethod("outreach_emails")
    outreach_phones = TableMethod("outreach_phones")
    outreach_addresses = TableMethod("outreach_addresses")
    outreach_custom_fields = TableMethod("outreach_custom_fields")
    outreach_identifiers = TableMethod("outreach_identifiers")
    outreach_targets = TableMethod("outreach_targets")
    surveys = TableMethod("surveys")
    responses = TableMethod("responses")
    response_tags = TableMethod("response_tags")
    response_emails = TableMethod("response_emails")
    response_phones = TableMethod("response_phones")
    response_addresses = TableMethod("response_addresses")
    response_custom_fields = TableMethod("response_custom_fields")
    response_identifiers = TableMethod("response_identifiers")
    uploads = TableMethod("uploads")
    upload_tags = TableMethod("upload_tags")
    people = TableMethod("people")
    """Names, e-mail, phone, address and languages are each from the newest page, act or event that carries them; custom
    fields are merged by name. `first_seen` and `last_seen` take the dates of the person and of the acts."""
    tags = TableMethod("tags")
    taggings = TableMethod("taggings")
    actions = TableMethod("actions")
    """An attendance is ``rsvped`` when it was made and, where `attended` is true, ``attended`` at the event's
    `start_date`, else at its modified_date, and never before it was made. Who created an event ``hosted``.

    `number` counts the acts of a person that have a date and are not excluded, from 1, those that `where` leaves out as
    well. `is_new` is true of a first act if the person was created at most a day before or after it, missing if later,
    as by an import, or at no known time, and false of all other acts.
    """
