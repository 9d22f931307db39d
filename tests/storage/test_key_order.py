"""Which plans read the rows of each bucket in the order of their keys."""

from __future__ import annotations

from pathlib import Path

from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.key_order import in_key_order
from paimon_sql.storage.scan.plan import ScanPlan, plan_scan
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.table.table import Table
from tests.storage.core_tables import again, compact, insert, make_table


def ordered(table: Table) -> ScanPlan | None:
    return in_key_order(plan_scan(again(table)), lambda split: split.bucket)


def ids(table: Table, split: Split) -> list[int]:
    return [i for batch in ReadTask(table, split, ("id",)).batches() for i in batch.column("id").to_pylist()]


def filled(path: Path) -> Table:
    table = make_table(path, {"bucket": "3", "write-only": "true"}, keys=["id"])
    for first in (0, 25):
        insert(table, *((i, "v", "p") for i in range(first, first + 50)))
    return table


def test_a_compacted_bucket_is_read_in_order_as_one_split(tmp_path: Path) -> None:
    table = filled(tmp_path)
    assert ordered(table) is None  # its files are to be merged
    compact(table)
    plan = ordered(table)
    assert plan is not None
    assert sorted(split.bucket for split in plan.splits) == [0, 1, 2]
    read = [ids(table, split) for split in plan.splits]
    assert read == [sorted(each) for each in read]
    assert sorted(i for each in read for i in each) == list(range(75))


def test_files_that_are_clustered_by_other_columns_are_in_no_order_of_keys(tmp_path: Path) -> None:
    table = filled(tmp_path)
    compact(table)
    assert ordered(again(table, {"pk-clustering-override": "true"})) is None


def test_rows_without_keys_are_in_no_order(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    insert(table, (1, "v", "p"))
    assert ordered(table) is None


def test_buckets_of_several_partitions_together_are_in_no_order(tmp_path: Path) -> None:
    table = make_table(tmp_path, keys=["p", "id"], partitions=["p"])
    insert(table, (1, "v", "a"), (2, "v", "b"))
    assert ordered(table) is None
    plan = in_key_order(plan_scan(again(table)), lambda split: split.partition)
    assert plan is not None and len(plan.splits) == 2
