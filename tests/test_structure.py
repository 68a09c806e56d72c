"""The structure: data flows one way, and the import stays light."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import osdi_frames as of
from tests import code_lines

SOURCE = Path(of.__file__).parent

#: The layers, from the ground up; a package or module imports from layers below its own only.
LAYERS = [
    {"addresses", "arrow", "collector", "json_decoding"},
    {"messages"},
    {"errors"},
    {"frames"},
    {"locking", "names", "tables", "progress", "listening"},
    {"clock", "document_forms", "durable", "problems"},
    {"engine"},
    {"sources"},
    {"parsing", "pulls"},
    {"store"},
    {"resolving"},
    {"kept"},
    {"privacy"},
    {"reports", "output"},
    {"computed"},
    {"reader"},
    {"table_methods"},
    {"excel", "local_time", "plots", "sample"},
    {"client", "contents", "dask", "keywords", "page", "receiver", "sandbox"},
    {"shown_report"},
    {"archive"},
    {"shared_people", "shortcuts"},
    {"cli"},
    {"__main__"},
]

#: Libraries that one package alone imports, so that a successor is one package away.
ONLY = {
    "duckdb": {"engine"},
    "click": {"cli"},
    "httpx": {"client", "sandbox"},
    "jinja2": {"page"},
    "pycountry": {"reports"},
    "matplotlib": {"plots", "page", "shown_report"},
    "pyarrow.parquet": {"dask", "output", "sources", "store"},
    "tqdm": {"progress"},
    "tzfpy": {"local_time"},
    "xlsxwriter": {"output"},
}

LAYER_OF = {package: layer for layer, packages in enumerate(LAYERS) for package in packages}


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@cache
def modules() -> list[tuple[str, set[str]]]:
    """Return the package of each file, or its module, and what it imports."""
    return [
        (path.relative_to(SOURCE).parts[0].removesuffix(".py"), imports(path))
        for path in sorted(SOURCE.rglob("*.py"))
        if path != SOURCE / "__init__.py"
    ]


def test_every_package_has_its_layer():
    assert {package for package, _ in modules()} == set(LAYER_OF)


def test_a_package_imports_from_layers_below_only():
    for here, names in modules():
        inside = {name.split(".")[1] for name in names if name.startswith("osdi_frames.")} - {here}
        assert all(LAYER_OF[other] < LAYER_OF[here] for other in inside), (here, inside)


def at_import(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run when a module is imported."""
    for node in body:
        yield node
        for part in ("body", "orelse", "handlers", "finalbody"):
            is_run = not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            is_run &= not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
            yield from at_import(getattr(node, part, [])) if is_run else ()


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")


