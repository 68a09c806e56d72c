"""The client: pulls that are fast, polite and complete, or say so; and events written.

`client` is what users see. `transport` is the only module here that imports httpx; `address` and `answers` decide
without I/O.
"""
