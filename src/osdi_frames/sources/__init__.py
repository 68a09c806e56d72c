"""Sources: paths, open files and objects as documents.

Most of what is read are *candidates*: the bytes of one document each, in almost every case. Whether they are JSON is
left to the parser; `layout.split` then finds the documents in those that are not one.

- `source`: what a source can be, and its candidates; `partitions`: a source cut into parts for other processes
- `files`: which files are read, behind paths, patterns and addresses, by their names and first bytes
- `layout`: how documents lie in a file
- `members`: the files inside zips, tars and compressed files; `streams`: decompression; `limits`: bounds on it
- `remote`: files behind addresses; `manifest`: what a pull wrote about itself
"""
