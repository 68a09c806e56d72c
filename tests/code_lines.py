"""Count the package's lines of code: `python -m tests.code_lines` prints them as a Markdown table.

Docstrings, comments, blank lines and imports are not code.
"""

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "osdi_frames"

_WITH_DOCSTRINGS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def code_lines(text: str) -> int:
    """Count the lines of a module that hold a token of code."""
    used: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NOT_CODE:
            used.update(range(token.start[0], token.end[0] + 1))
    return len(used - _docstrings_and_imports(ast.parse(text)))


def _docstrings_and_imports(module: ast.Module) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(module):
        if isinstance(node, _WITH_DOCSTRINGS):
            for statement in filter(_is_text, node.body):
                lines.update(_lines_of(statement))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            lines.update(_lines_of(node))
    return lines


def _is_text(statement: ast.stmt) -> bool:
    """Find docstrings, and texts below attributes, which document them."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _lines_of(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def by_package() -> dict[str, int]:
    """Count by package; a module at the top is one of its own."""
    counts: Counter[str] = Counter()
    for path in SOURCE.rglob("*.py"):
        counts[path.relative_to(SOURCE).parts[0]] += code_lines(path.read_text("utf-8"))
    return dict(sorted(counts.items()))


def markdown() -> str:
    """Show the counts as a table, with their sum."""
    counts = by_package()
    rows = [*((f"`{name}`", count) for name, count in counts.items()), ("in all", sum(counts.values()))]
    return "| package | lines of code |\n|---|--:|\n" + "".join(f"| {name} | {n:,} |\n" for name, n in rows)


if __name__ == "__main__":
    print(markdown(), end="")
