"""What system tables show of tables that Apache Paimon's own connector wrote, against what it showed of them."""

from __future__ import annotations

import datetime as dt
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.metadata.schemas import SchemaManager
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables import system_tables

GOLDEN = Path(__file__).resolve().parents[3] / "shared" / "golden"
SIMPLE = re.compile(
    r"SELECT (?P<columns>[\w, *]+) FROM `\{table\}(?:\$branch_(?P<branch>\w+))?\$(?P<name>(?!branch_)\w+)`"
)
ELSEWHERE = {"audit_log", "binlog", "ro", "row_tracking", "statistics", "table_indexes"}
"""System tables that have tests of their own or none yet."""


def reads() -> list[Any]:
    found = []
    for path in sorted(GOLDEN.glob("*/expected.json")):
        case = json.loads(path.read_text())
        for read in case["reads"]:
            match = SIMPLE.fullmatch(read["sql"])
            if match and match["name"] not in ELSEWHERE:
                found.append(
                    pytest.param(path.parent, case["table"], read, match, id=f"{path.parent.name}-{read['name']}")
                )
    return found


def open_table(case: Path, name: str, branch: str | None) -> Table:
    database, table = name.split(".")
    path, file_io = str(case / "warehouse" / f"{database}.db" / table), LocalFileIO()
    root = path if branch is None else f"{path}/branch/branch-{branch}"
    schema = SchemaManager(file_io, root).latest()
    assert schema is not None
    return Table(name, path, file_io, schema, branch or MAIN_BRANCH)


def render(value: Any) -> str:
    """A value as the conformance runner writes it."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case Decimal():
            return format(value, "f")
        case dt.datetime():
            return value.isoformat(sep=" ")
        case list():
            return "[" + ", ".join(render(v) for v in value) + "]"
        case _:
            return str(value).replace("\n", "\\n") or "(empty)"


@pytest.mark.skipif(not GOLDEN.exists(), reason="the golden tables are not here")
@pytest.mark.parametrize(("case", "name", "read", "match"), reads())
def test_metadata_reads_as_the_connector_reads_it(case: Path, name: str, read: Any, match: re.Match[str]) -> None:
    rows = system_tables()[match["name"]].rows(open_table(case, name, match["branch"]))
    columns = match["columns"].replace(" ", "").split(",")
    chosen = rows if columns == ["*"] else rows.select(columns)
    assert chosen.schema.names == read["columns"]
    assert sorted([render(v) for v in row.values()] for row in chosen.to_pylist()) == read["rows"]


@pytest.mark.skipif(not GOLDEN.exists(), reason="the golden tables are not here")
def test_no_metadata_read_is_too_complicated_for_this_test() -> None:
    every = [r["sql"] for p in GOLDEN.glob("*/expected.json") for r in json.loads(p.read_text())["reads"]]
    of_system_tables = [sql for sql in every if re.search(r"`\{table\}(\$branch_\w+)?\$(?!branch_)\w+`", sql)]
    assert len(of_system_tables) > 250
    assert all(SIMPLE.fullmatch(sql) for sql in of_system_tables)
