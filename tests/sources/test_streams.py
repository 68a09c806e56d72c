"""What is read through compression is what was compressed, whatever its pieces, up to where it breaks."""

import bz2
import gzip
import io
import lzma
import random
import sys
import zlib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from osdi_frames.sources.streams import BufferedStream, Pieces, gunzipped, unbzip2, unxz, unzstd
from tests.layouts import lines, zstd

from .reading import agreed, event

if sys.version_info >= (3, 14):
    from compression import zstd as zstandard
else:
    from backports import zstd as zstandard

CHECKSUM = {zstandard.CompressionParameter.checksum_flag: 1}

#: Around the block that is decompressed at once, and well above it.
SIZES = st.one_of(st.integers(0, 300), st.integers(65_000, 66_000), st.integers(100_000, 200_000))
PACKED = {
    "gz": (gzip.compress, gunzipped),
    "zst": (zstd, unzstd),
    "bz2": (bz2.compress, unbzip2),
    "xz": (lzma.compress, unxz),
}


def unpacked(packed, unpack):
    """Return what is read of a stream, and the error that ended it."""
    stream, read = BufferedStream(Pieces(unpack(BufferedStream(io.BytesIO(packed))))), b""
    try:
        while block := stream.read1(1 << 16):
            read += block
    except Exception as error:  # noqa: BLE001 (whichever the decompressor has)
        return read, error
    return read, None


@pytest.mark.parametrize("kind", PACKED)
@settings(max_examples=8)
@example(sizes=[100_000, 100_000], zeros=0, seed=0)
@given(sizes=st.lists(SIZES, min_size=1, max_size=3), zeros=st.integers(0, 3), seed=st.integers(0, 3))
def test_every_byte_of_every_member_or_frame_is_read_once(kind, sizes, zeros, seed):
    pack, unpack = PACKED[kind]
    padding = b"" if kind == "zst" else b"\0" * zeros
    pieces = [random.Random(seed).randbytes(size // 2) * 2 for size in sizes]
    packed = b"".join(pack(piece) + padding for piece in pieces)
    assert unpacked(packed, unpack) == (b"".join(pieces), None)


@pytest.mark.parametrize("kind", PACKED)
def test_a_stray_newline_after_the_last_frame_loses_no_row_and_is_reported(kind, tmp_path):
    pack, _ = PACKED[kind]
    path = tmp_path / f"a.ndjson.{kind}"
    path.write_bytes(pack(lines([event(number) for number in range(300)])) + b"\n")
    rows, problems = agreed(path)
    assert rows == [f"e{number}" for number in range(300)]
    assert len(problems) == 1


@pytest.mark.parametrize("kind", PACKED)
def test_every_byte_before_a_damaged_one_is_read(kind):
    pack, unpack = PACKED[kind]
    noise = random.Random(1)
    pieces = [noise.randbytes(70_000) for _ in range(4)]
    packed = [pack(piece) for piece in pieces]
    damaged = bytearray(b"".join(packed))
    damaged[sum(map(len, packed[:3])) + 2] ^= 0xFF  # in the header of the fourth
    read, error = unpacked(bytes(damaged), unpack)
    assert read == b"".join(pieces[:3])
    assert error is not None


def test_what_precedes_a_damaged_block_within_one_deflate_stream_is_read():
    noise = random.Random(2)
    compressor = zlib.compressobj(wbits=31)
    pieces = [noise.randbytes(3000) for _ in range(10)]
    packed = [compressor.compress(piece) + compressor.flush(zlib.Z_FULL_FLUSH) for piece in pieces]
    damaged = bytearray(b"".join([*packed, compressor.flush()]))
    damaged[sum(map(len, packed[:7]))] |= 0b110  # a type of block that does not exist
    read, error = unpacked(bytes(damaged), gunzipped)
    assert read == b"".join(pieces[:7])
    assert isinstance(error, zlib.error)


@pytest.mark.parametrize("kind", PACKED)
def test_any_flipped_byte_of_a_compressed_file_is_reported_or_harmless(kind):
    pack, unpack = PACKED[kind]
    whole = lines([event(number) for number in range(20)])
    # With a checksum, as the zstd program writes it; Arrow writes none.
    packed = zstandard.compress(whole, options=CHECKSUM) if kind == "zst" else pack(whole)
    for at in range(len(packed)):
        damaged = bytearray(packed)
        damaged[at] ^= 0xFF
        read, error = unpacked(bytes(damaged), unpack)
        assert error is not None or read == whole, at


@pytest.mark.parametrize("kind", ["bz2", "xz"])
def test_of_a_bzip2_or_xz_that_breaks_the_beginning_is_read_and_the_break_is_an_error(kind):
    pack, unpack = PACKED[kind]
    whole = random.Random(3).randbytes(2_200_000)
    packed = pack(whole)
    damaged = bytearray(packed)
    damaged[len(packed) * 9 // 10] ^= 0xFF
    for broken in (packed[: len(packed) * 9 // 10], bytes(damaged)):
        read, error = unpacked(broken, unpack)
        assert error is not None
        assert read[:900_000] == whole[:900_000]  # what follows can be wrong: the checksum is at the end


def test_an_xz_that_asks_for_more_memory_than_any_preset_is_reported(tmp_path):
    path = tmp_path / "a.ndjson.xz"
    packed = bytearray(lzma.compress(lines([event(1)])))
    end = 12 + packed[12] * 4  # of the header of the block, before its checksum
    packed[packed.index(b"\x21\x01", 12) + 2] = 36  # a dictionary of a gibibyte
    packed[end : end + 4] = zlib.crc32(packed[12:end]).to_bytes(4, "little")
    path.write_bytes(packed)
    rows, (problem,) = agreed(path)
    assert rows == []
    assert "Memory usage limit" in problem
