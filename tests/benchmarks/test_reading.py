"""How fast archives are read, against what people write by hand; ratios within one run.

``pytest -m long -s tests/benchmarks`` prints the figures.
"""

import json
import statistics
import subprocess
import sys

import pytest

from osdi_frames import sample

#: Each program reads the file named in its first argument and holds every column in memory at the end.
PROGRAMS = {
    # Row for row what json_normalize does, which keeps the retries.
    "osdi_frames": """
        table = of.scan(path, "signatures", dedupe=False).read_all()
        rows = table.num_rows
    """,
    "three columns": """
        table = of.scan(path, "signatures", dedupe=False, columns=["signature_id", "created_date", "source"]).read_all()
        rows = table.num_rows
    """,
    "one row a signature": """
        table = of.scan(path, "signatures").read_all()
        rows = table.num_rows
    """,
    "json_normalize": """
        with open(path, "rb") as file:
            frame = pd.json_normalize([element for line in file for element in orjson.loads(line)])
        rows = len(frame)
    """,
}

MEASURED = """
import json, resource, sys, textwrap, time
import orjson, osdi_frames as of, pandas as pd
path = sys.argv[1]
started = time.perf_counter()
exec(textwrap.dedent(sys.argv[2]))
seconds = time.perf_counter() - started
print(json.dumps({"seconds": seconds, "rows": rows, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))
"""


def measure(name, path):
    command = [sys.executable, "-c", MEASURED, str(path), PROGRAMS[name]]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def compare(one, other, path, *, runs):
    """Run two programs in turn; give the median of their ratios, and the last figures of each."""
    pairs = [(measure(one, path), measure(other, path)) for _ in range(runs)]
    for mine, theirs in pairs:
        print(f"\n{one}: {mine}\n{other}: {theirs}\nratio {mine['seconds'] / theirs['seconds']:.3f}")
    return statistics.median(mine["seconds"] / theirs["seconds"] for mine, theirs in pairs), *pairs[-1]


@pytest.fixture(scope="module")
def deliveries(tmp_path_factory):
    def make(count):
        folder = tmp_path_factory.mktemp("archive")
        sample.write(folder, signatures=count, events=0, one_file=True, overwrite=True)
        return folder / "deliveries.ndjson"

    return make


def test_20_000_deliveries_are_read_faster_than_by_json_normalize(deliveries):
    ratio, mine, _ = compare("osdi_frames", "json_normalize", deliveries(20_000), runs=3)
    assert ratio < 1
    assert mine["peak"] < 1.5e9


@pytest.mark.long
def test_200_000_deliveries_are_read_in_a_quarter_of_the_time_of_json_normalize(deliveries):
    path = deliveries(200_000)
    print(f"\n{path.stat().st_size / 1e6:.0f} MB")
    ratio, mine, theirs = compare("osdi_frames", "json_normalize", path, runs=3)
    assert 0 < mine["rows"] <= theirs["rows"]  # json_normalize makes rows of other element types, too
    assert ratio <= 0.25
    assert mine["peak"] < 1.5e9


@pytest.mark.long
def test_one_row_a_signature_is_read_in_little_more_than_all_rows(deliveries):
    ratio, mine, _ = compare("one row a signature", "osdi_frames", deliveries(200_000), runs=3)
    assert ratio < 1.6
    assert mine["peak"] < 1.5e9


@pytest.mark.long
def test_three_columns_are_read_in_half_the_time_of_all(deliveries):
    ratio, _, _ = compare("three columns", "osdi_frames", deliveries(200_000), runs=3)
    assert ratio < 0.7
