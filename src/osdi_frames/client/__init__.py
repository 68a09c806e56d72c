"""The client: polite, complete pulls, and written events.

`client` is what users see. `transport` is the only module here that imports httpx; `address` and `answers` decide
without I/O.
"""
