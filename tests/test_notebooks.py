"""The notebooks teach what is true: executed from a clean state, each shows the figures that are committed."""

import re
import time

import pytest

from tests.notebook_runs import NOTEBOOKS, code, executed, figures, kernel, read

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def test_notebooks_are_numbered_without_gaps():
    assert [path.name[:3] for path in NOTEBOOKS] == [f"{n:02}-" for n in range(1, len(NOTEBOOKS) + 1)]


@pytest.fixture(scope="module")
def shared():
    """Start a kernel for all notebooks: its imports take longer than they do."""
    with kernel() as client:
        yield client


@each_notebook
def test_a_notebook_shows_the_committed_figures_and_leaves_nothing_behind(path, tmp_path, shared):
    again = executed(path, tmp_path, shared)
    for committed, cell in zip(code(read(path)), code(again), strict=True):
        assert figures(cell) == figures(committed), f"after:\n{cell.source}"
    left = {path.name for path in (tmp_path / "notebooks").iterdir()}
    assert left == {entry.name for entry in path.parent.iterdir() if not entry.name.startswith(("_", "."))}


@pytest.mark.long
@each_notebook
def test_a_notebook_takes_less_than_a_minute_in_a_kernel_of_its_own(path, tmp_path):
    started = time.monotonic()
    with kernel() as fresh:
        again = executed(path, tmp_path, fresh)
    assert time.monotonic() - started < 60
    assert [figures(cell) for cell in code(again)] == [figures(cell) for cell in code(read(path))]


@each_notebook
def test_a_notebook_is_committed_with_the_outputs_of_one_run_from_the_top(path):
    cells = code(read(path))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert sum(bool(cell.outputs) for cell in cells) > len(cells) / 2
    outputs = [output for cell in cells for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    assert not [output.text for output in outputs if output.get("name") == "stderr"]


@each_notebook
def test_a_notebook_is_committed_without_the_traces_of_its_run(path):
    notebook = read(path)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert notebook.metadata.language_info == {"name": "python"}
    assert not [cell.metadata for cell in notebook.cells if cell.metadata]


def test_the_notebooks_are_small_enough_to_clone():
    assert sum(path.stat().st_size for path in NOTEBOOKS) < 1_500_000


def test_every_notebook_is_in_the_list_of_the_folder():
    listed = re.findall(r"\]\((\d\d-[a-z-]+\.ipynb)\)", (NOTEBOOKS[0].parent / "README.md").read_text())
    assert listed == [path.name for path in NOTEBOOKS]
