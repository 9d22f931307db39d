"""Keys that hold some of the partition columns: rows move along the other ones, and the whole key tells them apart."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import CommitConflictError
from paimon_sql.format.schema.system_fields import RowKind
from paimon_sql.format.schema.types import DataField, IntType, string_type
from paimon_sql.storage.compact.compaction import compact_due
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.expressions.predicates import Comparison, all_of
from paimon_sql.storage.staging.proposal import Overwrite, overwritten
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from tests.storage import commits
from tests.storage.core_tables import Row, again, batch_of, compact, insert, live, make_table, overwrite, remove, rows

COLUMNS = (
    DataField(0, "k", IntType()),
    DataField(1, "day", string_type()),
    DataField(2, "city", string_type()),
    DataField(3, "n", IntType()),
)
ENGINES = {
    "deduplicate": {},
    "deduplicate, vectors": {"deletion-vectors.enabled": "true"},
    "deduplicate, deletes ignored": {"ignore-delete": "true"},
    "partial-update": {"merge-engine": "partial-update"},
    "aggregation": {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum"},
    "first-row": {"merge-engine": "first-row"},
}
PARTITIONS = (("day", "city"), ("city", "day"))


def table_of(
    path: Path, engine: str = "deduplicate", partitions: tuple[str, ...] = PARTITIONS[0], /, **more: str
) -> Table:
    options = {"bucket": "-1", "write-only": "true", **ENGINES[engine], **more}
    return make_table(path, options, columns=COLUMNS, keys=["k", "day"], partitions=partitions)


class Model:
    """Rows by their whole key, each in one city."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        self.rows: dict[tuple[int, str], tuple[str, Any]] = {}

    def write(self, kind: int, k: int, day: str, city: str, n: int | None) -> None:
        old = self.rows.get((k, day))
        if kind == RowKind.DELETE:
            if self.engine in ("deduplicate", "deduplicate, vectors"):
                self.rows.pop((k, day), None)
        elif old is None or self.engine in ("deduplicate", "deduplicate, vectors"):
            self.rows[k, day] = (city, n)
        elif self.engine == "deduplicate, deletes ignored":
            self.rows[k, day] = (old[0], n)
        elif self.engine == "partial-update":
            self.rows[k, day] = (old[0], old[1] if n is None else n)
        elif self.engine == "aggregation":
            known = [v for v in (old[1], n) if v is not None]
            self.rows[k, day] = (old[0], sum(known) if known else None)

    def found(self) -> list[tuple[Any, ...]]:
        return sorted(((k, day, city, n) for (k, day), (city, n) in self.rows.items()), key=str)


CHANGES = st.tuples(
    st.sampled_from([RowKind.INSERT, RowKind.INSERT, RowKind.INSERT, RowKind.DELETE]),
    st.integers(0, 5),
    st.sampled_from(["mo", "tu"]),
    st.sampled_from(["a", "b", "c"]),
    st.none() | st.integers(0, 9),
)


@settings(max_examples=60)
@given(
    engine=st.sampled_from(sorted(ENGINES)),
    partitions=st.sampled_from(PARTITIONS),
    batches=st.lists(st.tuples(st.lists(CHANGES, max_size=10), st.booleans()), min_size=1, max_size=5),
    target=st.integers(1, 6),
)
def test_the_whole_key_tells_rows_apart_as_a_plain_model_has_it(
    engine: str, partitions: tuple[str, ...], batches: list[tuple[list[tuple[Any, ...]], bool]], target: int
) -> None:
    model = Model(engine)
    takes_deletes = engine.startswith("deduplicate")
    visible_after_compaction = engine in ("first-row", "deduplicate, vectors")
    with tempfile.TemporaryDirectory() as folder:
        table = table_of(Path(folder) / "t", engine, partitions, **{"dynamic-bucket.target-row-num": str(target)})
        for changes, compacts in batches:
            taken = [c for c in changes if takes_deletes or c[0] != RowKind.DELETE]
            one = again(table)
            task = plan_write(one)
            messages = task.run([batch_of(one, [c[1:] for c in taken], [c[0] for c in taken])] if taken else [])
            commits.append(one, messages, task.validations(messages))
            for change in taken:
                model.write(*change)
            if compacts or visible_after_compaction:
                compact(table)
            assert sorted(rows(table), key=str) == model.found()


