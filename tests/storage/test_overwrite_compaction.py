"""Overwrites of tables with a primary key: what they bring is compacted as far as a write's rows are."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_sql.format.metadata.snapshot import CommitKind
from paimon_sql.storage.compact.compaction import compact_due
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.staging.proposal import Overwrite, overwritten
from paimon_sql.storage.table.table import Table
from tests.storage import commits
from tests.storage.core_tables import Row, again, insert, live, make_table, overwrite, rows, written


def replace_all(table: Table, *given: Row) -> None:
    """Overwrite and compact what is due, as a statement does."""
    now, everything = again(table), Overwrite()
    messages = written(now, *given)
    compacted = compact_due(now, messages, LocalExecutor(1), everything)
    commits.overwrite(
        now, [*messages, *compacted], lambda latest: overwritten(now, latest, everything, [*messages, *compacted])
    )


@pytest.mark.parametrize(
    "options",
    [
        {"merge-engine": "first-row", "changelog-producer": "lookup"},
        {"deletion-vectors.enabled": "true"},
        {"changelog-producer": "lookup"},
    ],
)
def test_rows_of_an_overwrite_are_seen_where_only_compacted_rows_are(tmp_path: Path, options: dict[str, str]) -> None:
    table = make_table(tmp_path / "t", options, keys=["id"])
    replace_all(table, (1, "a", "x"))
    replace_all(table, (2, "b", "x"))
    assert rows(table) == [(2, "b", "x")]
    assert all(e.file.level > 0 for e in live(table))
    latest = again(table).snapshots.latest()
    assert latest is not None and latest.commit_kind is CommitKind.COMPACT
    assert latest.changelog_manifest_list is None


def test_an_overwrite_without_compactions_goes_to_the_deepest_level(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"num-levels": "4"}, keys=["id"])
    insert(table, (1, "a", "x"))
    overwrite(table, (2, "b", "x"))
    assert [e.file.level for e in live(table)] == [3]
    assert rows(table) == [(2, "b", "x")]


def test_an_overwrite_stays_where_it_is_written_if_the_table_says_so(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"overwrite-upgrade": "false"}, keys=["id"])
    overwrite(table, (2, "b", "x"))
    assert [e.file.level for e in live(table)] == [0]


def test_a_row_that_is_looked_up_alone_is_folded_all_the_same(tmp_path: Path) -> None:
    options = {"merge-engine": "aggregation", "changelog-producer": "lookup", "fields.v.aggregate-function": "listagg"}
    table = make_table(tmp_path / "t", options, keys=["id"])
    replace_all(table, (1, "a", "x"), (3, "c", "x"))
    now = again(table)
    messages = written(now, (2, "", "x"))
    commits.append(now, [*messages, *compact_due(now, messages, LocalExecutor(1))])
    assert sorted(rows(table)) == [(1, "a", "x"), (2, None, "x"), (3, "c", "x")]
