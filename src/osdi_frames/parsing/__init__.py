"""Parse documents into Arrow tables of declared columns.

The tables have the rows of every version of every element, and nothing here knows deduplication or filters.

- `plan`: which columns are parsed, and the shape of documents that they declare
- `parse`: the one pass over groups of documents, and the `Observer` of what it meets
- `queries`: the queries that parse them
- `parsed`: what stands at paths, and which of it fits its type; `columns`: the columns made of it
- `documents`: the elements of a document that Python parses; `mend` brings what does not fit into a form that does
- `undeclared`: the keys that no table reads; `check`: problems, keys and counts of a whole archive
"""
