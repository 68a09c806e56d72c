"""Resolve all versions of a thing to one row.

Deduplication, blocks, people, filters, exclusion and what is gone are decided here and nowhere else.
It takes rows of every version, in any order of files, and opens no file.

- `resolution`: a compiled request, with what to parse for it
- `resolver`: the three steps: collect versions, decide, resolve; then why reports leave a row out
- `selection`: what a request shows of resolved things: filters, titles, actions
- `versions`: the rows that wait, and what is noted of each version
- `merging`: which version of a thing is kept, and from which versions its blocks come
- `people`: their versions in all tables that hold persons, whose these are, and what acts take from people
- `gone`: what complete pulls prove to be no longer there; `filters`: by period, petition, campaign and status
"""
