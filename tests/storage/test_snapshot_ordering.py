"""Tables whose rows are ordered by the snapshots that wrote them: numbers in metadata, merges, compactions."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_sql.errors import InvalidOptionError, UnsupportedError
from paimon_sql.format.metadata.data_file import FileSource
from paimon_sql.storage.compact.compaction import compact_due
from paimon_sql.storage.copy.copy import plan_copy
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.schema.validation import validate_schema
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.rescale import rescale
from tests.storage import commits
from tests.storage.core_tables import again, compact, insert, live, make_table, overwrite, remove, rows, written

ORDERED = {"sequence.snapshot-ordering": "true", "write-only": "true"}


def ordered(path: Path, options: dict[str, str] | None = None) -> Table:
    return make_table(path / "t", {**ORDERED, **(options or {})}, keys=("id",))


def numbers(table: Table) -> list[tuple[int, int, int]]:
    """The level of each file, and its least and greatest number."""
    files = [e.file for e in live(table)]
    return sorted((f.level, f.min_sequence_number, f.max_sequence_number) for f in files)


def test_a_commit_gives_its_files_the_number_of_its_snapshot(tmp_path: Path) -> None:
    table = ordered(tmp_path)
    insert(table, (1, "a", "x"), (2, "a", "x"))
    insert(table, (1, "b", "x"))
    assert numbers(table) == [(0, 1, 1), (0, 2, 2)]
    overwrite(table, (3, "c", "x"))
    assert [(low, high) for _, low, high in numbers(table)] == [(3, 3)]


def test_rows_of_the_later_snapshot_win_however_they_were_numbered(tmp_path: Path) -> None:
    table = ordered(tmp_path)
    early = written(again(table), (1, "early", "x"))  # numbered from 0 on
    insert(table, *((i, "many", "x") for i in range(50)))  # numbered to 49
    commits.append(again(table), early)
    assert {i: v for i, v, _ in rows(table)}[1] == "early"
    late = written(again(table), (1, "late", "x"))
    remove(table, (1, "", "x"))
    assert len(rows(table)) == 49
    commits.append(again(table), late)
    assert {i: v for i, v, _ in rows(table)}[1] == "late"


@pytest.mark.parametrize("full", [True, False])
def test_a_compaction_writes_the_number_down_for_each_row(tmp_path: Path, full: bool) -> None:
    table = ordered(tmp_path, {"num-sorted-run.compaction-trigger": "2", "compaction.size-ratio": "500"})
    early = written(again(table), (1, "early", "x"), (9, "early", "x"))
    insert(table, *((i, "many", "x") for i in range(5)))
    insert(table, (1, "second", "x"), (2, "second", "x"))
    compact(table, full=full)
    held = numbers(table)
    assert (min(low for _, low, _ in held), max(high for _, _, high in held)) == (1, 2)
    assert FileSource.COMPACT in {e.file.file_source for e in live(table)}
    commits.append(again(table), early)
    assert numbers(table)[0] == (0, 4, 4)
    found = {i: v for i, v, _ in rows(table)}
    assert (found[0], found[1], found[2], found[9]) == ("many", "early", "second", "early")
    compact(table, full=True)
    assert {i: v for i, v, _ in rows(table)} == found
    assert [(low, high) for _, low, high in numbers(table)] == [(1, 4)]


def test_a_file_that_moves_to_a_deeper_level_keeps_the_number(tmp_path: Path) -> None:
    table = ordered(tmp_path)
    early = written(again(table), (1, "early", "x"))
    insert(table, (1, "first", "x"), (2, "first", "x"))
    compact(table)
    ((level, low, high),) = numbers(table)
    assert (level > 0, low, high) == (True, 1, 1)
    commits.append(again(table), early)
    assert sorted(rows(table)) == [(1, "early", "x"), (2, "first", "x")]


@pytest.mark.parametrize("engine", ["partial-update", "aggregation", "first-row"])
def test_every_engine_goes_by_snapshots(tmp_path: Path, engine: str) -> None:
    options = {"merge-engine": engine, "fields.v.aggregate-function": "last_value"}
    if engine != "aggregation":
        del options["fields.v.aggregate-function"]
    table = ordered(tmp_path, options)
    early = written(again(table), (1, "early", None))
    insert(table, *((i, "first", "x") for i in range(20)))
    commits.append(again(table), early)
    compact(table)
    found = {i: (v, p) for i, v, p in rows(table)}
    expected = {"partial-update": ("early", "x"), "aggregation": ("early", "x"), "first-row": ("first", "x")}
    assert found[1] == expected[engine]
    assert len(found) == 20


def test_rows_come_to_other_buckets_in_their_order(tmp_path: Path) -> None:
    table = ordered(tmp_path, {"write-buffer-spillable": "false", "write-buffer-size": "64 kb"})
    for number in range(3):
        insert(table, *((i, f"v{number}", "x") for i in range(3000)))
    rescale(again(table, {"bucket": "2"}), {live(table)[0].partition: 2}, LocalExecutor(1))
    table = again(table, {"bucket": "2"})
    assert {v for _, v, _ in rows(table)} == {"v2"}
    assert {(low, high) for _, low, high in numbers(table)} == {(4, 4)}
    insert(table, (1, "early", "x"))
    assert {i: v for i, v, _ in rows(table)}[1] == "early"
    compact(table)
    assert {i: v for i, v, _ in rows(table)}[1] == "early"


def test_no_compaction_comes_with_a_write(tmp_path: Path) -> None:
    table = ordered(tmp_path, {"num-sorted-run.compaction-trigger": "1"})
    insert(table, (1, "a", "x"))
    opened = again(table, {"write-only": "false"})
    assert compact_due(opened, written(opened, (1, "b", "x")), LocalExecutor(1)) == []


def test_files_are_not_copied_to_where_snapshots_have_other_numbers(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="ordered by its snapshots"):
        plan_copy(ordered(tmp_path))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"sequence.snapshot-ordering": "true"}, "'write-only' = 'true'"),
        ({**ORDERED, "sequence.field": "v"}, "cannot be combined with 'sequence.field'"),
        ({**ORDERED, "bucket": "-2"}, "postponed buckets"),
    ],
)
def test_what_the_order_does_not_go_with_is_refused(tmp_path: Path, options: dict[str, str], reason: str) -> None:
    table = make_table(tmp_path / "t", options, keys=("id",))
    with pytest.raises(InvalidOptionError, match="snapshot-ordering") as caught:
        validate_schema(table.schema)
    assert reason in f"{caught.value} {caught.value.remedy}"


def test_the_order_is_that_of_keys(tmp_path: Path) -> None:
    with pytest.raises(InvalidOptionError, match="is for tables with a primary key"):
        validate_schema(make_table(tmp_path / "t", ORDERED).schema)
