"""Categories of input that are known to fail today. The list is empty when issue 10 is done.

A name is that of a feature in `making.FEATURES`. The default run makes no such input, and a test fails
when a listed category no longer fails.
"""

KNOWN: frozenset[str] = frozenset()
