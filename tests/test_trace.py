"""How far into the package a reader of the code has to go: the files that one delivery passes through."""

import ast
import json
import subprocess
import sys

import pytest

#: The files of the package that one delivery may enter on its way, as many as today; 14 and 20 are wanted. Of those to
#: a report a third are about acts and people. A module of relations is to replace several of those that resolve.
MOST_FILES_TO_A_FRAME = 29
MOST_FILES_TO_A_REPORT = 53

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

CALLS = {
    "frame": "of.open(folder).signatures()",
    "report": "of.open(folder).report()",
    "source": "of.open(folder).signatures(['source'])",
    "gone_since": "of.open(folder).signatures(['gone_since'])",
}
#: Prints the files whose functions each call enters, in order; imports, and what is done once, have been before.
PROGRAM = f"""
import sys, threading
from pathlib import Path
import osdi_frames as of

package, folder, entered = Path(of.__file__).parent, sys.argv[1], {{}}
calls = {{{", ".join(f"{name!r}: lambda: {call}" for name, call in CALLS.items())}}}

def enter(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(str(package)):
        files[Path(code.co_filename).relative_to(package).as_posix()] = None

for name, call in calls.items():
    call()
    files = entered[name] = {{}}
    threading.setprofile(enter)
    sys.setprofile(enter)
    call()
    sys.setprofile(None)
    threading.setprofile(None)
print({{name: [*files] for name, files in entered.items()}})
"""


@pytest.fixture(scope="module")
def entered(tmp_path_factory):
    """Return the files of the package that each call enters which reads a folder with one delivery."""
    folder = tmp_path_factory.mktemp("archive")
    (folder / "delivery.json").write_text(json.dumps(DELIVERY))
    program = [sys.executable, "-c", PROGRAM, folder]
    return ast.literal_eval(subprocess.run(program, capture_output=True, text=True, check=True).stdout)


def test_only_a_column_about_what_is_gone_makes_a_reading_look_for_manifests(entered):
    assert {*entered["gone_since"]} - {*entered["source"]} == {"pulls.py"}


@pytest.mark.parametrize(
    ("call", "most"), [("frame", MOST_FILES_TO_A_FRAME), ("report", MOST_FILES_TO_A_REPORT)]
)
def test_a_delivery_enters_few_files_on_its_way(entered, call, most):
    files = entered[call]
    print(len(files), *files, sep="\n")  # shown by pytest -s, and where it fails
    assert {"reader.py", "tables", "sources", "parsing", "resolving"} <= {
        file.partition("/")[0] for file in files
    }
    assert len(files) <= most
