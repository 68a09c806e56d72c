"""What the reader of a notebook sees: short errors, warnings at the own line, bars that close. Real kernels."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.notebook_runs import PATIENT

BAD = '{"title": "March", "total_accepted": "lots"}\n'

ERRORS = {
    "of.read_events('nothing')": "SourceNotFound: there is no file or folder nothing",
    "of.read_events('data', columns=['titel'])": "UnknownColumn: events has no column 'titel'; nearest: title",
    "of.read_events('bad.ndjson')": 'BadDocument: bad.ndjson:1: not an integer: total_accepted = "xxxx"',
    "of.rsvps_by_campaign(events.assign(capacity='many'))": "InvalidColumn: rsvps_by_campaign cannot use the ",
    "of.Client('http://127.0.0.1:9/api/v2', 'a-key-for-none', retries=0).events()": "ServiceUnreachable: GET ",
    "of.Client('http://127.0.0.1:9/api/v2', 'a-key-for-none').pull('x', since='now')": "InvalidField: since is a ",
    "of.read_events({'title': print})": "InvalidSource: a source is a path, an open binary file, or parsed JSON",
}
IMPORT = "import osdi_frames as of"
WHOLE = "import sys, traceback; print(''.join(traceback.format_exception(sys.last_value)))"
OWN_FUNCTION = "def growth(frame):\n    return of.rsvps_by(frame, 'nothing')\n\ngrowth(events)"
SKIPPED = "of.read_events('bad.ndjson', on_error='skip').shape"
BAR = "import time\nfrom osdi_frames.progress import bar\nfor _ in bar('reading', None, over=[1, 2]): time.sleep(0.8)"


class Notebook:
    """The cells that a kernel has run, and what each showed."""

    def __init__(self, folder: Path, *sources: str) -> None:
        cells = [nbformat.v4.new_code_cell(source) for source in sources]
        self._notebook = nbformat.v4.new_notebook(cells=cells)
        NotebookClient(
            self._notebook,
            kernel_name="python3",
            allow_errors=True,
            store_widget_state=True,
            **PATIENT,
            resources={"metadata": {"path": str(folder)}},
        ).execute()

    def shown(self, source: str) -> list[Any]:
        return next(list(cell.outputs) for cell in self._notebook.cells if cell.source == source)

    def traceback(self, source: str) -> list[str]:
        error = self.shown(source)[-1]
        return re.sub(r"\x1b\[[\d;]*m", "", "\n".join(error.traceback)).splitlines()

    def widgets(self) -> list[dict[str, Any]]:
        states = self._notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
        return [state["state"] for state in states.values()]


@pytest.fixture(scope="module")
def notebook(data, tmp_path_factory) -> Notebook:
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "data").symlink_to(data)
    (folder / "bad.ndjson").write_text(BAD)
    return Notebook(
        folder, IMPORT, "events = of.read_events('data')", *ERRORS, WHOLE, OWN_FUNCTION, SKIPPED, BAR
    )


@pytest.mark.parametrize("source", ERRORS)
def test_an_error_is_the_own_line_and_one_that_says_what_is_wrong(notebook, source):
    shown = notebook.traceback(source)
    assert f"----> 1 {source}" in shown
    assert shown[-1].startswith(ERRORS[source])
    assert len(shown) <= 6


def test_the_lines_of_own_functions_are_shown_too(notebook):
    shown = notebook.traceback(OWN_FUNCTION)
    assert "----> 4 growth(events)" in shown
    assert "----> 2     return of.rsvps_by(frame, 'nothing')" in shown
    assert not any("osdi_frames" in line for line in shown)


def test_the_whole_traceback_with_its_cause_is_still_there_to_be_asked_for(notebook):
    whole = notebook.shown(WHOLE)[0].text
    assert "TypeError: Object of type builtin_function_or_method is not JSON serializable" in whole
    assert "source.py" in whole


def test_a_warning_of_passed_over_problems_names_the_own_line(notebook):
    shown = notebook.shown(SKIPPED)  # with a bar, too, where the machine is slow
    warned, frame = (
        output for output in shown if "application/vnd.jupyter.widget-view+json" not in output.get("data", {})
    )
    assert re.match(r"\S+ipykernel_\S+:1: ProblemsWarning: skipped 1 problem, the first", warned.text)
    assert warned.text.endswith(f"\n  {SKIPPED}\n")
    assert frame.data["text/plain"] == "(1, 48)"


def test_a_bar_is_a_widget_that_ends_full_and_is_hidden_then(notebook):
    assert len(notebook.shown(BAR)) == 1
    assert "application/vnd.jupyter.widget-view+json" in notebook.shown(BAR)[0].data
    bar = [state for state in notebook.widgets() if state["_model_name"] == "FloatProgressModel"][-1]
    assert (bar["value"], bar["max"]) == (2, 2)
    layouts = [state for state in notebook.widgets() if state["_model_name"] == "LayoutModel"]
    assert "hidden" in [layout["visibility"] for layout in layouts]


def test_without_ipywidgets_the_import_is_quiet_and_a_bar_that_is_asked_for_is_text(tmp_path):
    asked = BAR.replace("None", "True")
    notebook = Notebook(tmp_path, "import sys; sys.modules['ipywidgets'] = None", IMPORT, asked)
    assert notebook.shown(IMPORT) == []
    assert "reading: 100%" in "".join(output.text for output in notebook.shown(asked))
