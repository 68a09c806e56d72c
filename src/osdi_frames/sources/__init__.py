"""Sources: paths, open files and objects as documents.

The stream is one of *candidates*: the bytes of one document each, in almost every case. Whether they are JSON
is left to the reader, who parses them anyway; `split` then finds the documents in those that are not one.
"""
