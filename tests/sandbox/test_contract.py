"""Each rule of the contract has a test that is marked with it, and no mark names another rule."""

import ast
from collections.abc import Iterator
from pathlib import Path

from .contract import ROWS

TESTS = Path(__file__).parents[1]


def marked() -> Iterator[tuple[str, str]]:
    """Yield the section and the row of each rule that a test is marked with."""
    for path in TESTS.rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "mark.contract" in text else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.contract":
                for rules in map(ast.literal_eval, node.args):
                    section, _, rows = rules.partition(" ")
                    yield from ((section, row) for row in rows.split(", "))


def test_every_rule_of_the_contract_is_marked_at_a_test_and_no_other():
    assert set(marked()) == {(section, row) for section, rows in ROWS.items() for row in rows}
