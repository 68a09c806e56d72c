"""The notebooks teach what is true: executed from a clean state, each shows the figures that are committed."""

import re
import time

import pytest

from tests.notebook_runs import NOTEBOOKS, code, executed, figures, kernel, read


def test_notebooks_are_numbered_without_gaps():
    assert [path.name[:3] for path in NOTEBOOKS] == [f"{n:02}-" for n in range(1, len(NOTEBOOKS) + 1)]


def test_notebooks_show_the_committed_figures_and_leave_nothing_behind(tmp_path):
    """They share a kernel, whose imports take longer than a notebook."""
    with kernel() as shared:
        for path in NOTEBOOKS:
            folder = tmp_path / path.stem
            again = executed(path, folder, shared)
            for committed, cell in zip(code(read(path)), code(again), strict=True):
                assert figures(cell) == figures(committed), f"{path.name}, after:\n{cell.source}"
            left = {path.name for path in (folder / "notebooks").iterdir()}
            assert left == {
                entry.name for entry in path.parent.iterdir() if not entry.name.startswith(("_", "."))
            }


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_takes_less_than_a_minute_in_a_kernel_of_its_own(path, tmp_path):
    started = time.monotonic()
    with kernel() as fresh:
        again = executed(path, tmp_path, fresh)
    assert time.monotonic() - started < 60
    assert [figures(cell) for cell in code(again)] == [figures(cell) for cell in code(read(path))]


def test_notebooks_are_committed_with_the_outputs_of_one_run_from_the_top():
    for path in NOTEBOOKS:
        cells = code(read(path))
        assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1)), path.name
        assert sum(bool(cell.outputs) for cell in cells) > len(cells) / 2, path.name
        assert cells[0].outputs, f"{path.name} prepares before it shows something"
        assert not [
            cell.source for cell in cells if "set_option" in cell.source or "pd.options" in cell.source
        ]
        outputs = [output for cell in cells for output in cell.outputs]
        assert not [output for output in outputs if output.output_type == "error"]
        assert not [output.text for output in outputs if output.get("name") == "stderr"]


def test_notebooks_are_committed_without_the_traces_of_their_run():
    for notebook in map(read, NOTEBOOKS):
        assert set(notebook.metadata) == {"kernelspec", "language_info"}
        assert notebook.metadata.language_info == {"name": "python"}
        assert not [cell.metadata for cell in notebook.cells if cell.metadata]


def test_the_notebooks_are_small_enough_to_clone():
    assert sum(path.stat().st_size for path in NOTEBOOKS) < 1_500_000


def test_every_notebook_is_in_the_list_of_the_folder():
    listed = re.findall(r"\]\((\d\d-[a-z-]+\.ipynb)\)", (NOTEBOOKS[0].parent / "README.md").read_text())
    assert listed == [path.name for path in NOTEBOOKS]
