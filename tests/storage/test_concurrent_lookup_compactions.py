"""Two compactions of one bucket at once, where reads do not merge what compactions have looked up.

One of them takes the old file along and one leaves it, so that their results stand on different levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_sql.format.metadata.snapshot import CommitKind
from paimon_sql.format.schema.system_fields import VALUE_KIND, RowKind
from paimon_sql.storage.compact.compaction import compact_due
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from tests.storage import commits
from tests.storage import small_tables as small

KINDS = {
    "first row": {"merge-engine": "first-row"},
    "deletion vectors": {"deletion-vectors.enabled": "true"},
    "changelog": {"changelog-producer": "lookup"},
}
ONE = LocalExecutor(1)


@pytest.fixture(params=KINDS)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    """A table with the rows 1000 to 1999 on its max level."""
    options = {"write-only": "false", **KINDS[request.param]}
    made = small.make_table(tmp_path / "t", options, primary_keys=["id"])
    commits.append(made, prepared(made, range(1000, 2000), "old"))
    return made


def prepared(table: Table, ids: Sequence[int], value: str, kind: RowKind = RowKind.INSERT) -> list[CommitMessage]:
    """Rows that are written and compacted, but not committed."""
    now = small.fresh(table)
    rows = small.batch_of(now, [(i, f"{value}{i}", "x") for i in ids])
    kinds = pa.array([int(kind)] * len(ids), pa.int8())
    messages = plan_write(now).run([rows.append_column(VALUE_KIND.name, kinds)])
    return [*messages, *compact_due(now, messages, ONE)]


def compacted_rows(table: Table) -> dict[int, str | None]:
    """The rows after the next compaction, each key once."""
    now = small.fresh(table)
    commits.append(now, prepared(now, [9999], "last"))
    rows = small.rows_at(now, now.snapshots.latest())  # type: ignore[arg-type]
    found = {id_: value for id_, value, _ in rows if id_ != 9999}
    assert len(found) == len(rows) - 1
    return found


def test_a_key_that_two_writers_insert_at_once_shows_once(table: Table) -> None:
    few, many = prepared(table, [3], "few"), prepared(table, range(3000), "many")
    commits.append(table, few)
    made = commits.append(table, many)
    assert [s.commit_kind for s in made] == [CommitKind.APPEND]
    latest = table.snapshots.latest()
    assert latest is not None
    shown = [id_ for id_, *_ in small.rows_at(table, latest)]
    assert len(shown) == len(set(shown))
    assert compacted_rows(table).keys() == set(range(3000))


def test_a_row_is_not_dropped_for_one_that_was_overwritten_meanwhile(table: Table) -> None:
    again = prepared(table, [1000], "new")
    small.overwrite(small.fresh(table), (5, "other", "x"))
    commits.append(table, again)
    assert compacted_rows(table) == {5: "other", 1000: "new1000"}


def test_rows_that_were_deleted_meanwhile_do_not_come_back(tmp_path: Path) -> None:
    table = small.make_table(tmp_path / "t", KINDS["deletion vectors"] | {"write-only": "false"}, primary_keys=["id"])
    commits.append(table, prepared(table, range(1000, 2000), "old"))
    many, gone = prepared(table, range(2000, 4000), "many"), prepared(table, [1000], "", RowKind.DELETE)
    assert gone[-1].compact_new_indexes and not gone[-1].compact_after  # it only marks a row of the old file
    assert commits.append(table, gone)[-1].commit_kind is CommitKind.COMPACT
    assert [s.commit_kind for s in commits.append(table, many)] == [CommitKind.APPEND]
    assert compacted_rows(table).keys() == set(range(1001, 4000))
