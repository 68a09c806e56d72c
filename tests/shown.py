"""What the repository shows of outputs: ``python -m tests.shown`` makes all of it anew.

These are what commands print in the blocks ``console`` of README and guides, what Python prints in a block ``text``
below its own, the data dictionary, the picture of the page, and the notebooks. Tests compare each with what is shown.
"""

import re
import shlex
import tempfile
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt

from osdi_frames.tables.dictionary import markdown
from tests.commands import run

ROOT = Path(__file__).parents[1]
GUIDES = {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for path in (ROOT / "README.md", *sorted((ROOT / "src").rglob("README.md")))
}
#: The commands that end by themselves; the others are servers, or ask one.
ENDING = ("report", "check", "export", "describe", "overlap", "sample")
DICTIONARY = ROOT / "data" / "README.md"
_MARK = "<!-- dictionary -->\n"
_SESSION = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)
_PRINTED = re.compile(r"```python\n((?:(?!```).)*?)```\n\n```text\n(.*?)(?=```)", re.DOTALL)


def commands(session: str) -> dict[str, str]:
    """Return the commands of a block ``console``, each with the lines that it is shown to print."""
    found = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", session, re.MULTILINE)
    return dict(found)


def with_outputs(guide: str) -> str:
    """Return a guide with what its commands print, and its Python, in a folder that has the sample as ``data``."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path("data").symlink_to(ROOT / "data")
        return _PRINTED.sub(_run_python, _SESSION.sub(_run_commands, guide))


def with_dictionary(guide: str) -> str:
    """Return the guide of the sample with the data dictionary."""
    return f"{guide.partition(_MARK)[0]}{_MARK}{markdown()}"


def _run_commands(session: re.Match[str]) -> str:
    text = ""
    for command, shown in commands(session[0]).items():
        words = shlex.split(command, comments=True)
        ends = words[0] == "osdi-frames" and words[1] in ENDING
        text += f"$ {command}\n{run(*words[1:]).stdout if ends else shown}"
    return text


def _run_python(blocks: re.Match[str]) -> str:
    names: dict[str, Any] = {}
    with redirect_stdout(StringIO()) as printed:
        exec(blocks[1], names)  # noqa: S102 (the guide's own code)
    plt.close("all")
    lines = "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())
    return blocks[0].removesuffix(blocks[2]) + lines


def main() -> None:
    """Make everything anew."""
    from tests import notebook_runs
    from tests.page import picture

    for name, guide in GUIDES.items():
        (ROOT / name).write_text(with_outputs(guide))
    DICTIONARY.write_text(with_dictionary(DICTIONARY.read_text()))
    notebook_runs.main()
    picture.main()


if __name__ == "__main__":
    main()
