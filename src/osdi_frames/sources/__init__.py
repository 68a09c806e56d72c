"""The sources on disk: any path, folder, pattern, open file or Python object, as a stream of documents.

The stream is one of *candidates*: the bytes of one document each, in almost every case. Whether they are JSON
is left to the reader, who parses them anyway; `split` then finds the documents in those that are not one.
"""
