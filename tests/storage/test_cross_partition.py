from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import CommitConflictError, UnsupportedError
from paimon_sql.format.schema.system_fields import RowKind
from paimon_sql.format.schema.types import DataField, IntType, string_type
from paimon_sql.storage.expressions.predicates import Comparison
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from tests.storage import commits
from tests.storage.core_tables import again, batch_of, compact, insert, live, make_table, overwrite, remove, rows

COLUMNS = (DataField(0, "id", IntType()), DataField(1, "n", IntType()), DataField(2, "p", string_type()))
ENGINES = {
    "deduplicate": {},
    "partial-update": {},
    "aggregation": {"fields.n.aggregate-function": "sum"},
    "first-row": {},
}


def moving_table(path: Path, engine: str = "deduplicate", **options: str) -> Table:
    given_options = {"bucket": "-1", "write-only": "true", "merge-engine": engine, **ENGINES[engine], **options}
    return make_table(path, given_options, columns=COLUMNS, keys=["id"], partitions=["p"])


class Model:
    """A table whose keys stand in one partition each."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        self.rows: dict[int, tuple[Any, str]] = {}

    def write(self, key: int, n: int | None, p: str) -> None:
        known = self.rows.get(key)
        if known is None or self.engine == "deduplicate":
            self.rows[key] = (n, p)
        elif self.engine == "partial-update":
            self.rows[key] = (known[0] if n is None else n, known[1])
        elif self.engine == "aggregation":
            total = (known[0] or 0) + (n or 0) if known[0] is not None or n is not None else None
            self.rows[key] = (total, known[1])

    def found(self) -> list[tuple[Any, ...]]:
        return sorted((k, n, p) for k, (n, p) in self.rows.items())


ROWS = st.tuples(st.integers(0, 12), st.one_of(st.none(), st.integers(0, 9)), st.sampled_from("abc"))


@settings(max_examples=24)
@given(
    engine=st.sampled_from(sorted(ENGINES)),
    batches=st.lists(st.lists(ROWS, max_size=12), min_size=1, max_size=4),
    target=st.integers(1, 6),
)
def test_a_key_lives_in_one_partition_as_a_plain_model_has_it(
    engine: str, batches: list[list[tuple[int, int | None, str]]], target: int
) -> None:
    model = Model(engine)
    with tempfile.TemporaryDirectory() as folder:
        table = moving_table(Path(folder) / "t", engine, **{"dynamic-bucket.target-row-num": str(target)})
        for batch in batches:
            one = again(table)
            cut = len(batch) // 2  # the rows of a key may come in several batches
            task = plan_write(one)
            messages = task.run([batch_of(one, batch[:cut]), batch_of(one, batch[cut:])])
            commits.append(one, messages, validations=task.validations(messages))
            for row in batch:
                model.write(*row)
        if engine == "first-row" and any(batches):
            compact(table)
        assert sorted(rows(table), key=str) == sorted(model.found(), key=str)


def test_a_row_that_moves_is_deleted_where_it_stood(tmp_path: Path) -> None:
    table = moving_table(tmp_path / "t")
    insert(table, (1, 1, "a"), (2, 2, "a"))
    insert(table, (1, 10, "b"))
    assert sorted(rows(table)) == [(1, 10, "b"), (2, 2, "a")]
    assert sorted((e.file.row_count, e.file.delete_row_count) for e in live(table)) == [(1, 0), (1, 1), (2, 0)]


def test_a_delete_finds_its_key_in_whatever_partition(tmp_path: Path) -> None:
    table = moving_table(tmp_path / "t")
    insert(table, (1, 1, "a"), (2, 2, "b"))
    remove(table, (1, 0, "z"), (3, 0, "z"))
    assert rows(table) == [(2, 2, "b")]


def test_a_key_that_comes_and_goes_in_one_write_leaves_nothing(tmp_path: Path) -> None:
    table = moving_table(tmp_path / "t")
    kinds = [RowKind.INSERT, RowKind.DELETE, RowKind.INSERT]
    batch = batch_of(table, [(1, 1, "a"), (1, 1, "a"), (2, 2, "b")], kinds)
    commits.append(again(table), plan_write(again(table)).run([batch]))
    assert rows(table) == [(2, 2, "b")]


def test_keys_stay_where_they_are_when_deletes_are_ignored(tmp_path: Path) -> None:
    table = moving_table(tmp_path / "t", **{"ignore-delete": "true"})
    insert(table, (1, 1, "a"))
    insert(table, (1, 2, "b"))
    assert rows(table) == [(1, 2, "a")]


def test_old_keys_are_forgotten_after_the_time_that_the_index_lives(tmp_path: Path) -> None:
    table = moving_table(tmp_path / "t", **{"cross-partition-upsert.index-ttl": "1 ms"})
    insert(table, (1, 1, "a"))
    insert(table, (1, 2, "b"))
    assert sorted(rows(table)) == [(1, 1, "a"), (1, 2, "b")]


def test_an_overwrite_takes_keys_out_of_the_other_partitions(tmp_path: Path) -> None:
    table = moving_table(tmp_path / "t")
    insert(table, (1, 1, "a"), (2, 2, "b"), (3, 3, "b"))
    overwrite(table, (2, 20, "a"), partitions=Comparison("p", "=", pa.scalar("a")))
    assert sorted(rows(table)) == [(2, 20, "a"), (3, 3, "b")]
    overwrite(table, (3, 30, "c"))
    assert rows(table) == [(3, 30, "c")]


def test_a_dynamic_overwrite_is_refused(tmp_path: Path) -> None:
    table = moving_table(tmp_path / "t")
    with pytest.raises(UnsupportedError, match="keys may move between partitions"):
        overwrite(table, (1, 1, "a"), dynamic=True)


def test_rows_that_came_meanwhile_are_a_conflict_but_a_compaction_is_none(tmp_path: Path) -> None:
    table = moving_table(tmp_path / "t")
    insert(table, (1, 1, "a"), (2, 2, "a"))
    insert(table, (1, 2, "a"))
    mine = again(table)
    task = plan_write(mine)
    messages = task.run([batch_of(mine, [(5, 1, "b")])])
    compact(table)
    commits.append(mine, messages, validations=task.validations(messages))
    later = again(table)
    task = plan_write(later)
    messages = task.run([batch_of(later, [(6, 1, "b")])])
    insert(table, (6, 2, "c"))
    with pytest.raises(CommitConflictError, match="a key could be in two partitions"):
        commits.append(later, messages, validations=task.validations(messages))
    assert sorted(rows(table)) == [(1, 2, "a"), (2, 2, "a"), (5, 1, "b"), (6, 2, "c")]
