"""Procedures called from Python: how arguments are given, what comes back, what is recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paimon_sql import procedures
from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError, NotFoundError, PaimonError
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import IntType, MapType, string_type
from paimon_sql.procedures.base import Argument, Context
from paimon_sql.procedures.calling import read_value
from paimon_sql.storage.execution.task_executor import running
from tests.storage.small_tables import COLUMNS, insert


@pytest.fixture
def catalog(tmp_path: Path) -> FileSystemCatalog:
    catalog = FileSystemCatalog("paimon", {"warehouse": str(tmp_path)})
    catalog.create_database("d", {})
    catalog.create_table(Identifier("d", "t"), new_schema(COLUMNS))
    for i in range(3):
        insert(catalog.table(Identifier("d", "t")), (i, "v", "p"))
    return catalog


def test_a_warehouse_a_catalog_or_a_context_tells_where(catalog: FileSystemCatalog) -> None:
    (row,) = procedures.call(catalog.warehouse, "create_tag", table="d.t", tag="one", snapshot=1)
    assert (row["result"], row["snapshot_id"]) == (True, 1)
    (row,) = procedures.call(catalog, "sys.CREATE_TAG", "d.t", "two", 2)
    assert row["snapshot_id"] == 2
    (row,) = procedures.call(Context(catalog, "d"), "create_tag", "t", TAG="three")
    assert row["snapshot_id"] == 3


@pytest.mark.parametrize(
    ("name", "values", "named", "said"),
    [
        ("create_tag", (), {}, "needs table and tag"),
        ("create_tag", ("d.t", "x"), {"tag": "y"}, "tag is specified twice"),
        ("create_tag", ("d.t",), {"tagg": "y"}, "no argument tagg"),
        ("create_tag", ("d.t", "x", "1"), {}, "snapshot cannot be '1'"),
        ("create_tag", ("d.t", "x", True), {}, "snapshot cannot be True"),
        ("create_tag", ("d.t", 7), {}, "tag cannot be 7"),
        ("expire_snapshots", ("d.t", 2**31), {}, "retain_max cannot be"),
        ("create_tag", ("d.t",) * 9, {}, "at most"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    catalog: FileSystemCatalog, name: str, values: tuple[Any, ...], named: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInputError, match=said):
        procedures.call(catalog, name, *values, **named)


def test_a_procedure_that_does_not_exist_is_refused_and_the_nearest_named(catalog: FileSystemCatalog) -> None:
    with pytest.raises(NotFoundError, match="Did you mean compact"):
        procedures.call(catalog, "sys.compakt", table="d.t")


def test_texts_become_values_by_the_type_of_the_argument() -> None:
    assert read_value(Argument("n", IntType(), ""), " -5 ") == -5
    assert read_value(Argument("m", MapType(True, string_type(), string_type()), ""), "a=b=c, d=") == {
        "a": "b=c",
        "d": "",
    }
    assert read_value(Argument("s", string_type(), ""), " x ") == " x "
    with pytest.raises(InvalidInputError, match="an integer"):
        read_value(Argument("n", IntType(), ""), "five")


def test_calls_are_recorded_with_their_numbers(catalog: FileSystemCatalog) -> None:
    procedures.call(catalog, "expire_snapshots", table="d.t", retain_max=2, retain_min=1, dry_run=True)
    procedures.call(catalog, "expire_snapshots", table="d.t", retain_max=2, retain_min=1)
    assert catalog.run_log is not None
    dry, real = catalog.run_log.runs()
    assert (dry.dry_run, real.dry_run) == (True, False)
    assert (real.database, real.table, real.procedure, real.trigger) == ("d", "t", "expire_snapshots", "call")
    assert real.arguments == {"table": "d.t", "retain_max": "2", "retain_min": "1"}
    assert real.counts["deleted_snapshots_count"] == dry.counts["deleted_snapshots_count"] == 1
    assert "earliest_snapshot" not in real.counts
    assert (real.snapshot_before, real.snapshot_after, real.error) == (3, 3, None)


def test_a_call_that_fails_is_recorded_with_its_error(catalog: FileSystemCatalog) -> None:
    with pytest.raises(PaimonError):
        procedures.call(catalog, "rollback", table="d.t", snapshot=9)
    assert catalog.run_log is not None
    (run,) = catalog.run_log.runs()
    assert (run.procedure, run.table) == ("rollback", "t")
    assert run.error and "9" in run.error


def test_the_tasks_of_a_call_are_counted(catalog: FileSystemCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, int, int]] = []
    context = Context(catalog, "d")
    local = type(context.executor)

    def watched_map(self: Any, function: Any, tasks: Any) -> Any:
        yield from original(self, function, tasks)
        seen.extend((w.what, w.done, w.total) for w in running())

    original = local.map
    monkeypatch.setattr(local, "map", watched_map)
    procedures.call(context, "compact", table="t", options="compaction.min.file-num=2")
    assert seen == [("CALL sys.compact t", 1, 1)]
    assert running() == []
