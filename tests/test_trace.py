"""How far into the package a reader of the code has to go: the files that one delivery passes through."""

import ast
import json
import subprocess
import sys

import pytest

#: The files of the package that one delivery may enter on its way, as many as today; 14 and 20 are wanted. Of those to
#: a report a third are about acts and people. A module of relations is to replace several of those that resolve.
MOST_FILES_TO_A_FRAME = 25
MOST_FILES_TO_A_REPORT = 43

DELIVERY = [
    {
        "osdi:signature": {
            "identifiers": ["platform:1"],
            "created_date": "2026-01-01T00:00:00Z",
            "_links": {},
        },
        "idempotency_key": "k",
    }
]

#: Prints the files whose functions are called, in order; imports, and what is done once, have been before.
PROGRAM = """
import sys, threading
from pathlib import Path
import osdi_frames as of

package, entered = Path(of.__file__).parent, {}

def enter(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(str(package)):
        entered[Path(code.co_filename).relative_to(package).as_posix()] = None

def follow(folder):
    CALL

follow(sys.argv[1])
threading.setprofile(enter)
sys.setprofile(enter)
follow(sys.argv[1])
sys.setprofile(None)
print([*entered])
"""


def entered(call, folder):
    """Return the files of the package that a call enters which reads a folder with one delivery."""
    (folder / "delivery.json").write_text(json.dumps(DELIVERY))
    program = [sys.executable, "-c", PROGRAM.replace("CALL", call), folder]
    return ast.literal_eval(subprocess.run(program, capture_output=True, text=True, check=True).stdout)


def test_only_a_column_about_what_is_gone_makes_a_reading_look_for_manifests(tmp_path):
    without, asked = (
        entered(f"of.open(folder).signatures([{column!r}])", tmp_path) for column in ("source", "gone_since")
    )
    assert {*asked} - {*without} == {"pulls.py"}


@pytest.mark.parametrize(
    ("call", "most"),
    [
        ("of.open(folder).signatures()", MOST_FILES_TO_A_FRAME),
        ("of.open(folder).report()", MOST_FILES_TO_A_REPORT),
    ],
    ids=["frame", "report"],
)
def test_a_delivery_enters_few_files_on_its_way(tmp_path, call, most):
    files = entered(call, tmp_path)
    print(len(files), *files, sep="\n")  # shown by pytest -s, and where it fails
    assert {"archive.py", "tables", "sources", "parsing", "resolving"} <= {
        file.partition("/")[0] for file in files
    }
    assert len(files) <= most
