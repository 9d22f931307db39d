"""One language: names keep to the glossary."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.test_rooms import MODULES

ROOT = Path(__file__).resolve().parents[1]
GLOSSARY = (ROOT / "docs/glossary.md").read_text()
REPLACED = [
    word
    for line in GLOSSARY.partition("## Words that these terms replaced")[2].splitlines()
    if line.startswith("| `")
    for word in re.findall(r"`(\w+)`", line.split("|")[1])
]


@cache
def names_in(name: str) -> set[str]:
    """The module's own name, and those of its classes and functions."""
    defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    tree = ast.parse(MODULES[name].read_text())
    return {name.rpartition(".")[2]} | {node.name for node in ast.walk(tree) if isinstance(node, defined)}


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def holds(name: str, word: str) -> bool:
    """Whether a word stands in a name from the beginning of one of its parts."""
    return bool(re.search(rf"(?:^|_){word}", snake(name)))


@pytest.mark.parametrize("word", REPLACED)
def test_no_name_holds_a_word_that_the_glossary_replaced(word: str) -> None:
    found = [f"{module}: {name}" for module in MODULES for name in names_in(module) if holds(name, word)]
    assert not found


def test_every_term_says_where_readers_know_it_from() -> None:
    tables = GLOSSARY.partition("## Words that these terms replaced")[0].splitlines()
    rows = [line.strip("|").split("|") for line in tables if line.startswith("| ") and not line.startswith("| Term")]
    assert len(rows) > 60
    assert all(len(row) == 3 and all(cell.strip() for cell in row) for row in rows)
