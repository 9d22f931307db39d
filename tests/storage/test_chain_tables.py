"""Reads of chain tables: whole partitions, and those made of the last whole one and the changes since."""

from __future__ import annotations

import operator
import random
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_sql.errors import ConstraintViolationError, InvalidInputError, InvalidOptionError, UnsupportedError
from paimon_sql.format.schema.types import BigIntType
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.expressions.predicates import And, Comparison, Or, Predicate
from paimon_sql.storage.read.deletion_mask import MaskedSplit, selects
from paimon_sql.storage.scan.layout import ScanLayout
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.schema.changes.alter_columns import AddColumn, DropColumn
from paimon_sql.storage.schema.changes.base import apply_changes
from paimon_sql.storage.schema.changes.options import SetOption
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.rescale import rescale
from tests.storage.chain_tables import make_chain
from tests.storage.core_tables import again, compact, data_files, insert, live, overwrite, plan, remove, rows

Row = tuple[int, int, str, str, str]


def on(day: str) -> Predicate:
    return Comparison("dt", "=", pa.scalar(day))


def key(number: int) -> Predicate:
    return Comparison("k", "=", pa.scalar(number, pa.int64()))


def row(k: int, n: int, v: str, day: str, region: str = "x") -> Row:
    return (k, n, v, region, day)


def evolve(table: Table, *changes: AddColumn | DropColumn | SetOption) -> Table:
    schema = table.schemas.evolve(lambda s: apply_changes(s, changes, has_data=True, case_sensitive=True))
    return replace(table, schema=schema)


def plain(table: Table) -> Table:
    """The table as if it had no chains."""
    return again(table, {"scan.fallback-delta-branch": ""})


def found(table: Table, predicate: Predicate | None = None) -> list[Row]:
    return sorted(rows(table, predicate))


def a_week(path: Path) -> tuple[Table, Table, Table]:
    """Whole on the 9th and the 12th, with changes from the 8th to the 14th."""
    table, whole, changed = make_chain(path)
    insert(whole, row(1, 1, "w9", "20250809"), row(2, 1, "w9", "20250809"))
    insert(whole, row(7, 1, "w12", "20250812"))
    for day in ("08", "10", "11", "12", "13", "14"):
        insert(changed, row(1, int(day), f"c{day}", f"202508{day}"), row(int(day), 1, "new", f"202508{day}"))
    return table, whole, changed


def test_partitions_are_whole_or_chains(tmp_path: Path) -> None:
    table, _, changed = a_week(tmp_path / "t")
    assert found(table, on("20250809")) == [row(1, 1, "w9", "20250809"), row(2, 1, "w9", "20250809")]
    assert found(table, on("20250812")) == [row(7, 1, "w12", "20250812")]
    assert found(table, on("20250808")) == [row(1, 8, "c08", "20250808"), row(8, 1, "new", "20250808")]
    d = "20250811"
    assert found(table, on(d)) == [row(1, 11, "c11", d), row(2, 1, "w9", d), row(10, 1, "new", d), row(11, 1, "new", d)]
    d = "20250814"
    chained = [row(1, 14, "c14", d), row(7, 1, "w12", d), row(13, 1, "new", d), row(14, 1, "new", d)]
    assert found(table, on(d)) == chained
    assert found(changed, on(d)) == [row(1, 14, "c14", d), row(14, 1, "new", d)]
    everything = found(table)
    assert {r[4] for r in everything} == {f"202508{d:02}" for d in range(8, 15)}
    assert [r for r in everything if r[4] == d] == chained
    opened = again(table)
    assert len(ScanLayout.of(opened).newest_entries(opened)["partition"].unique()) == 7


def test_a_partition_of_the_tables_own_branch_comes_first(tmp_path: Path) -> None:
    table, _, _ = a_week(tmp_path / "t")
    insert(table, row(5, 1, "own", "20250820"))
    # Other engines write there whatever the branches hold.
    insert(plain(table), row(5, 1, "own", "20250812"), row(5, 1, "own", "20250811"))
    for day in ("20250812", "20250811", "20250820"):
        assert found(again(table), on(day)) == [row(5, 1, "own", day)]
    insert(again(table), row(5, 2, "newer", "20250811"))
    assert found(again(table), on("20250811")) == [row(5, 2, "newer", "20250811")]


