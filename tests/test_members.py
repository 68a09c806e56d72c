"""What is read through compression is what was compressed, whatever the sizes of its pieces."""

import gzip
import io
import random
from typing import cast

from hypothesis import example, given, settings
from hypothesis import strategies as st

from osdi_frames.archive.members import Gunzip, Reader

#: Around the block that is decompressed at once, and well above it.
SIZES = st.one_of(st.integers(0, 300), st.integers(65_000, 66_000), st.integers(100_000, 200_000))


@settings(deadline=None)
@example(sizes=[100_000, 100_000], zeros=0, seed=0)
@given(sizes=st.lists(SIZES, min_size=1, max_size=5), zeros=st.integers(0, 3), seed=st.integers(0, 3))
def test_every_byte_of_every_gzip_member_is_read_once(sizes, zeros, seed):
    pieces = [random.Random(seed).randbytes(size // 2) * 2 for size in sizes]
    packed = b"".join(gzip.compress(piece) + b"\0" * zeros for piece in pieces)
    raw = Reader(cast("io.RawIOBase", io.BytesIO(packed)), 1 << 16)
    assert io.BufferedReader(Gunzip(raw)).read() == b"".join(pieces)
