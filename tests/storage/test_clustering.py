"""Append tables that are kept clustered: which files are sorted when, onto which level, and what reads gain."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_sql.errors import PaimonError
from paimon_sql.format.metadata.manifest import entries
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import DataField, IntType
from paimon_sql.storage.compact.compaction import Scope, compact_due, plan_table
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.expressions.predicates import Comparison, In
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.clustering.clustering import clustering_of
from paimon_sql.storage.write.plan import plan_write
from tests.storage import commits
from tests.storage.small_tables import Row, batch_of, fresh, insert, make_table

OPTIONS = {"clustering.incremental": "true", "clustering.columns": "id", "target-file-size": "3 kb"}


def fill(table: Table, times: int, seed: int = 0, p: str = "a") -> list[Row]:
    chance = random.Random(seed)
    rows: list[Row] = []
    for _ in range(times):
        new = [(chance.randrange(10_000), f"v{chance.randrange(99)}" * 9, p) for _ in range(90)]
        insert(table, *new)
        rows += new
    return rows


def cluster(table: Table, *, full: bool = False, scope: Scope | None = None) -> int:
    """How many files were sorted."""
    plan = plan_table(table, full=full, scope=scope or Scope())
    messages = plan.run(LocalExecutor())
    made = commits.compact(table, messages)
    assert (made is None) == (not messages)
    return len(plan.files)


def rows_of(table: Table) -> list[Row]:
    """All rows as they stand."""
    names = table.schema.names
    tasks = [ReadTask(table, split, names) for split in plan_scan(table).splits]
    return [row for t in tasks for b in t.batches() for row in zip(*map(pa.Array.to_pylist, b.columns), strict=True)]


def levels(table: Table) -> dict[int, int]:
    found: dict[int, int] = {}
    for e in entries(live_files(table, table.snapshots.latest()).entries):
        found[e.file.level] = found.get(e.file.level, 0) + 1
    return found


def looked_at(table: Table) -> int:
    """How many files a look-up of a few values reads."""
    return plan_scan(table, Comparison("id", "=", pa.scalar(5_000, pa.int32()))).metrics.files_read


def test_what_is_due_is_sorted_and_a_second_run_finds_nothing(tmp_path: Path) -> None:
    table = make_table(tmp_path, OPTIONS)
    rows = fill(table, 4)
    assert cluster(table) == 0, "fewer runs than the trigger"
    rows += fill(table, 2, seed=1)
    before = looked_at(table)
    assert cluster(table) == 6 and set(levels(table)) == {5}
    assert cluster(table) == cluster(table, full=True) == 0
    assert looked_at(table) < before == 6
    assert sorted(rows_of(table)) == sorted(rows)
    # A little more goes to a level of its own; a full run takes everything.
    rows += fill(table, 5, seed=2)
    cluster(table)
    assert sorted(rows_of(table)) == sorted(rows)
    rows += fill(table, 1, seed=3)
    assert 0 in levels(table) and cluster(table, full=True) > 1 and set(levels(table)) == {5}
    assert looked_at(table) <= 2
    assert sorted(rows_of(table)) == sorted(rows)


def test_other_columns_make_a_full_run_sort_anew(tmp_path: Path) -> None:
    table = make_table(tmp_path, OPTIONS)
    rows = fill(table, 2)
    assert cluster(table, full=True) == 2
    other = fresh(table, **{"clustering.columns": "v"})
    assert cluster(other) == 0 and cluster(other, full=True) > 1
    value = rows[0][1]
    told = plan_scan(other, In("v", pa.array([value]))).metrics
    assert told.files_read < told.files


@pytest.mark.parametrize(("columns", "curve"), [("id", "order"), ("v,id", "zorder"), ("id,v,w,x,y", "hilbert")])
def test_the_curve_goes_by_the_number_of_columns(tmp_path: Path, columns: str, curve: str) -> None:
    names = columns.split(",")
    fields = [DataField(i, name, IntType()) for i, name in enumerate(sorted(names))]
    schema = new_schema(fields, options={"clustering.columns": columns})
    found = clustering_of(Table("t", str(tmp_path), LocalFileIO(), schema))
    assert found is not None and (found.columns, found.strategy) == (tuple(names), curve)


def test_each_task_sorts_its_own_files_where_that_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paimon_sql.storage.compact.layouts.clustered.SPLIT_BYTES", 5_000)
    table = make_table(tmp_path, {**OPTIONS, "clustering.incremental.mode": "local-sort"})
    rows = fill(table, 6)
    plan = plan_table(table, full=True)
    messages = plan.run(LocalExecutor())
    assert len(messages) > 1 and len({m.bucket for m in messages}) == 1
    commits.compact(table, messages)
    assert sorted(rows_of(table)) == sorted(rows) and set(levels(table)) == {5}


def test_quiet_partitions_are_sorted_beside_those_that_are_named(tmp_path: Path) -> None:
    quiet = {"clustering.history-partition.idle-to-full-sort": "1 ms", "clustering.history-partition.limit": "2"}
    table = make_table(tmp_path, OPTIONS | quiet, partition_keys=["p"])
    for p in "abcd":
        fill(table, 2, p=p)
    named = Scope(Comparison("p", "=", pa.scalar("d")))
    assert cluster(table, full=True, scope=named) == 2 + 2 * 2
    told = {e.partition: e.file.level for e in entries(live_files(table, table.snapshots.latest()).entries)}
    assert sorted(told.values()) == [0, 5, 5, 5]
    assert cluster(table, scope=named) == 2 and set(levels(table)) == {5}
    assert cluster(table, scope=named) == 0


def test_fixed_buckets_are_sorted_as_they_are_written(tmp_path: Path) -> None:
    buckets = {"bucket": "2", "bucket-key": "id", "bucket-append-ordered": "false", "write-only": "false"}
    table = make_table(tmp_path, OPTIONS | buckets)
    rows: list[Row] = []
    for n in range(6):
        new = [(i, f"v{n}", "a") for i in range(40)]
        messages = plan_write(table).run([batch_of(table, new)])
        commits.append(table, [*messages, *compact_due(table, messages, LocalExecutor())])
        rows += new
    assert max(levels(table)) == 5 and sorted(rows_of(table)) == sorted(rows)
    assert cluster(table, full=True) > 0 and set(levels(table)) == {5} and cluster(table, full=True) == 0


def test_new_rows_are_laid_out_where_the_table_asks_for_it(tmp_path: Path) -> None:
    for n, (options, sorts) in enumerate(
        [
            ({"clustering.columns": "id"}, True),
            (OPTIONS, False),
            ({**OPTIONS, "clustering.incremental.optimize-write": "true"}, True),
        ]
    ):
        table = make_table(tmp_path / str(n), options)
        insert(table, (3, "c", "a"), (1, "a", "b"), (2, "b", "a"))
        assert ([row[0] for row in rows_of(table)] == [1, 2, 3]) == sorts


def test_a_table_without_columns_to_cluster_by_says_so(tmp_path: Path) -> None:
    table = make_table(tmp_path, {"clustering.incremental": "true"})
    fill(table, 1)
    with pytest.raises(PaimonError, match=r"Set 'clustering\.columns'"):
        plan_table(table, full=True)
