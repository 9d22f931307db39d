"""Compactions: which runs are picked, what becomes of deletes and files, and that no reader notices."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_sql.errors import PaimonError
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options import TableOptions
from paimon_sql.format.schema.schema import parse_schema
from paimon_sql.storage.compact.compaction import EVERYTHING, Scope, plan_table
from paimon_sql.storage.compact.layouts.primary_key import plan_compaction
from paimon_sql.storage.compact.strategy import UniversalCompaction, pick_due, pick_full
from paimon_sql.storage.data_files.lsm_tree import CompactUnit, LevelRun, level_runs
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.expressions.predicates import Comparison
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.read.readers.data_file import DataFileReader
from paimon_sql.storage.table.table import Table
from tests.storage import commits
from tests.storage.core_tables import (
    Row,
    again,
    compact,
    compacted,
    data_files,
    insert,
    live,
    make_table,
    overwrite,
    remove,
    rows,
    triggered,
    written,
)
from tests.storage.small_tables import on_disk, reachable

# ---- which runs are picked -------------------------------------------------------------------------------------------


def run(level: int, size: int) -> LevelRun:
    return LevelRun(level, (DataFileMeta(f"{level}-{size}", size, 1, level=level),))


def runs(*levels_and_sizes: tuple[int, int]) -> list[LevelRun]:
    return [run(level, size) for level, size in levels_and_sizes]


def fresh(*sizes: int) -> list[LevelRun]:
    return runs(*((0, size) for size in sizes))


def sizes_of(unit: CompactUnit | None) -> list[int] | None:
    return None if unit is None else [f.file_size for f in unit.files]


def strategy(amplification: int = 25, ratio: int = 1, trigger: int = 3, levels: int = 6) -> UniversalCompaction:
    return UniversalCompaction(trigger, amplification, ratio, levels - 1)


@pytest.mark.parametrize(
    ("why", "levels", "held", "picked", "output"),
    [
        ("too few runs", 3, fresh(1, 1), None, None),
        ("what lies over the oldest run is too big", 3, fresh(1, 2, 3, 3), [1, 2, 3, 3], 2),
        ("the next run is no bigger than those before", 4, runs((0, 1), (1, 1), (2, 1), (3, 50)), [1, 1, 1], 2),
        ("too many runs, and then the ratio again", 4, runs((0, 1), (1, 2), (2, 3), (3, 50)), [1, 2, 3], 2),
        ("a result never stands on level 0", 3, runs((0, 1), (0, 1), (1, 1), (2, 50)), [1, 1, 1], 1),
        ("too many runs up to level 1", 3, runs((0, 1), (0, 2), (1, 3), (2, 50)), [1, 2, 3], 1),
        ("the ratio stops at a bigger run", 3, runs((0, 1), (1, 3), (2, 20)), None, None),
    ],
)
def test_the_runs_that_are_picked(
    why: str, levels: int, held: list[LevelRun], picked: list[int] | None, output: int | None
) -> None:
    unit = strategy(levels=levels).pick(held)
    assert sizes_of(unit) == picked, why
    assert unit is None or unit.output_level == output, why


def test_too_many_small_runs_draw_in_the_levels_below() -> None:
    unit = strategy(amplification=200, levels=3).pick(runs((0, 10), (0, 20), (1, 97), (2, 100)))
    assert unit is not None and len(unit.files) == 4 and unit.output_level == 2


def test_fresh_runs_alone_go_to_the_deepest_level_together() -> None:
    unit = strategy(amplification=200, trigger=5).pick(fresh(1, 1, 1, 1024, 1024 * 1024))
    assert sizes_of(unit) == [1, 1, 1, 1024, 1024 * 1024]
    assert unit is not None and unit.output_level == 5


@pytest.mark.parametrize(("count", "output"), [(1, 1), (2, 1), (3, 2), (4, 3), (5, 5)])
def test_the_result_stands_right_above_the_next_run(count: int, output: int) -> None:
    held = runs((0, 1), (0, 1), (1, 1), (3, 1), (4, 1))
    assert strategy()._unit(held, count).output_level == output


def after_each_write(pick: UniversalCompaction, rule: str, start: Sequence[int], writes: int) -> list[list[int]]:
    """The sizes of the runs after each write of a run of size 1, what a rule picks merged into one."""
    sizes, history = list(start), []
    for _ in range(writes):
        sizes.insert(0, 1)
        if rule == "amplification":
            unit = pick._by_amplification(fresh(*sizes))
        else:
            unit = pick._by_ratio(runs(*enumerate(sizes)), 1) if len(sizes) >= pick.trigger else None
        if unit is not None:
            sizes = [sum(sizes[: len(unit.files)]), *sizes[len(unit.files) :]]
        history.append(sizes.copy())
    return history


def test_size_amplification_from_write_to_write() -> None:
    expected = [[2], [3], [4], [1, 4], [6], [1, 6], [8], [1, 8], [1, 1, 8], [11], [1, 11], [1, 1, 11], [14]]
    found = after_each_write(strategy(ratio=0, trigger=1), "amplification", [1], len(expected))
    assert found == expected


def test_size_ratio_from_write_to_write() -> None:
    expected = [[5], [1, 5], [1, 1, 5], [1, 1, 1, 5], [4, 5], [1, 4, 5], [1, 1, 4, 5], [3, 4, 5], [1, 3, 4, 5]]
    expected += [[2, 3, 4, 5], [1, 2, 3, 4, 5], [16], [1, 16]]
    assert after_each_write(strategy(trigger=5), "ratio", [1, 1, 1, 1], len(expected)) == expected


@pytest.mark.parametrize(("ratio", "picked"), [(10, None), (20, [8, 9, 10])])
def test_the_ratio_allows_a_run_that_is_a_little_bigger(ratio: int, picked: list[int] | None) -> None:
    assert sizes_of(strategy(ratio=ratio, trigger=2)._by_ratio(fresh(8, 9, 10), 1)) == picked


@pytest.mark.parametrize(
    ("option", "value", "picked"),
    [
        ("compaction.total-size-threshold", "52 b", [1, 50]),
        ("compaction.total-size-threshold", "51 b", None),
        ("compaction.incremental-size-threshold", "0 b", [1, 50]),
        ("compaction.incremental-size-threshold", "1 b", None),
        ("compaction.force-up-level-0", "true", [1]),
        ("compaction.force-up-level-0", "false", None),
    ],
)
def test_options_make_a_compaction_due_that_the_runs_alone_do_not(
    option: str, value: str, picked: list[int] | None
) -> None:
    assert sizes_of(pick_due(runs((0, 1), (5, 50)), TableOptions({option: value}))) == picked


def test_a_gentle_look_up_takes_fresh_rows_after_so_many_compactions() -> None:
    gentle = {"changelog-producer": "lookup", "lookup-compact": "gentle", "num-sorted-run.compaction-trigger": "9"}
    held = runs((0, 1), (0, 1), (0, 1), (9, 5000))
    assert pick_due(held, TableOptions(gentle)) is None
    assert sizes_of(pick_due(held, TableOptions(gentle | {"lookup-compact.max-interval": "3"}))) == [1, 1, 1]


@pytest.mark.parametrize(
    ("start", "end", "quiet"),
    [(0, 6, range(6)), (22, 3, (22, 23, 0, 1, 2)), (5, 5, ()), (-1, 5, ()), (5, -1, ()), (23, 0, (23,))],
)
def test_in_quiet_time_the_ratio_is_greater(
    monkeypatch: pytest.MonkeyPatch, start: int, end: int, quiet: Collection[int]
) -> None:
    options = TableOptions(
        {
            "compaction.size-ratio": "2",
            "compaction.offpeak-ratio": "30",
            "compaction.offpeak.start.hour": str(start),
            "compaction.offpeak.end.hour": str(end),
        }
    )
    for hour in range(24):
        monkeypatch.setattr("paimon_sql.storage.compact.strategy.datetime", _Clock(hour))
        assert UniversalCompaction.of(options).size_ratio == (32 if hour in quiet else 2)


class _Clock:
    def __init__(self, hour: int) -> None:
        self._hour = hour

    def now(self) -> datetime:
        return datetime(2024, 1, 1, self._hour, 59, 59)


def test_one_run_on_the_deepest_level_needs_nothing() -> None:
    assert strategy(trigger=1).pick(runs((5, 10))) is None
    options = TableOptions({})
    assert pick_full(runs((5, 10)), options) is None
    assert pick_full([], options) is None
    assert sizes_of(pick_full(runs((4, 10)), options)) == [10]
    assert sizes_of(pick_full(runs((0, 1), (5, 10)), options)) == [1, 10]
    forced = TableOptions({"compaction.force-rewrite-all-files": "true"})
    assert sizes_of(pick_full(runs((5, 10)), forced)) == [10]


def test_files_that_stand_deeper_than_the_options_have_it_stay_below() -> None:
    held = runs((0, 1), (0, 1), (7, 5))
    for unit in (strategy(levels=3).pick(held), pick_full(held, TableOptions({"num-levels": "3"}))):
        assert unit is not None and unit.output_level == 7


def test_runs_come_from_the_newest_to_the_oldest() -> None:
    files = [
        DataFileMeta("old", 1, 1, max_sequence_number=3, level=0),
        DataFileMeta("deep-1", 1, 1, max_sequence_number=1, level=5),
        DataFileMeta("new", 1, 1, max_sequence_number=9, level=0),
        DataFileMeta("middle", 1, 1, max_sequence_number=2, level=3),
        DataFileMeta("deep-2", 1, 1, max_sequence_number=2, level=5),
    ]
    assert [[f.file_name for f in r.files] for r in level_runs(files)] == [
        ["new"],
        ["old"],
        ["middle"],
        ["deep-1", "deep-2"],
    ]


# ---- what a compaction makes -----------------------------------------------------------------------------------------


def test_a_full_compaction_leaves_a_file_a_bucket(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"bucket": "2"}, keys=["id", "p"], partitions=["p"])
    for i in range(3):
        insert(table, *[(n, f"v{i}", p) for n in range(20) for p in "xy"])
    before = sorted(rows(table))
    made = compact(table)
    assert made is not None and (made.total_record_count, made.delta_record_count) == (40, -80)
    assert sorted((e.partition, e.bucket) for e in live(table)) == sorted(
        {(e.partition, e.bucket) for e in live(table)}
    )
    assert {e.file.level for e in live(table)} == {5}
    assert sorted(rows(table)) == before
    assert compact(table) is None
    assert reachable(table) == on_disk(table)


def test_compacted_files_that_outgrow_the_target_are_split_and_do_not_overlap(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"target-file-size": "2 kb", "file.compression": "none"}, keys=["id"])
    for i in range(3):
        insert(table, *[(n * 3 + i, f"{n}" * 20, "x") for n in range(100)])
    before = sorted(rows(table))
    compact(table)
    files = sorted((e.file for e in live(table)), key=lambda f: f.min_key)
    assert len(files) > 2
    assert sorted(rows(table)) == before
    assert {f.level for f in files} == {5}


def test_deletes_go_only_when_nothing_lies_below(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"num-sorted-run.compaction-trigger": "2", "num-levels": "4"}, keys=["id"])
    insert(table, *[(i, "old" * 100, "x") for i in range(500)])
    compact(table)
    for _ in range(2):
        remove(table, (1, "", "x"))
    (task,) = plan_compaction(again(table), table.snapshots.latest(), full=False, scope=EVERYTHING)
    assert (task.unit.output_level, task.drop_deletes) == (2, False)
    assert compact(table, full=False) is not None
    kept = [e.file for e in live(table) if e.file.level == 2]
    assert [(f.row_count, f.delete_row_count) for f in kept] == [(1, 1)]
    assert len(rows(table)) == 499
    (task,) = plan_compaction(again(table), table.snapshots.latest(), full=True, scope=EVERYTHING)
    assert (task.unit.output_level, task.drop_deletes) == (3, True)
    compact(table)
    assert [(e.file.row_count, e.file.delete_row_count) for e in live(table)] == [(499, 0)]
    assert len(rows(table)) == 499


def test_a_bucket_of_deletes_alone_becomes_empty(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", keys=["id"])
    remove(table, (1, "a", "x"))
    remove(table, (2, "a", "x"))
    assert compact(table) is not None
    assert live(table) == [] and rows(table) == []
    insert(table, (1, "b", "x"))
    assert rows(table) == [(1, "b", "x")]


def test_a_single_file_moves_without_a_rewrite(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", keys=["id"])
    insert(table, (1, "a", "x"))
    (before,) = live(table)
    compact(table)
    (after,) = live(table)
    assert after.file == replace(before.file, level=5)
    assert len(data_files(table)) == 1


def test_a_single_file_that_holds_deletes_is_rewritten(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", keys=["id"])
    remove(table, (1, "a", "x"))
    (before,) = live(table)
    compact(table)
    assert live(table) == []
    assert data_files(table) == {before.file.file_name}


def test_big_files_that_overlap_no_other_move_and_small_ones_are_put_together(tmp_path: Path) -> None:
    options = {"target-file-size": "20 kb", "file.compression": "none", "parquet.enable.dictionary": "false"}
    table = make_table(tmp_path / "t", options, keys=["id"])
    insert(table, *[(i, f"{i:04}" * 50, "x") for i in range(90)])
    insert(table, (1000, "small", "x"))
    insert(table, (1001, "small", "x"))
    big = {e.file.file_name for e in live(table) if e.file.file_size > 15_000}
    assert big
    compact(table)
    assert big <= {e.file.file_name for e in live(table)}
    assert len(live(table)) <= len(big) + 2
    assert {e.file.level for e in live(table)} == {5}
    assert len(rows(table)) == 92


def test_everything_is_rewritten_when_asked_for(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"compaction.force-rewrite-all-files": "true"}, keys=["id"])
    insert(table, (1, "a", "x"))
    for _ in range(2):
        (before,) = live(table)
        compact(table)
        (after,) = live(table)
        assert after.file.file_name != before.file.file_name
        assert rows(table) == [(1, "a", "x")]


def test_only_the_partitions_asked_for_are_compacted(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", keys=["id", "p"], partitions=["p"])
    for i in range(2):
        insert(table, (1, f"v{i}", "x"), (1, f"v{i}", "y"))
    tasks = plan_compaction(
        again(table), table.snapshots.latest(), full=True, scope=Scope(Comparison("p", "=", pa.scalar("x")))
    )
    assert len(tasks) == 1
    assert tasks[0].size == sum(f.file_size for f in tasks[0].unit.files)
    assert table.locations.partition(tasks[0].partition) == "p=x"


def test_new_files_bring_the_compaction_that_they_make_due(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"num-sorted-run.compaction-trigger": "3", "bucket": "2"}, keys=["id"])
    for i in range(2):
        insert(table, (1, f"v{i}", "x"))
    assert triggered(table, []) == []
    messages = written(again(table), (1, "v2", "x"))
    (message,) = triggered(table, messages)
    assert len(message.compact_before) == 3 and len(message.compact_after) == 1
    other = next(i for i in range(2, 50) if written(again(table), (i, "v", "x"))[0].bucket != messages[0].bucket)
    assert triggered(table, written(again(table), (other, "v", "x"))) == []


@pytest.mark.parametrize("writes", range(4))
def test_an_error_in_the_middle_leaves_no_new_file(tmp_path: Path, writes: int) -> None:
    class Full(LocalFileIO):
        left = writes

        def open_output(self, path: str) -> pa.NativeFile:
            self.left -= 1
            if self.left < 0:
                raise PaimonError(f"Cannot write {path}: no space left.")
            return super().open_output(path)

    table = make_table(tmp_path / "t", {"target-file-size": "1 kb", "file.compression": "none"}, keys=["id"])
    for i in range(2):
        insert(table, *[(n * 2 + i, f"{n}" * 30, "x") for n in range(100)])
    before = data_files(table)
    (task,) = plan_compaction(again(table, file_io=Full()), table.snapshots.latest(), full=True, scope=EVERYTHING)
    with pytest.raises(PaimonError, match="no space left"):
        task.run()
    assert data_files(table) == before
    assert len(rows(table)) == 200


def test_what_a_rival_writes_meanwhile_stays_newer(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", keys=["id"])
    insert(table, (1, "a", "x"))
    insert(table, (1, "b", "x"))
    messages = compacted(table)
    insert(table, (1, "c", "x"))
    commits.compact(again(table), messages)
    assert rows(table) == [(1, "c", "x")]
    compact(table)
    assert rows(table) == [(1, "c", "x")]


def test_deletes_of_a_rival_survive_a_compaction_that_was_planned_before(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", keys=["id"])
    insert(table, (1, "a", "x"))
    insert(table, (2, "b", "x"))
    messages = compacted(table)
    remove(table, (1, "a", "x"))
    commits.compact(again(table), messages)
    assert rows(table) == [(2, "b", "x")]


def test_an_overwrite_after_a_compaction_starts_anew(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", keys=["id"])
    insert(table, (1, "a", "x"))
    compact(table)
    overwrite(table, (1, "b", "x"))
    assert [(e.file.level, e.file.min_sequence_number) for e in live(table)] == [(5, 0)]
    insert(table, (1, "c", "x"))
    compact(table)
    assert rows(table) == [(1, "c", "x")]


# ---- tables of the Java writer ---------------------------------------------------------------------------------------


def golden_copy(golden: Path, case: str, target: Path) -> Table:
    root = next((golden / case / "warehouse").glob("*.db/*"))
    shutil.copytree(root, target)
    newest = max(target.glob("schema/schema-*"), key=lambda p: int(p.name.removeprefix("schema-")))
    return Table(case, str(target), LocalFileIO(), parse_schema(newest.read_bytes(), str(newest)))


@pytest.mark.parametrize(
    "case",
    [
        "pk_parquet_levels",
        "pk_orc_levels",
        "pk_avro_levels",
        "pk_level0_only",
        "compacted_many_levels",
        "merge_dedup_sequence_field",
        "thin_mode_parquet",
        "dv_pk_32",
        "dv_pk_64",
        "key_string",
        "key_negative_int",
        "key_timestamp_bool",
        "schema_evolution_types_parquet",
    ],
)
@pytest.mark.parametrize("full", [False, True])
def test_no_reader_of_a_java_table_notices_a_compaction(golden: Path, tmp_path: Path, case: str, full: bool) -> None:
    table = golden_copy(golden, case, tmp_path / "t")
    table = again(table, {"num-sorted-run.compaction-trigger": "1", "write-only": "false"})
    if not table.schema.primary_keys:
        pytest.skip("no key")
    before = sorted(map(repr, rows(table)))
    compact(table, full=full)
    assert sorted(map(repr, rows(table))) == before
    if full:
        assert all(len(s) == 1 for s in _levels(table).values())


def _levels(table: Table) -> dict[tuple[bytes, int], set[int]]:
    found: dict[tuple[bytes, int], set[int]] = {}
    for e in live(table):
        found.setdefault((e.partition, e.bucket), set()).add(e.file.level)
    return found


def test_rows_that_a_deletion_vector_hides_do_not_come_back(golden: Path, tmp_path: Path) -> None:
    table = golden_copy(golden, "dv_pk_32", tmp_path / "t")
    before: list[Row] = sorted(rows(table))
    stored = sum(e.file.row_count for e in live(table))
    assert stored > len(before)
    insert(table, (1000, "new", 1))
    assert sorted(rows(table)) == before  # fresh rows show after a compaction
    compact(table, full=False)
    assert sorted(rows(table)) == [*before, (1000, "new", 1)]
    compact(table, full=True)
    assert sorted(rows(table)) == [*before, (1000, "new", 1)]
    columns = pa.concat_tables(
        [
            pa.Table.from_batches(DataFileReader(table, e.partition, e.bucket, e.file, ["k"]).batches())
            for e in live(table)
        ]
    )
    assert len(columns) == len(before) + 1


def test_rows_in_several_files_are_put_together_by_a_compaction(golden: Path, tmp_path: Path) -> None:
    table = golden_copy(golden, "data_evolution", tmp_path / "t").with_options({"compaction.min.file-num": "2"})
    before = rows(table)
    assert len(before) == 10
    assert len(rows(table.with_options({"scan.snapshot-id": "2"}))) == 9
    commits.compact(again(table), plan_table(again(table), full=True).run(LocalExecutor()))
    assert len(live(table)) == 1
    assert sorted(rows(table), key=repr) == sorted(before, key=repr)
