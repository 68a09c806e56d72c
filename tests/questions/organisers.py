"""Twelve questions of organisers about their people, each answered by three lines of code at most.

Each takes what an analyst has at hand: the archive, and its frames. Notebooks answer them with the same lines.
"""

import pandas as pd

import osdi_frames as of


def who_came_twice_and_was_not_seen_for_three_months(supporters):
    return supporters[(supporters.attended >= 2) & (supporters.days_since > 90)]


def who_moved_between_levels_this_year(actions):
    return of.people_by_level(actions, before="2025-12-31")


def who_gave_fifty_dollars(archive):
    given = archive.supporter_amounts().query("currency == 'USD'")
    return given[given.amount >= 50].sort_values("amount", ascending=False)


def new_people_by_letter(actions):
    return of.growth(actions[actions.action == "wrote"], by="title", freq="Y")


def sources_of_those_who_came_looking_back_a_month(actions):
    return of.attribution(actions, to="attended", touch="last", lookback="30D")


def what_each_page_brought_and_how_much_recurs(donations, pages):
    titled = donations.merge(pages[["fundraising_page_id", "title"]], how="left")
    return of.amounts_by(titled, ["title", "recurring"])


def which_events_are_nearly_full(events):
    soon = of.upcoming(events, now="2026-08-01")
    return soon[soon.seats_left <= 10]


def who_stayed_and_who_lapsed(actions):
    return of.engagement(actions, "Q")[["people", "retained", "lapsed"]]


def sources_of_one_petition(archive):
    of_petition = archive.where(petition="protected bike lanes for m").signatures()
    return of.signatures_by_source(of_petition)


def signatures_of_each_month_in_new_york(signatures):
    return of.signatures_over_time(signatures, freq="M", timezone="America/New_York")


def sources_that_changed_by_more_than_chance(signatures):
    compared = of.compare(signatures, "M")
    return compared[~compared.by_chance]


def levels_and_sources_in_one_workbook(actions, report, path):
    of.write_excel({"Levels": of.people_by_level(actions), "Sources": report}, path)
    return pd.read_excel(path, sheet_name="Levels", index_col="level")
