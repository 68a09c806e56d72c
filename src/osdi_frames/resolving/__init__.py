"""Resolve all versions of an element to one row.

Deduplication, filters, exclusion and growth from pull to pull are decided here and nowhere else.
It takes rows of every version, in any order of files, and opens no file.
"""