def import_graph(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Return for each module those that its import runs; from a package, its modules and not the package."""
    graph: dict[str, set[str]] = {name: set() for name in sources}
    for name, source in sources.items():
        for node in at_import(ast.parse(source).body):
            found = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                inside = [f"{node.module}.{alias.name}" for alias in node.names]
                found = [one if one in sources else node.module for one in inside]
            graph[name] |= sources.keys() & found
    return graph


def test_a_circle_of_imports_is_found():
    sources = {"p.a": "from p import b", "p.b": "import p.c", "p.c": "def f():\n    import p.a", "p.d": ""}
    TopologicalSorter(import_graph(sources)).prepare()
    sources["p.c"] = "try:\n    from p.a import x\nexcept ImportError:\n    pass"
    with pytest.raises(CycleError):
        TopologicalSorter(import_graph(sources)).prepare()


def test_the_imports_of_all_modules_form_no_circle():
    sources = {module_name(path): path.read_text() for path in SOURCE.rglob("*.py")}
    TopologicalSorter(import_graph(sources)).prepare()


def test_the_modules_of_a_package_form_no_circle():
    for package in LAYER_OF:  # also of imports in functions
        inside = {
            path.stem: {
                name.split(".")[2] for name in imports(path) if name.startswith(f"osdi_frames.{package}.")
            }
            for path in (SOURCE / package).glob("*.py")
            if path.stem != "__init__"
        }
        for module, others in inside.items():
            others &= inside.keys() - {module}
        TopologicalSorter(inside).prepare()


def quotes(node: ast.AST) -> bool:
    """Return whether a part of a text is a value as Python writes it, or its beginning."""
    if not isinstance(node, ast.FormattedValue):
        return False
    precision = node.format_spec and re.search(r"\.\d+'$", ast.unparse(node.format_spec))
    slices = [part for part in ast.walk(node.value) if isinstance(part, ast.Slice)]
    return node.conversion == ord("r") or bool(precision) or any(part.upper for part in slices)


def test_errors_quote_values_by_one_module_only():
    for path in SOURCE.rglob("*.py"):
        errors = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Raise)]
        assert [ast.unparse(error) for error in errors if any(map(quotes, ast.walk(error)))] == [], path


def test_a_library_is_imported_in_its_package_only():
    for library, packages in ONLY.items():
        users = {
            package
            for package, names in modules()
            if any(f"{name}.".startswith(f"{library}.") for name in names)
        }
        assert users <= packages, library


#: Names that are not free of a second meaning yet: none is to be added.
TWICE = """
    ACTS Act EVENTS OTHERS PERSON Place READ_FROM REFERRER_DATA SIGNATURES SPONSOR Segment Shape Status Store
"""


def test_a_constant_or_class_has_a_name_of_its_own():
    homes: dict[str, set[Path]] = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            targets = getattr(node, "targets", [getattr(node, "target", None)])
            names = (
                [node.name] if isinstance(node, ast.ClassDef) else [getattr(one, "id", "") for one in targets]
            )
            for name in names:
                if name[:1].isupper():
                    homes.setdefault(name, set()).add(path)
    assert {name for name, places in homes.items() if len(places) > 1} <= {*TWICE.split()}


def test_the_package_shows_what_it_promises_and_nothing_else():
    assert all(getattr(of, name).__doc__ for name in of.__all__)
    assert dir(of) == sorted(of.__all__)


def test_a_public_function_has_no_module_of_its_name():
    found = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert found & set(of.__all__) == {"plots"}


def loaded(program: str, names: list[str]) -> list[str]:
    """Run a program in a process of its own; return which of some modules it imported."""
    program = f"import sys\n{program}\nprint([name for name in {names} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return ast.literal_eval(ran.stdout.splitlines()[-1])


def test_the_list_of_commands_imports_no_library_but_click():
    program = "from osdi_frames.cli import group\ngroup(['--help'], standalone_mode=False)"
    assert loaded(program, ["pandas", "pyarrow", "numpy", "duckdb", "tqdm", "httpx"]) == []


def test_reading_imports_no_library_of_another_task():
    other = ["pyarrow.dataset", "pyarrow.parquet", "pyarrow.csv", "tqdm", "asyncio", "httpx"]
    assert loaded("from osdi_frames import open, read_signatures", other) == []


def test_the_import_stays_light():
    heavy = ["matplotlib", "pycountry", "starlette", "uvicorn", "dask", "httpx", "fsspec", "jinja2", "tzfpy"]
    assert loaded("import osdi_frames", heavy) == []


def test_receiving_imports_no_library_of_reading():
    program = "from osdi_frames.receiver import create_app, erase, serve, verify"
    assert loaded(program, ["pandas", "pyarrow", "numpy", "duckdb"]) == []


def test_the_sandbox_imports_no_library_of_reading():
    program = "from osdi_frames import sandbox; sandbox.create_app().state.service.store.close()"
    assert loaded(program, ["pandas", "pyarrow", "numpy", "duckdb"]) == []


MODULE = '''"""A module.

With a docstring of three lines.
"""
from itertools import (
    chain,
)

class Pair:  # a comment
    """A docstring."""

    left: int
    """What an attribute means."""

def text() -> str:
    import os
    # another comment
    return """two
    lines"""
'''


def test_docstrings_comments_blank_lines_and_imports_are_not_lines_of_code():
    assert code_lines.code_lines(MODULE) == len(["class", "left", "def", "return", "lines"])
