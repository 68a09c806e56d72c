"""A type checker knows what every public function takes and returns."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import osdi_frames as of

#: What of the arguments a checker may take for anything: the parsed documents that a source can be.
_DOCUMENTS = ("Mapping[str, Any]", "Sequence[Any]", "Series[Any]")


def test_public_functions_say_what_they_return():
    functions = {name: getattr(of, name) for name in dir(of) if inspect.isfunction(getattr(of, name))}
    returned = {name: function.__annotations__["return"] for name, function in functions.items()}
    assert "Any" not in " ".join(returned.values())
    reports = [name for name in functions if name.startswith(("rsvps_", "attendances_", "signatures_"))]
    assert {returned[name] for name in reports} == {"pd.DataFrame"}
    assert len(reports) == 21


@pytest.mark.long  # a checker takes half a minute
def test_a_strict_checker_finds_no_any_in_public_names(tmp_path: Path):
    names = [name for name in dir(of) if name != "plots"]
    names += [f"plots.{name}" for name in of.plots.__all__]
    names += [f"reports.{name}" for name in of.reports.__all__]
    program = "\n".join(["import osdi_frames as of", *(f"reveal_type(of.{name})" for name in names)])
    (tmp_path / "user.py").write_text(program)
    root = Path(__file__).parents[1]
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", root / "pyproject.toml"]
    ran = subprocess.run([*command, tmp_path / "user.py"], cwd=root, capture_output=True, text=True)
    revealed = ran.stdout.splitlines()
    assert not [line for line in revealed if ": error:" in line]
    assert len(revealed) >= len(names)
    for line in revealed:
        for documents in _DOCUMENTS:
            line = line.replace(documents, "")
        assert "Any" not in line
