"""The rooms of the house: imports go downwards only, and Spark stays in its own room."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MAY_IMPORT = {
    "format": set(),
    "storage": {"format"},
    "catalog": {"storage", "format"},
    "sql": {"format"},
    "report": {"system_tables", "storage", "format"},
    "procedures": {"report", "catalog", "storage", "format"},
    "system_tables": {"catalog", "storage", "format"},
    "spark": {"sql", "storage", "format", "catalog", "procedures", "system_tables"},
    "shell": {"spark", "sql", "storage", "format", "catalog", "procedures", "system_tables"},
}
KNOWS_SPARK = {"spark", "shell"}


def imports_of(room: str) -> Iterator[tuple[Path, str]]:
    """Every module that a room's files import."""
    folder = ROOT / room if room in ("procedures", "system_tables") else ROOT / "paimon_sql" / room
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from ((path, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield path, node.module


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_rooms_below_it(room: str) -> None:
    allowed = MAY_IMPORT[room] | {room, "errors"}
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path, module in imports_of(room)
        if module.startswith("paimon_sql.") and module.split(".")[1] not in allowed
    ]
    assert not wrong


@pytest.mark.parametrize("room", sorted(set(MAY_IMPORT) - KNOWS_SPARK))
def test_a_room_below_the_bridge_knows_nothing_of_spark(room: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path, module in imports_of(room)
        if module.split(".")[0] in ("pyspark", "py4j")
    ]
    assert not wrong