def test_rows_of_the_tables_own_branch_hide_no_others(tmp_path: Path) -> None:
    table, _, _ = a_week(tmp_path / "t")
    files = sorted(p.name for p in (tmp_path / "t").rglob("data-*"))
    for day in ("20250812", "20250811"):
        with pytest.raises(ConstraintViolationError, match=rf"partition .*dt={day} would hide all"):
            insert(table, row(5, 1, "own", "20250820"), row(5, 1, "own", day))
    assert sorted(p.name for p in (tmp_path / "t").rglob("data-*")) == files
    assert found(again(table), on("20250820")) == []


def test_conditions_on_rows_see_the_partition_that_was_asked_for(tmp_path: Path) -> None:
    table, _, _ = a_week(tmp_path / "t")
    d = "20250811"
    assert found(table, And((on(d), key(2)))) == [row(2, 1, "w9", d)]
    # No file of the partition itself holds the key, and none of the whole one this partition.
    assert [r for r in found(table, key(2)) if r[4] == d] == [row(2, 1, "w9", d)]
    either = Or((And((on(d), key(10))), And((on("20250809"), key(2)))))
    assert found(table, either) == [row(2, 1, "w9", "20250809"), row(10, 1, "new", d)]
    value = Comparison("v", "=", pa.scalar("w9"))
    assert found(table, And((on(d), value))) == [row(2, 1, "w9", d)]
    assert sorted(rows(table, on(d), ["v", "k"])) == [("c11", 1), ("new", 10), ("new", 11), ("w9", 2)]
    assert rows(table, key(2), ["dt"]) == [("20250809",), ("20250810",), ("20250811",)]


def test_deletes_among_the_changes_hold_for_whole_rows(tmp_path: Path) -> None:
    table, whole, changed = make_chain(tmp_path / "t")
    insert(whole, row(1, 1, "a", "20250101"), row(2, 1, "b", "20250101"))
    remove(changed, row(1, 2, "a", "20250102"))
    insert(changed, row(3, 1, "c", "20250103"))
    assert found(table, on("20250102")) == [row(2, 1, "b", "20250102")]
    assert found(table, on("20250103")) == [row(2, 1, "b", "20250103"), row(3, 1, "c", "20250103")]
    insert(changed, row(1, 1, "older than its delete", "20250103"))
    assert found(table, on("20250103")) == [row(2, 1, "b", "20250103"), row(3, 1, "c", "20250103")]


def test_each_group_has_a_chain_of_its_own(tmp_path: Path) -> None:
    options = {"chain-table.chain-partition-keys": "dt"}
    table, whole, changed = make_chain(tmp_path / "t", options, ["region", "dt"])
    insert(whole, row(1, 1, "w", "20250101", "CN"), row(1, 1, "w", "20250103", "US"))
    insert(
        changed, row(2, 1, "c", "20250102", "CN"), row(2, 1, "c", "20250102", "US"), row(3, 1, "c", "20250104", "US")
    )
    assert found(table, on("20250102")) == [
        row(1, 1, "w", "20250102", "CN"),
        row(2, 1, "c", "20250102", "CN"),
        row(2, 1, "c", "20250102", "US"),
    ]
    assert found(table, on("20250104")) == [row(1, 1, "w", "20250104", "US"), row(3, 1, "c", "20250104", "US")]


