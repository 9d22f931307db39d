"""Numbers of rows that metadata tell: those that a read gives, or none."""

from __future__ import annotations

from pathlib import Path

import pytest
from core_tables import again, insert, live, make_table
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.format.deletion_vectors import DeletionVector
from paimon_sql.storage.commit.committer import Committer
from paimon_sql.storage.row_level.vectors import mark
from paimon_sql.storage.scan.counting import count_of_files
from paimon_sql.storage.scan.plan import plan_scan


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5)), max_size=4))
def test_rows_that_deletion_vectors_delete_do_not_count(
    tmp_path_factory: pytest.TempPathFactory, commits: list[tuple[int, int]]
) -> None:
    table = make_table(tmp_path_factory.mktemp("t"), {"deletion-vectors.enabled": "true"}, partitions=["p"])
    wanted = 0
    for rows, deleted in commits:
        insert(table, *((i, "v", "xy"[i % 2]) for i in range(rows)))
        wanted += rows
        table = again(table)
        first = live(table)[0]
        if deleted and not [d for s in plan_scan(table).splits for d in s.deletions]:
            vector = DeletionVector(range(min(deleted, first.file.row_count)))
            Committer(table).append(mark(table, table.snapshots.latest(), [(first, vector)]))
            wanted -= min(deleted, first.file.row_count)
    found = count_of_files(again(table))
    assert found is not None
    assert found.rows == wanted == plan_scan(again(table)).row_count


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        ({}, ["id"]),
        ({"row-tracking.enabled": "true", "data-evolution.enabled": "true"}, []),
        ({"incremental-between": "1,2"}, []),
    ],
)
def test_where_files_must_be_looked_at_nothing_is_told(
    tmp_path: Path, options: dict[str, str], keys: list[str]
) -> None:
    table = make_table(tmp_path / "t", {k: v for k, v in options.items() if "incremental" not in k}, keys=keys)
    for _ in range(2):
        insert(table, (1, "a", "x"))
    assert count_of_files(again(table, options)) is None
