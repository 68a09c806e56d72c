"""Documents to tables: a plan, queries that read the mass of the documents, and mending of what they cannot.

`plan` compiles what is asked for into shapes; `query` derives the queries; `stream` is the one pass over groups of
documents, each read by `group`: with `parsed`, `values` and `columns` for the mass of the documents, `documents` and
`mend` for what does not fit; `dedupe` is for repeats; `frames` and `check` are what users call.
"""
