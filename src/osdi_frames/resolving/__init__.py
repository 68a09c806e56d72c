"""All versions of an element to one row: deduplication, filters, what reports leave out, growth from pull to pull.

It takes rows of every version, as `parsing` gives them, in any order of files; it opens no file.
"""
