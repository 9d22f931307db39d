"""The packages of the house: imports go downwards only, never in a circle, and Spark stays in its own package."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
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
    "observability": {"storage", "format"},
    "sqlalchemy": {"sql"},
    "api": {"procedures", "system_tables", "catalog", "storage", "format"},
    "spark": {"sql", "storage", "format", "catalog", "procedures", "system_tables"},
    "shell": {"api", "observability", "spark", "sql", "storage", "format", "catalog", "procedures", "system_tables"},
}
KNOWS_SPARK = {"spark", "shell"}
SHARED = {"errors", "discovery", "cache", "process"}
STORAGE = (
    "execution",
    "file_io",
    "expressions",
    "columns",
    "metadata",
    "table",
    "file_formats",
    "merge",
    "data_files",
    "materialized",
    "retention",
    "staging",
    "branches",
    "iceberg",
    "commit",
    "maintenance",
    "scan",
    "read",
    "operations",
    "streams",
    "write",
    "row_level",
    "indexes",
    "compact",
    "statements",
    "copy",
    "object_tables",
    "format_tables",
    "schema",
    "repair",
    "layouts",
)
"""The packages of storage: each imports only those before it."""
MOST_MODULES = 10


def modules() -> dict[str, Path]:
    """Every module and package of the product by its dotted name."""
    found = {}
    for room in ("paimon_sql", "procedures", "system_tables"):
        for path in sorted((ROOT / room).rglob("*.py")):
            if room == "paimon_sql" and path.relative_to(ROOT).parts[1] in ("procedures", "system_tables"):
                continue
            parts = path.relative_to(ROOT).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            found[".".join(parts if room == "paimon_sql" else ("paimon_sql", *parts))] = path
    return found


MODULES = modules()


def imports_of(name: str) -> Iterator[str]:
    """What a module imports, those imports that only serve type checkers included."""
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module


@cache
def imports() -> dict[str, set[str]]:
    """What each module imports."""
    return {name: set(imports_of(name)) for name in MODULES}


def children(package: str) -> dict[str, set[str]]:
    """What each module and package directly inside a package imports of the others there."""
    graph: dict[str, set[str]] = defaultdict(set)
    inside = f"{package}."
    for name, imported in imports().items():
        if not name.startswith(inside):
            continue
        child = name[len(inside) :].split(".")[0]
        graph[child] |= {i[len(inside) :].split(".")[0] for i in imported if i.startswith(inside)} - {child}
    return graph


PACKAGES = sorted(name for name, path in MODULES.items() if path.name == "__init__.py")


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_rooms_below_it(room: str) -> None:
    allowed = MAY_IMPORT[room] | {room} | SHARED
    wrong = [
        f"{name} imports {imported}"
        for name in MODULES
        if name.startswith(f"paimon_sql.{room}.")
        for imported in imports()[name]
        if imported.startswith("paimon_sql.") and imported.split(".")[1] not in allowed
    ]
    assert not wrong


@pytest.mark.parametrize("room", sorted(set(MAY_IMPORT) - KNOWS_SPARK))
def test_a_room_below_the_bridge_knows_nothing_of_spark(room: str) -> None:
    wrong = [
        f"{name} imports {imported}"
        for name in MODULES
        if name.startswith(f"paimon_sql.{room}.")
        for imported in imports()[name]
        if imported.split(".")[0] in ("pyspark", "py4j")
    ]
    assert not wrong


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_do_not_import_each_other_in_a_circle(package: str) -> None:
    try:
        TopologicalSorter(children(package)).prepare()
    except CycleError as error:
        pytest.fail(f"In {package}: {' imports '.join(reversed(error.args[1]))}")


@pytest.mark.parametrize("package", PACKAGES)
def test_a_module_takes_nothing_from_the_package_that_it_stands_in(package: str) -> None:
    wrong = [name for name, imported in imports().items() if name.startswith(f"{package}.") and package in imported]
    wrong = [name for name in wrong if package != "paimon_sql" and not name.endswith("__main__")]
    assert not wrong


def test_each_package_of_storage_imports_only_those_before_it() -> None:
    graph = children("paimon_sql.storage")
    assert set(graph) == set(STORAGE)
    wrong = [
        f"{name} imports {imported}"
        for position, name in enumerate(STORAGE)
        for imported in graph[name] - set(STORAGE[:position])
    ]
    assert not wrong


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_has_few_modules(package: str) -> None:
    folder = MODULES[package].parent
    found = [path.stem for path in folder.glob("*.py") if path.stem not in ("__init__", "__main__")]
    assert len(found) <= MOST_MODULES
