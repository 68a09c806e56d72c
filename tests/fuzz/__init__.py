"""A fuzzing program: damaged and unusual archives, read by `osdi_frames` and by an independent reading."""

import sys
from pathlib import Path

# The reference reading and its samples are modules of the tests' folder, which pytest adds to the path.
TESTS = str(Path(__file__).parents[1])
if TESTS not in sys.path:
    sys.path.append(TESTS)
