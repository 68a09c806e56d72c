"""Parse documents into Arrow tables of declared columns.

They have the rows of every version of every element.
`plan` compiles what is asked for into shapes; `query` derives the queries; `stream` is the one pass over groups of
documents, each read by `group`: with `parsed`, `values` and `columns` for the mass of the documents, `documents` and
`mend` for what does not fit; `keys` counts the keys that no table declares, and `check` lists the problems.
"""
