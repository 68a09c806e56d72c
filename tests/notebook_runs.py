"""The notebooks, executed as a newcomer executes them: from the top, in a fresh kernel, next to the sample archive.

``python tests/notebook_runs.py`` executes them all and keeps what they show as their committed outputs.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

REPOSITORY = Path(__file__).parents[1]
NOTEBOOKS = sorted((REPOSITORY / "notebooks").glob("*.ipynb"))
#: Seconds that a kernel has for its start, for a cell, and for what a cell printed to arrive.
PATIENT = {"startup_timeout": 300, "timeout": 300, "iopub_timeout": 300}

#: The outputs are those of a machine with any fonts.
_ANY_FONTS = "import warnings; warnings.filterwarnings('ignore', 'no installed font has these letters')"

_MARKUP = re.compile(r"<style.*?</style>|<[^>]+>", re.DOTALL)
#: Of a pull that the notebook makes: when it was made, and its size, as its pages contain their time.
_CHANGING = re.compile(r"\d{8}T\d{6}Z|\d{4}-\d\d-\d\d \d\d:\d\d UTC|[\d.]+ kB")


def read(path: Path) -> NotebookNode:
    """Read a notebook as it is committed."""
    return nbformat.read(path, as_version=4)


@contextmanager
def kernel() -> Iterator[NotebookClient]:
    """Start a kernel."""
    client = NotebookClient(
        nbformat.v4.new_notebook(),
        **PATIENT,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,  # a busy kernel sends what it prints in pieces
        store_widget_state=False,
        extra_arguments=["--log-level=ERROR"],  # it warns of its unencrypted loopback ports
    )
    with client.setup_kernel():
        yield client


def executed(path: Path, folder: Path, client: NotebookClient) -> NotebookNode:
    """Execute a notebook in a copy of its folder, so that nothing it leaves behind is in the repository."""
    shutil.copytree(path.parent, folder / "notebooks", ignore=shutil.ignore_patterns("__pycache__", ".*"))
    (folder / "data").symlink_to(REPOSITORY / "data")
    empty = nbformat.v4.new_code_cell(f"{_ANY_FONTS}\n%reset -f\n%cd -q {folder / 'notebooks'}")
    client.nb = nbformat.v4.new_notebook(cells=[empty])  # of a kernel that has executed others
    client.execute_cell(empty, 0)
    client.nb = notebook = read(path)
    for number, cell in enumerate(code(notebook), 1):
        client.execute_cell(cell, notebook.cells.index(cell), execution_count=number)
    # What the kernel tells of itself changes with each of its versions.
    notebook.metadata.language_info = {"name": "python"}
    for cell in code(notebook):
        cell.outputs = [output for output in cell.outputs if not _is_bar(output)]
    return notebook


def code(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the cells that are executed."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def figures(cell: NotebookNode) -> list[str]:
    """Return what a cell shows, as words: a table without its markup, and of a picture only that it is there."""
    return [_words(output) for output in cell.outputs]


def _is_bar(output: NotebookNode) -> bool:
    """Return a progress bar, which is there only where the machine is slow."""
    return "application/vnd.jupyter.widget-view+json" in output.get("data", {})


def _words(output: NotebookNode) -> str:
    if output.output_type == "stream":
        return str(output.text)
    if output.output_type == "error":  # of what is drawn after the cell; one in the cell ends the run
        return f"{output.ename}: {output.evalue}"
    shown = output.data
    if any(kind.startswith("image/") for kind in shown):
        return "a picture"
    if "text/html" in shown:
        return _CHANGING.sub("…", " ".join(_MARKUP.sub(" ", shown["text/html"]).split()))
    return str(shown["text/plain"])


def main() -> None:
    """Execute them all, and keep what they show."""
    for notebook in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as scratch, kernel() as fresh:
            nbformat.write(executed(notebook, Path(scratch), fresh), notebook)
        print(f"{notebook.name}: {notebook.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
