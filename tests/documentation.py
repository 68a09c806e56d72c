"""Make a reference that can be searched, of docstrings and guides: `python -m tests.documentation FOLDER`.

Its first page is the README with all public names; each package with names or a guide of its own has a page. Links
between guides lead from page to page, those to other files of the clone are left out. It fails if a link leads nowhere.
"""

import inspect
import re
import sys
import warnings
from base64 import b64encode
from importlib import import_module
from pathlib import Path
from types import ModuleType

import osdi_frames
from osdi_frames.reader import Reader, TableCall, TableMethod
from osdi_frames.table_methods import TableMethods

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/osdi_frames"
GUIDES = {guide.parent.name: guide for guide in SOURCE.glob("*/README.md")}
#: What has a page: the modules that users import from, and the packages with a guide.
MODULES = sorted({"errors", "plots", "receiver", "reports", "sample", "sandbox"} | GUIDES.keys())

PAGES = {guide: f"osdi_frames/{package}.html" for package, guide in GUIDES.items()}
PAGES[ROOT / "README.md"] = "osdi_frames.html"
LINK = re.compile(r"(!?)\[([^]]*)\]\((?!https?:)([^)#]*)(#[^)]*)?\)")


def linked(guide: Path) -> str:
    """Return a guide with links to the pages of others, and with its pictures inside."""
    up = "../" * PAGES[guide].count("/")

    def link(found: re.Match[str]) -> str:
        is_picture, text, path, part = found.groups(default="")
        target = (guide.parent / path).resolve()
        if is_picture:
            picture = b64encode(target.read_bytes()).decode()
            return f'<img alt="{text}" style="max-width: 100%" src="data:image/png;base64,{picture}">'
        return f"[{text}]({up}{PAGES[target]}{part})" if target in PAGES else text

    return LINK.sub(link, guide.read_text())


def prepare(module: ModuleType, guide: Path | None) -> None:
    """Put a guide below the docstring of a module, and fetch names that are imported when they are asked for."""
    if guide:
        module.__doc__ = f"{module.__doc__}\n\n{linked(guide)}"
        module.__all__ = getattr(module, "__all__", [])  # a guide is about what users import from elsewhere
    for name in getattr(module, "__all__", ()):
        setattr(module, name, getattr(module, name))


def function_of(name: str, call: TableCall) -> object:
    """Return the method of a table as a function, which is what pdoc shows."""

    def method() -> None: ...

    method.__signature__ = inspect.signature(TableCall.__call__)
    method.__name__, method.__doc__ = name, call.__doc__
    method.__qualname__, method.__module__ = f"Archive.{name}", "osdi_frames.archive"
    return method


def make(folder: Path) -> None:
    """Write the pages."""
    import pdoc  # an extra of its own: the tests, which look for examples in every file, do without it

    archive = osdi_frames.Archive
    archive.partitions = Reader.partitions  # pdoc shows no methods of classes without a page
    for name, method in vars(TableMethods).items():
        if isinstance(method, TableMethod):
            setattr(archive, name, function_of(name, getattr(TableMethods, name)))
    osdi_frames.__all__ = sorted({*dir(osdi_frames), *MODULES})
    for name in MODULES:
        prepare(import_module(f"osdi_frames.{name}"), GUIDES.get(name))
    prepare(osdi_frames, ROOT / "README.md")
    # The type Source is a text, since it names pandas, which is not imported for it: pdoc shows its name.
    warnings.filterwarnings("ignore", "Error parsing type annotation Source")
    pdoc.render.configure(docformat="numpy", show_source=False, footer_text=osdi_frames.__version__)
    # A name of a package may be the name of a module in it as well: such modules have no page, and no heading.
    listed = pdoc.doc.Module.submodules.func
    pdoc.doc.Module.submodules = property(lambda at: listed(at) if at.fullname == "osdi_frames" else [])
    pdoc.pdoc("osdi_frames", r"!osdi_frames\..*\.", output_directory=folder)


def dead_links(folder: Path) -> list[str]:
    """Return the links between pages that lead to no page, or to no part of it."""
    texts = {page.resolve(): page.read_text() for page in folder.rglob("*.html")}
    parts = {page: {"", *re.findall(r'id="([^"]+)"', text)} for page, text in texts.items()}
    found = []
    for page, text in texts.items():
        for link in re.findall(r'href="(?!https?:|data:|\$)([^"]*)"', text):
            path, _, part = link.partition("#")
            if part not in parts.get((page.parent / path).resolve() if path else page, ()):
                found.append(f"{page.name}: {link}")
    return found


if __name__ == "__main__":
    make(Path(sys.argv[1]))
    sys.exit("\n".join(dead_links(Path(sys.argv[1]))) or None)
