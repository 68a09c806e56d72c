"""Build the wheel, install it in a fresh environment, and use it there: `python -m tests.installed [PYTHON…]`.

The wheel is made of the source distribution, as a release is, and used outside of the clone, of which it imports
nothing. Without arguments this Python runs it; others are given by their paths.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: What a new user does; the extra is installed by the command that the error without it names.
USED = r"""
import re, subprocess, sys
from pathlib import Path
import osdi_frames as of

def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout

bin = Path(sys.executable).parent
assert Path(of.__file__).is_relative_to(sys.prefix), of.__file__
assert run(bin / "osdi-frames", "--version") == f"osdi-frames, version {of.__version__}\n"
assert all(getattr(of, name).__doc__ for name in of.__all__)

run(bin / "osdi-frames", "sample", "small", "--signatures", "40", "--events", "20")
assert "RSVPs" in run(bin / "osdi-frames", "report", "small", "--out", "report")
page = Path("report/report.html").read_text()
assert [part for part in ("</style>", "</script>", "<svg", of.__version__) if part not in page] == []

rows = of.open("small").signatures()
try:
    of.write_excel({"signatures": rows}, "signatures.xlsx")
except of.errors.MissingExtra as error:
    [extra] = re.findall(r"pip install '(osdi-frames\[\w+\])'", str(error))
    run(bin / "pip", "install", "--quiet", extra)
of.write_excel({"signatures": rows}, "signatures.xlsx")
print(sys.version.split()[0], of.__version__, len(rows), "signatures")
"""


def run(*command: object, cwd: Path = ROOT) -> None:
    subprocess.run([*map(str, command)], cwd=cwd, check=True)


def build(folder: Path) -> Path:
    """Return the wheel of the source distribution of this clone."""
    run(sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", folder)
    [source] = folder.glob("*.tar.gz")
    alone = ("--quiet", "--no-build-isolation", "--no-deps")
    run(sys.executable, "-m", "pip", "wheel", *alone, source, cwd=folder)
    [wheel] = folder.glob("*.whl")
    return wheel


def contents(package: Path) -> dict[str, bytes]:
    files = (path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(package).as_posix(): path.read_bytes() for path in files}


def use(wheel: Path, python: str, folder: Path) -> None:
    """Install the wheel in an environment of a Python; fail unless it has every file, and works."""
    folder.mkdir()
    run(python, "-m", "venv", folder / "fresh")
    run(folder / "fresh/bin/pip", "install", "--quiet", "--no-compile", wheel)
    [installed] = folder.glob("fresh/lib/python*/site-packages/osdi_frames")
    assert contents(installed) == contents(ROOT / "src/osdi_frames")  # templates, CSS, data, guides as well
    run(folder / "fresh/bin/python", "-I", "-W", "error", "-c", USED, cwd=folder)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        wheel = build(Path(scratch))
        for number, python in enumerate(sys.argv[1:] or [sys.executable]):
            use(wheel, python, Path(scratch) / str(number))
