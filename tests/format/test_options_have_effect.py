"""The reference of options is honest: it marks those as without effect that no code reads, and no others."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import paimon_sql
from paimon_sql.format.options import generate_docs
from paimon_sql.format.options.registry import TOPICS, declared
from paimon_sql.format.options.values import Scope

ROOT = Path(paimon_sql.__file__).parents[1]
DECLARATIONS = ROOT / "paimon_sql/format/options"
CHECKS = ROOT / "paimon_sql/storage/schema_validation"
"""Where definitions of tables are checked, by options without effect as well."""
REFUSED = {"auto-create"}
"""Options whose effect is that they are refused."""
PACKAGE = "paimon_sql.format.options"
OPTIONS = [option for topic in TOPICS.values() for option in declared(topic)]
NAMES = {
    (topic.__name__, name): value.key
    for topic in TOPICS.values()
    for name, value in vars(topic).items()
    if value in OPTIONS
}


@cache
def sources() -> dict[Path, str]:
    folders = ("paimon_sql", "procedures", "system_tables")
    paths = (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))
    return {path: path.read_text() for path in paths if path.parent != CHECKS}


@cache
def references() -> frozenset[str]:
    """The keys of the options that some code reads: by their constant, imported, or by their key as a literal."""
    keys = {option.key for option in OPTIONS}
    found: set[str] = set()
    for path, text in sources().items():
        topic = f"{PACKAGE}.{path.stem}" if path.parent == DECLARATIONS else ""
        if not topic:
            found |= keys & set(re.findall(r'"([A-Za-z][\w.<>-]+)"', text))
        if PACKAGE not in text and not topic:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module:
                found |= {NAMES[node.module, a.name] for a in node.names if (node.module, a.name) in NAMES}
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and (topic, node.id) in NAMES:
                found.add(NAMES[topic, node.id])
    return frozenset(found)


def test_every_option_that_is_said_to_be_obeyed_is_read_somewhere() -> None:
    assert [o.key for o in OPTIONS if o.is_obeyed and o.key not in references() | REFUSED] == []


def test_every_option_that_is_said_to_have_no_effect_is_read_nowhere() -> None:
    assert [o.key for o in OPTIONS if not o.has_effect and o.key in references()] == []


def test_options_of_flink_have_no_effect() -> None:
    assert not any(option.is_obeyed for option in OPTIONS if option.scope is Scope.FLINK)


def test_the_reference_marks_options_without_effect() -> None:
    rows = {line.split("`")[1]: line for line in generate_docs().splitlines() if line.startswith("| `")}
    assert {key for key, row in rows.items() if "*No effect here.*" in row} == {
        option.key for option in OPTIONS if not option.is_obeyed
    }
