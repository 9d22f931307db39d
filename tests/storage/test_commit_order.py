"""Writers of one bucket at the same time number their rows alike: the later commit's stays the newer one."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import CommitConflictError
from paimon_sql.format.metadata.snapshot import CommitKind
from paimon_sql.storage.compact.compaction import compact_due
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from tests.storage import commits
from tests.storage import small_tables as small

KINDS = {
    "plain": {},
    "changelog": {"changelog-producer": "lookup"},
    "vectors": {"deletion-vectors.enabled": "true"},
    "dynamic": {"bucket": "-1"},
}
EAGER = {"write-only": "false", "num-sorted-run.compaction-trigger": "2"}


def prepared(table: Table, *rows: small.Row, compacts: bool = False) -> list[CommitMessage]:
    """Rows that are written, and compacted with what is there, but not committed."""
    now = small.fresh(table)
    messages = plan_write(now).run([small.batch_of(now, rows)])
    return [*messages, *compact_due(now, messages, LocalExecutor(1))] if compacts else messages


def shown(table: Table) -> dict[int, str | None]:
    """The rows by their key."""
    now = small.fresh(table)
    latest = now.snapshots.latest()
    assert latest is not None
    return {key: value for key, value, _ in small.rows_at(now, latest)}


@pytest.mark.parametrize("kind", KINDS)
def test_the_row_of_the_later_commit_shows_whichever_was_written_first(tmp_path: Path, kind: str) -> None:
    for name in ("first", "second"):
        table = small.make_table(tmp_path / name, KINDS[kind], primary_keys=["id"])
        small.insert(table, (1, "old", "x"), (2, "old", "x"), (3, "old", "x"))
        small.compact(small.fresh(table))
        one, other = prepared(table, (1, "one", "x"), (2, "one", "x")), prepared(table, (1, "other", "x"))
        last = one if name == "first" else other
        for messages in (other, one) if last is one else (one, other):
            commits.append(small.fresh(table), messages)
        small.compact(small.fresh(table))
        assert shown(table)[1] == ("one" if last is one else "other")
        assert shown(table)[2] == "one"


@pytest.mark.parametrize("kind", ["plain", "changelog"])
def test_a_compaction_leaves_no_older_row_of_a_rival_above_the_newer_one(tmp_path: Path, kind: str) -> None:
    table = small.make_table(tmp_path / "t", {**KINDS[kind], **EAGER}, primary_keys=["id"])
    small.insert(table, (1, "old", "x"))
    rival = prepared(table, (1, "rival", "x"))
    own = prepared(table, (1, "own", "x"), compacts=True)
    assert any(m.compact_before for m in own)
    commits.append(small.fresh(table), rival)
    made = commits.append(small.fresh(table), own)
    assert [s.commit_kind for s in made] == [CommitKind.APPEND]  # the rows, without their compaction
    before = shown(table)
    small.compact(small.fresh(table))
    assert shown(table) == before == {1: "own"}


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "write and compact", "commit", "compact"]),
        st.lists(st.integers(1, 4), min_size=1, max_size=3, unique=True),
        st.integers(0, 3),
    ),
    max_size=14,
)


@settings(max_examples=60, deadline=None)
@given(STEPS, st.sampled_from(["plain", "changelog", "dynamic"]))
def test_no_compaction_changes_what_writers_at_the_same_time_have_written(
    steps: list[tuple[str, list[int], int]], kind: str
) -> None:
    with TemporaryDirectory() as folder:
        table = small.make_table(Path(folder) / "t", {**KINDS[kind], **EAGER}, primary_keys=["id"])
        small.insert(small.fresh(table), *((key, "old", "x") for key in range(1, 5)))
        waiting: list[list[CommitMessage]] = []
        for number, (step, keys, choice) in enumerate([*steps, ("compact", [], 0)]):
            if step.startswith("write"):
                rows = [(key, f"{number}", "x") for key in keys]
                waiting.append(prepared(table, *rows, compacts=step != "write"))
            elif step == "commit" and waiting:
                with suppress(CommitConflictError):  # the index of a dynamic bucket
                    commits.append(small.fresh(table), waiting.pop(choice % len(waiting)))
            elif step == "compact":
                before = shown(table)
                small.compact(small.fresh(table))
                assert shown(table) == before
