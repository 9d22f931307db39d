from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import CommitConflictError
from paimon_sql.storage.compact.compaction import plan_table
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.expressions.predicates import Comparison
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.rescale import plan_rescale, rescale
from tests.storage import commits
from tests.storage.core_tables import again, insert, live, make_table, remove, rows


def compact(table: Table, *, full: bool) -> None:
    table = again(table)
    commits.compact(table, plan_table(table, full=full).run(LocalExecutor()))


def to_buckets(table: Table, number: int) -> Table:
    changed = again(table, {"bucket": str(number)})
    rescale(changed, {e.partition: number for e in live(table)}, LocalExecutor())
    return changed


@settings(max_examples=12)
@given(
    numbers=st.lists(st.integers(1, 9), min_size=2, max_size=3),
    keys=st.lists(st.integers(-50, 50), min_size=1, max_size=40),
    function=st.sampled_from(["default", "mod", "hive"]),
)
def test_rows_are_in_the_buckets_of_their_keys_after_each_rescaling(
    numbers: list[int], keys: list[int], function: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        options = {"bucket": str(numbers[0]), "bucket-function.type": function, "write-only": "true"}
        table = make_table(Path(folder) / "t", options, keys=["id"])
        insert(table, *((k, "old", None) for k in keys))
        insert(table, *((k, "new", None) for k in keys[::2]))
        expected = sorted(rows(table))
        for number in numbers[1:]:
            table = to_buckets(table, number)
            assert sorted(rows(table)) == expected
            assert {e.total_buckets for e in live(table)} == {number}
            for key in keys[:3]:  # a read that pins the key looks into its bucket alone
                assert rows(table, Comparison("id", "=", pa.scalar(key, pa.int32())))
        insert(table, (keys[0], "last", None))
        assert [v for k, v, _ in rows(table) if k == keys[0]] == ["last"]


def test_a_bucket_comes_out_as_one_run_without_deleted_rows(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"bucket": "3", "write-only": "true"}, keys=["id"])
    insert(table, *((i, "a", None) for i in range(12)))
    insert(table, *((i, "b", None) for i in range(6)))
    remove(table, (11, "", None))
    table = to_buckets(table, 2)
    assert sorted((e.bucket, e.file.level > 0) for e in live(table)) == [(0, True), (1, True)]
    assert sum(e.file.row_count for e in live(table)) == 11


@pytest.mark.parametrize("how", ["changelog-producer=lookup", "force-lookup=true"])
def test_what_compactions_have_merged_counts_once(tmp_path: Path, how: str) -> None:
    options = {"bucket": "1", "merge-engine": "aggregation", "fields.v.aggregate-function": "listagg"}
    table = make_table(tmp_path / "t", options | dict([how.split("=")]), keys=["id"])
    insert(table, *((i, "a", None) for i in range(400)))
    compact(table, full=True)
    insert(table, (1, "b", None), (999, "b", None))
    compact(table, full=False)
    expected = [*((i, "a,b" if i == 1 else "a", None) for i in range(400)), (999, "b", None)]
    assert sorted(rows(table)) == expected
    assert 0 not in {e.file.level for e in live(table)} and len(live(table)) == 2
    assert sorted(rows(to_buckets(table, 3))) == expected


def test_tasks_share_the_work_by_the_greatest_common_divisor(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"bucket": "6"}, keys=["id"])
    insert(table, *((i, "a", None) for i in range(100)))
    (partition,) = {e.partition for e in live(table)}
    latest = again(table).snapshots.latest()
    shares = {n: len(plan_rescale(again(table), latest, {partition: n}).tasks) for n in (4, 12, 5, 6)}
    assert shares == {4: 2, 12: 6, 5: 1, 6: 0}


def test_an_append_table_is_rescaled_with_every_row(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"bucket": "2", "bucket-key": "id"})
    insert(table, (1, "a", None), (1, "a", None), (2, "b", None))
    table = to_buckets(table, 5)
    assert sorted(rows(table)) == [(1, "a", None), (1, "a", None), (2, "b", None)]
    assert {e.total_buckets for e in live(table)} == {5}


def test_a_rescaling_gives_way_to_a_writer(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"bucket": "2"}, keys=["id"])
    insert(table, (1, "a", None))
    changed = again(table, {"bucket": "4"})
    plan = plan_rescale(changed, changed.snapshots.latest(), {e.partition: 4 for e in live(table)})
    messages = [m for task in plan.tasks for m in task.run()]
    insert(table, (2, "b", None))
    with pytest.raises(CommitConflictError, match="files of 2 and of 4 buckets"):
        commits.overwrite(changed, messages, lambda latest: plan.removed)
    assert sorted(rows(table)) == [(1, "a", None), (2, "b", None)]
