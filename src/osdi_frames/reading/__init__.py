"""Documents to tables: a plan, queries that read the mass of the documents, and mending of what they cannot.

`plan` compiles tables and columns into shapes; `query` derives the queries; `stream` is the one pass, with `parsed`,
`fitting` and `columns` for the mass of the documents, `documents`, `values` and `mend` for what does not fit, and
`dedupe` for repeats; `scan`, `frames` and `check` are what users call.
"""