def test_chains_run_along_several_columns(tmp_path: Path) -> None:
    options = {
        "partition.timestamp-pattern": "$dt $region:00:00",
        "partition.timestamp-formatter": "yyyyMMdd HH:mm:ss",
    }
    table, whole, changed = make_chain(tmp_path / "t", options, ["dt", "region"])
    insert(whole, row(1, 1, "w", "20250810", "22"), row(1, 2, "w", "20250811", "00"))
    insert(
        changed, row(2, 1, "c", "20250810", "23"), row(3, 1, "c", "20250811", "01"), row(4, 1, "c", "20250811", "02")
    )
    at = And((on("20250811"), Comparison("region", "=", pa.scalar("02"))))
    assert [r[:3] for r in found(table, at)] == [(1, 2, "w"), (3, 1, "c"), (4, 1, "c")]
    at = And((on("20250810"), Comparison("region", "=", pa.scalar("23"))))
    assert [r[:3] for r in found(table, at)] == [(1, 1, "w"), (2, 1, "c")]


def test_rows_of_a_key_are_merged_by_the_engine(tmp_path: Path) -> None:
    table, whole, changed = make_chain(tmp_path / "t", {"merge-engine": "partial-update"})
    insert(whole, (1, 1, "w", None, "20250101"))
    insert(changed, (1, 2, None, "r", "20250102"))
    insert(changed, (1, 3, "v", None, "20250103"))
    assert rows(table, on("20250102")) == [(1, 2, "w", "r", "20250102")]
    assert rows(table, on("20250103")) == [(1, 3, "v", "r", "20250103")]


@pytest.mark.parametrize("ranges", ["true", "false"])
def test_every_read_is_what_a_model_says(tmp_path: Path, ranges: str) -> None:
    options = {"bucket": "3", "chain-table.split.key-range-enabled": ranges}
    table, whole, changed = make_chain(tmp_path / "t", options)
    luck = random.Random(7)
    written: dict[tuple[bool, str], dict[int, tuple[int, str | None]]] = {}
    for number in range(14):
        day, is_whole = f"202501{luck.randrange(1, 9):02}", luck.random() < 0.3
        branch, held = whole if is_whole else changed, written.setdefault((is_whole, day), {})
        news = {k: (number * 100 + luck.randrange(50), f"v{number}") for k in luck.sample(range(40), 12)}
        gone = {} if is_whole else {k: (news.pop(k)[0], None) for k in list(news)[:3]}
        insert(branch, *(row(k, n, v, day) for k, (n, v) in news.items()))
        if gone:
            remove(branch, *(row(k, n, "", day) for k, (n, _) in gone.items()))
        held.update({**news, **gone})
        if luck.random() < 0.3:
            compact(branch)
    expected = []
    for day in {day for _, day in written}:
        anchor = max((d for w, d in written if w and d <= day), default="")
        links = [] if anchor == day else sorted(d for w, d in written if not w and anchor < d <= day)
        merged: dict[int, tuple[int, str | None]] = {}
        for part in [written.get((True, anchor), {}), *(written[False, d] for d in links)]:
            for k, newer in part.items():
                merged[k] = max(merged.get(k, (-1, None)), newer, key=lambda told: told[0])
        expected += [row(k, n, v, day) for k, (n, v) in merged.items() if v is not None]
    assert found(table) == sorted(expected)
    chained = [s for s in plan(table).splits if s.origins]
    assert chained and all(s.table is not None and s.table.branch == "changed" for s in chained)


def test_the_past_of_all_branches_is_of_one_time(tmp_path: Path) -> None:
    table, whole, changed = make_chain(tmp_path / "t")
    insert(whole, row(1, 1, "w", "20250101"))
    insert(changed, row(2, 1, "c", "20250102"))
    time.sleep(0.01)
    then = int(time.time() * 1000)
    time.sleep(0.01)
    insert(changed, row(3, 1, "late", "20250102"))
    insert(whole, row(9, 1, "late", "20250102"))
    assert found(table, on("20250102")) == [row(9, 1, "late", "20250102")]
    past = again(table, {"scan.timestamp-millis": str(then)})
    assert found(past, on("20250102")) == [row(1, 1, "w", "20250102"), row(2, 1, "c", "20250102")]
    assert found(again(table, {"scan.timestamp-millis": str(then - 100_000)})) == []


