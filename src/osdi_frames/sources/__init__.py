"""Sources: paths, addresses, open files and objects, as a stream of documents.

Most of what is read are *candidates*: the bytes of one document each, in almost every case. Whether they are JSON is
left to the parser; `layout.split` then finds the documents in those that are not one.

- `source`: what a source can be, and its candidates; `partitions`: a source cut into parts for other processes
- `files`: which files are read, behind paths, patterns and addresses; `file_kinds`: what a file is, by name and content
- `layout`: how documents lie in a file; `log_lines`: JSON behind the prefix of a log line
- `wrapped`: documents inside of other JSON, and `wrapper_times`: when that was received
- `payload_tables`: tables of a warehouse, a column of which holds documents
- `members`: the files inside zips, tars and compressed files; `streams`: decompression; `limits`: bounds on it
- `remote`: files behind addresses
"""
