from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.format.metadata.snapshot import CommitKind
from paimon_sql.format.options.values import TableOptions
from paimon_sql.storage.compact.compaction import EVERYTHING
from paimon_sql.storage.compact.layouts.primary_key import plan_postponed
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.expressions.predicates import Comparison
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.assignment.postponed import Amount, numbers_for_batch, numbers_for_compaction
from paimon_sql.storage.write.plan import plan_write
from tests.storage import commits
from tests.storage.core_tables import again, batch_of, files_below, insert, live, make_table, overwrite, remove, rows

WAITING = {"bucket": "-2", "postpone.batch-write-fixed-bucket": "false", "postpone.default-bucket-num": "3"}


def postponed(path: Path, **options: str) -> Table:
    return make_table(path, {**WAITING, **options}, keys=["id", "p"], partitions=["p"])


def distribute(table: Table) -> None:
    table = again(table)
    commits.compact(table, plan_postponed(table, table.snapshots.latest(), scope=EVERYTHING).run(LocalExecutor()))


def test_rows_wait_in_files_as_java_names_them_and_are_seen_after_a_compaction(tmp_path: Path) -> None:
    table = postponed(tmp_path / "t")
    insert(table, (2, "b", "x"), (1, "a", "x"))
    (entry,) = live(table)
    assert (entry.bucket, entry.total_buckets, entry.file.level) == (-2, -2, 0)
    assert (entry.file.min_sequence_number, entry.file.max_sequence_number) == (-1, -1)
    assert re.fullmatch(r"data--u-[0-9a-f-]{36}-s-\d+-w-[0-9a-f-]{36}-0\.avro", entry.file.file_name)
    assert any(f.startswith("p=x/bucket-postpone/") for f in files_below(table))
    assert rows(table) == []
    distribute(table)
    assert sorted(rows(table)) == [(1, "a", "x"), (2, "b", "x")]
    assert {e.total_buckets for e in live(table)} == {3}
    made = again(table).snapshots.latest()
    assert made is not None
    assert (made.commit_kind, made.delta_record_count) == (CommitKind.COMPACT, 0)


def test_later_rows_win_and_deletes_count_whenever_they_are_compacted(tmp_path: Path) -> None:
    table = postponed(tmp_path / "t", **{"postpone.default-bucket-num": "1"})
    insert(table, (1, "a", "x"), (2, "b", "x"))
    insert(table, (1, "A", "x"))
    remove(table, (2, "b", "x"))
    distribute(table)
    assert rows(table) == [(1, "A", "x")]
    insert(table, (1, "again", "x"), (1, "last", "x"), (2, "back", "x"))
    distribute(table)
    assert sorted(rows(table)) == [(1, "last", "x"), (2, "back", "x")]
    before = len(live(table))
    distribute(table)
    assert len(live(table)) == before


@settings(max_examples=10)
@given(
    batches=st.lists(
        st.lists(st.tuples(st.integers(0, 9), st.sampled_from("vw"), st.sampled_from("xy")), max_size=8), max_size=6
    ),
    steps=st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_postponed_tables_hold_what_a_plain_model_holds(
    batches: list[list[tuple[int, str, str]]], steps: list[bool]
) -> None:
    model: dict[tuple[int, str], str] = {}
    with tempfile.TemporaryDirectory() as folder:
        table = postponed(Path(folder) / "t")
        for number, (batch, step) in enumerate(zip(batches, steps, strict=False)):
            named = [(k, f"{v}{number}.{i}", p) for i, (k, v, p) in enumerate(batch)]
            one = again(table)
            commits.append(one, plan_write(one).run([batch_of(one, named)]))
            model.update({(k, p): v for k, v, p in named})
            if step:
                distribute(table)
        distribute(table)
        assert sorted(rows(table)) == sorted((k, v, p) for (k, p), v in model.items())


def test_a_batch_write_fills_real_buckets_at_once_and_leaves_no_waiting_file(tmp_path: Path) -> None:
    options = {"postpone.batch-write-fixed-bucket": "true", "postpone.target-row-num-per-bucket": "10"}
    table = make_table(tmp_path / "t", {"bucket": "-2", **options}, keys=["id", "p"], partitions=["p"])
    insert(table, *((i, "v", "x") for i in range(25)), (1, "v", "y"))
    totals = {(e.partition, e.total_buckets) for e in live(table)}
    assert sorted(total for _, total in totals) == [1, 4]
    assert not any("bucket-postpone" in f for f in files_below(table))
    insert(table, (1, "w", "x"), (2, "w", "y"))
    assert len(rows(table)) == 27
    assert {(e.partition, e.total_buckets) for e in live(table)} == totals


def test_a_batch_far_too_big_for_its_buckets_brings_more_of_them(tmp_path: Path) -> None:
    options = {"postpone.target-row-num-per-bucket": "2", "postpone.batch-write-fixed-bucket.rescale-load-factor": "4"}
    table = make_table(tmp_path / "t", {"bucket": "-2", **options}, keys=["id", "p"], partitions=["p"])
    insert(table, (1, "old", "x"), (2, "old", "x"))
    insert(table, *((i, "new", "x") for i in range(2, 22)))
    assert {e.total_buckets for e in live(table)} == {16}
    assert sorted(rows(table)) == [(1, "old", "x"), *((i, "new", "x") for i in range(2, 22))]


def test_an_overwrite_takes_waiting_rows_away_too(tmp_path: Path) -> None:
    table = postponed(tmp_path / "t")
    insert(table, (1, "a", "x"), (1, "a", "y"))
    overwrite(table, (2, "b", "x"), partitions=Comparison("p", "=", pa.scalar("x")))
    distribute(table)
    assert sorted(rows(table)) == [(1, "a", "y"), (2, "b", "x")]


@pytest.mark.parametrize(
    ("given_options", "rows_there", "known", "compacted", "batched"),
    [
        ({}, 10, None, 1, 1),
        ({"postpone.target-row-num-per-bucket": "3"}, 10, None, 4, 4),
        ({"postpone.target-row-num-per-bucket": "2"}, 9, None, 5, 8),
        ({"postpone.target-size-per-bucket": "100 b"}, 10, None, 10, 16),
        ({"postpone.default-bucket-num": "7"}, 10, None, 7, 7),
        ({"postpone.default-bucket-num": "7"}, 10, 2, 2, 2),
        ({"postpone.target-row-num-per-bucket": "1"}, 65, 2, 2, 128),
        ({"postpone.target-row-num-per-bucket": "1"}, 64, 2, 2, 2),
    ],
)
def test_the_number_of_buckets_follows_from_the_options(
    given_options: dict[str, str], rows_there: int, known: int | None, compacted: int, batched: int
) -> None:
    options = TableOptions(given_options)
    amount = {b"p": Amount(rows_there, rows_there * 100)}
    there = {} if known is None else {b"p": known}
    assert numbers_for_compaction(options, amount, there) == {b"p": compacted}
    assert numbers_for_batch(options, amount, there) == {b"p": batched}