@pytest.mark.parametrize("engine", ENGINES)
def test_keys_that_differ_in_a_partition_column_are_different_rows(tmp_path: Path, engine: str) -> None:
    table = table_of(tmp_path / "t", engine)
    insert(table, (1, "mo", "b", 1), (1, "tu", "b", 2))
    insert(table, (1, "we", "b", 3))
    compact(table)
    assert sorted(rows(table)) == [(1, "mo", "b", 1), (1, "tu", "b", 2), (1, "we", "b", 3)]


def test_a_row_moves_along_the_column_that_is_not_of_the_key(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    insert(table, (1, "mo", "a", 1), (1, "tu", "a", 2))
    insert(table, (1, "mo", "b", 3))
    assert sorted(rows(table)) == [(1, "mo", "b", 3), (1, "tu", "a", 2)]
    remove(table, (1, "tu", "nowhere", 0))
    assert rows(table) == [(1, "mo", "b", 3)]


def test_an_overwrite_of_a_partition_takes_its_keys_out_of_the_others_of_the_same_day(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    insert(table, (1, "mo", "a", 1), (1, "tu", "a", 2), (2, "mo", "b", 3), (2, "tu", "b", 4))
    of_monday_in_a = all_of([Comparison("day", "=", pa.scalar("mo")), Comparison("city", "=", pa.scalar("a"))])
    overwrite(table, (2, "mo", "a", 30), partitions=of_monday_in_a)
    assert sorted(rows(table)) == [(1, "tu", "a", 2), (2, "mo", "a", 30), (2, "tu", "b", 4)]


@pytest.mark.parametrize("options", [{}, {"deletion-vectors.enabled": "true"}, {"changelog-producer": "lookup"}])
def test_what_an_overwrite_moves_out_of_other_partitions_is_compacted_with_what_is_there(
    tmp_path: Path, options: dict[str, str]
) -> None:
    table = table_of(tmp_path / "t", **{**options, "write-only": "false"})
    append(table, (1, "mo", "a", 1), (3, "mo", "b", 3), (4, "mo", "b", 4))
    city = Overwrite(Comparison("city", "=", pa.scalar("a")))
    overwrite_and_compact(table, city, (3, "mo", "a", 30))
    assert sorted(rows(table)) == [(3, "mo", "a", 30), (4, "mo", "b", 4)]
    append(table, (9, "mo", "b", 9))
    assert sorted(rows(table)) == [(3, "mo", "a", 30), (4, "mo", "b", 4), (9, "mo", "b", 9)]


def test_rows_that_an_overwrite_adds_to_other_partitions_do_not_share_a_level_with_others(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", "aggregation")
    insert(table, (1, "mo", "a", 1))
    compact(table)
    deepest = max(e.file.level for e in live(table))
    overwrite_and_compact(
        table, Overwrite(Comparison("city", "=", pa.scalar("b"))), (1, "mo", "b", 2), (2, "mo", "b", 3)
    )
    assert sorted(rows(table)) == [(1, "mo", "a", 3), (2, "mo", "b", 3)]
    assert sorted(e.file.level for e in live(table)) == [0, deepest, deepest]


@pytest.mark.parametrize("partitions", [None, Comparison("city", "=", pa.scalar("a"))])
def test_a_key_that_a_rival_brings_is_a_conflict_of_an_overwrite_that_leaves_it(
    tmp_path: Path, partitions: Comparison | None
) -> None:
    table = table_of(tmp_path / "t")
    insert(table, (1, "mo", "a", 1))
    mine, what = again(table), Overwrite(partitions)
    task = plan_write(mine, what)
    messages = task.run([batch_of(mine, [(2, "mo", "a", 2)])])
    insert(table, (2, "mo", "b", 3))
    validations = task.validations(messages)
    assert (not validations) == (partitions is None)
    if validations:
        with pytest.raises(CommitConflictError, match="a key could be in two partitions"):
            commits.append(again(table), messages, validations)


def append(table: Table, *given: Row) -> None:
    """Append rows and compact what is due, as a statement does."""
    now = again(table)
    messages = plan_write(now).run([batch_of(now, given)])
    commits.append(now, [*messages, *compact_due(now, messages, LocalExecutor(1))])


def overwrite_and_compact(table: Table, what: Overwrite, *given: Row) -> None:
    """Overwrite and compact what is due, as a statement does."""
    now = again(table)
    messages = plan_write(now, what).run([batch_of(now, given)])
    every = [*messages, *compact_due(now, messages, LocalExecutor(1), what)]
    commits.overwrite(
        now,
        every,
        lambda latest: overwritten(now, latest, what, every),
        replaced_partitions=what.replaces(now, {m.partition for m in messages}),
    )