def test_deletion_vectors_hold_in_chains(tmp_path: Path) -> None:
    table, whole, changed = make_chain(tmp_path / "t", {"deletion-vectors.enabled": "true"})
    insert(whole, row(1, 1, "a", "20250101"), row(2, 1, "b", "20250101"))
    compact(whole)
    insert(whole, row(1, 2, "a2", "20250101"))
    compact(whole)
    insert(changed, row(3, 1, "c", "20250102"), row(4, 1, "d", "20250102"))
    compact(changed)
    remove(changed, row(4, 2, "d", "20250102"))
    compact(changed)
    d = "20250102"
    assert found(table, on(d)) == [row(1, 2, "a2", d), row(2, 1, "b", d), row(3, 1, "c", d)]
    assert found(changed) == [row(3, 1, "c", d)]
    insert(changed, row(9, 1, "not compacted yet", "20250103"))
    assert found(table, on("20250103")) == [
        row(1, 2, "a2", "20250103"),
        row(2, 1, "b", "20250103"),
        row(3, 1, "c", "20250103"),
    ]


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    table, whole, changed = make_chain(tmp_path / "t")
    insert(whole, row(1, 1, "w", "20250101"))
    insert(changed, row(2, 1, "c", "2025x"))
    with pytest.raises(InvalidInputError, match="dt=2025x has no time"):
        found(table)
    with pytest.raises(InvalidOptionError, match="gone"):
        found(again(table, {"scan.fallback-delta-branch": "gone"}))
    insert(again(changed, {"bucket": "2"}), row(2, 1, "c", "20250103"))
    with pytest.raises(UnsupportedError, match="numbers of buckets: 1, 2"):
        found(table, on("20250103"))


def test_spark_itself_reads_whole_partitions_only(tmp_path: Path) -> None:
    table, whole, _ = a_week(tmp_path / "t")
    insert(whole, row(1, 2, "newer", "20250809"))
    merged, chained = plan(table, on("20250809")), plan(table, on("20250811"))
    assert [s.origins for s in merged.splits] == [{}] and chained.splits[0].origins
    assert merged.is_native(table.schema.fields) and not chained.is_native(())
    for planned, native in ((merged, True), (chained, False)):
        assert [selects(planned.owner(s), s) for s in planned.splits] == [native]
        assert not planned.is_raw and not planned.counts_rows
    everything = plan(table)
    assert not everything.is_native(()) and not everything.counts_rows
    (split,) = merged.splits
    dead = MaskedSplit(merged.owner(split), split).masks()
    assert sorted(map(len, dead.values())) == [0, 1]


def test_a_limit_stops_at_no_chain(tmp_path: Path) -> None:
    table, whole, changed = make_chain(tmp_path / "t", {"bucket": "2"})
    insert(whole, *(row(k, 1, "w", "20250101") for k in range(8)))
    remove(changed, *(row(k, 2, "w", "20250102") for k in range(8)))
    assert found(table, on("20250102")) == []
    insert(changed, row(99, 1, "c", "20250103"))
    assert {s.partition for s in plan_scan(again(table), limit=9).splits} == {s.partition for s in plan(table).splits}


