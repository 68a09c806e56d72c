"""Parse documents into Arrow tables of declared columns.

The tables have rows of every version of every element; this package knows nothing of deduplication and filters.

- `plan`: the columns that are parsed, and the JSON structure that they need
- `parse`: the pass over groups of documents, and the `Observer` of its problems and counts
- `group`: one group of documents: clean ones in one query, others mended before
- `queries`: the DuckDB queries that parse documents
- `parsed`: the values at a path, cast to their types; `columns`: the rows made of them
- `documents`: the elements of one document, found in Python; `mend`: unexpected values replaced or rewritten
- `listings`: the totals of collections, and the records on their pages
- `undeclared`: the keys that no column reads; `check`: problems, keys and counts of a whole archive
"""