@pytest.mark.parametrize("threshold", ["1 b", "1 mb"])
def test_file_indexes_are_those_of_each_branch(tmp_path: Path, threshold: str) -> None:
    kinds = ("bloom-filter", "bitmap", "range-bitmap")
    options = {f"file-index.{kind}.columns": "k,n,v,extra" for kind in kinds}
    table, whole, changed = make_chain(tmp_path / "t", {"file-index.in-manifest-threshold": threshold})
    insert(whole, row(1, 1, "old", "20250101"), row(2, 1, "w", "20250101"))
    insert(changed, row(2, 2, "c", "20250102"), row(3, 1, "c", "20250102"))
    # Schema 1 has the column in the one branch, 2 in the other, and its id is not the same in both.
    added = AddColumn(("extra",), BigIntType())
    whole = evolve(whole, added, *(SetOption(*option) for option in options.items()))
    changed = evolve(changed, AddColumn(("other",), BigIntType()))
    changed = evolve(changed, DropColumn(("other",)), added, *(SetOption(*option) for option in options.items()))
    table = evolve(table, added)
    ids = [branch.schema.field("extra").id for branch in (whole, changed)]
    assert ids[0] != ids[1] and whole.schema.id != changed.schema.id
    insert(whole, (4, 1, "w", "x", "20250101", 7), (1, 2, "new", "x", "20250101", 8))
    insert(changed, (4, 2, "c", "x", "20250103", 9), (5, 1, "c", "x", "20250103", 7))
    remove(changed, (3, 2, "", "x", "20250103", None))
    everything = rows(table)
    assert [r[5] for r in sorted(everything) if r[4] == "20250103"] == [8, None, 9, 7]
    long, text = pa.int64(), pa.string()
    values = [("k", i, long) for i in range(1, 6)] + [("extra", i, long) for i in (7, 8, 9)]
    for column, value, kind in [*values, *(("v", v, text) for v in ("old", "new", "w", "c", "none")), ("n", 2, long)]:
        place = table.schema.names.index(column)
        for sign, holds in (("=", operator.eq), (">", operator.gt)):
            wanted = Comparison(column, sign, pa.scalar(value, kind))
            expected = [r for r in everything if r[place] is not None and holds(r[place], value)]
            assert sorted(rows(table, wanted), key=repr) == sorted(expected, key=repr), (column, sign, value)


def test_a_table_without_its_branches_named_is_read_as_it_is(tmp_path: Path) -> None:
    table, whole, changed = make_chain(tmp_path / "t")
    insert(whole, row(1, 1, "w", "20250101"))
    insert(table, row(2, 1, "own", "20250102"))
    assert found(plain(table)) == [row(2, 1, "own", "20250102")]
    assert found(whole) == [row(1, 1, "w", "20250101")] and found(changed) == []


def test_whole_partitions_go_with_overwritten_changes(tmp_path: Path) -> None:
    table, whole, changed = a_week(tmp_path / "t")
    d = "20250812"
    overwrite(changed, row(3, 1, "again", d), partitions=on(d))
    chained = [
        row(1, 11, "c11", d),
        row(2, 1, "w9", d),
        row(3, 1, "again", d),
        row(10, 1, "new", d),
        row(11, 1, "new", d),
    ]
    assert found(whole, on(d)) == [] and found(table, on(d)) == chained
    kinds = [again(whole).snapshots.get(i).commit_kind.value for i in (1, 2, 3)]
    assert kinds == ["APPEND", "APPEND", "OVERWRITE"]
    overwrite(changed, row(3, 2, "dynamic", d), dynamic=True)
    assert again(whole).snapshots.latest_id() == 3


def test_the_first_whole_partition_of_a_chain_stays(tmp_path: Path) -> None:
    table, whole, changed = a_week(tmp_path / "t")
    before, files = found(table), data_files(table)
    with pytest.raises(ConstraintViolationError, match="dt=20250809 cannot be dropped"):
        overwrite(whole, partitions=on("20250809"))
    # The overwritten changes would take the whole partition of their day with them.
    with pytest.raises(ConstraintViolationError, match="dt=20250809 cannot be dropped"):
        overwrite(changed, row(9, 1, "c", "20250809"), partitions=on("20250809"))
    assert found(table) == before and data_files(table) == files
    overwrite(whole, row(3, 1, "again", "20250809"), partitions=on("20250809"))
    overwrite(whole, partitions=on("20250812"))
    assert found(whole) == [row(3, 1, "again", "20250809")]


def test_other_buckets_leave_whole_partitions_alone(tmp_path: Path) -> None:
    table, whole, changed = a_week(tmp_path / "t")
    remove(changed, row(7, 9, "", "20250813"))
    before = found(table)
    for branch in (whole, changed):
        held = {e.partition for e in live(branch)}
        rescale(again(branch), dict.fromkeys(held, 3), LocalExecutor())
    assert found(table) == before
    assert not any(r[0] == 7 for r in before if r[4] == "20250813")
