"""Operations that meet at one moment: each of these once lost, doubled or invented something."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paimon_sql.errors import (
    CommitConflictError,
    CommitUnknownError,
    NoSuchSnapshotError,
    NoSuchTableError,
    PaimonError,
)
from paimon_sql.format.schema.types import BigIntType, DataField, IntType, string_type
from paimon_sql.storage.branches.management import create_branch
from paimon_sql.storage.branches.selection import branch_of
from paimon_sql.storage.commit.snapshot import snapshot_commit
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.compact.compaction import compact_due
from paimon_sql.storage.copy.copy import copy_files, plan_copy, schemas_of_copy
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.maintenance.snapshots import rollback
from paimon_sql.storage.maintenance.snapshots.expiration import expire_snapshots
from paimon_sql.storage.maintenance.snapshots.rollback import rollback_to_snapshot
from paimon_sql.storage.maintenance.tags.management import create_tag
from paimon_sql.storage.metadata.numbered_files import NumberedDirectory
from paimon_sql.storage.operations.purge import purge
from paimon_sql.storage.operations.replace_table import replace_table, replacement
from paimon_sql.storage.retention.policy import Retention
from paimon_sql.storage.schema.changes.alter_columns import AddColumn
from paimon_sql.storage.schema.changes.base import apply_changes
from paimon_sql.storage.staging.proposal import Overwrite, is_same_table
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from tests.storage import commits
from tests.storage.core_tables import COLUMNS, again, batch_of, insert, make_table, rows, written
from tests.storage.faulty_io import Died
from tests.storage.small_tables import on_disk, reachable

SUMS = {
    "merge-engine": "aggregation",
    "fields.n.aggregate-function": "sum",
    "changelog-producer": "lookup",
    "num-sorted-run.compaction-trigger": "2",
}
SUMMED = (DataField(0, "id", IntType()), DataField(1, "n", BigIntType()))
ONE = LocalExecutor(1)


class AtCall(LocalFileIO):
    """Lets something happen once, before or behind the first operation of a name on a path that ends so."""

    def __init__(self, operation: str, end: str, happen: Callable[[], Any], *, behind: bool = False) -> None:
        super().__init__()
        self._what, self._end, self._behind = operation, end, behind
        self._waiting = [happen]

    def _at(self, operation: str, path: str, *, behind: bool) -> None:
        if self._waiting and (operation, behind) == (self._what, self._behind) and path.endswith(self._end):
            self._waiting.pop()()

    def try_create_exclusive(self, path: str, data: bytes, *, locked: bool = False) -> bool:
        self._at("create", path, behind=False)
        made = super().try_create_exclusive(path, data, locked=locked)
        self._at("create", path, behind=True)
        return made

    def read_bytes(self, path: str) -> bytes:
        self._at("read", path, behind=False)
        try:
            return super().read_bytes(path)
        finally:
            self._at("read", path, behind=True)

    def list(self, path: str) -> Any:
        self._at("list", path, behind=False)
        found = super().list(path)
        self._at("list", path, behind=True)
        return found


def with_compactions(table: Table, *new: tuple[Any, ...]) -> list[Any]:
    """Rows in files that nobody sees yet, with the compactions that become due."""
    messages = written(again(table), *new)
    return [*messages, *compact_due(again(table), messages, ONE)]


def latest_id(table: Table) -> int:
    found = again(table).snapshots.latest_id()
    assert found is not None
    return found


def test_two_compactions_of_a_bucket_that_know_nothing_of_each_other_lose_no_sum(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", SUMS, columns=SUMMED, keys=["id"])
    for n in (1, 10):
        commits.append(again(table), with_compactions(table, (1, n)))
    late = with_compactions(table, (1, 100))
    commits.append(again(table), with_compactions(table, (1, 1000)))
    commits.append(again(table), late)
    assert rows(table) == [(1, 1111)]
    commits.append(again(table), with_compactions(table, (1, 10_000)))
    assert rows(table) == [(1, 11_111)]


def test_a_compaction_that_another_one_has_overtaken_is_refused(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", SUMS, columns=SUMMED, keys=["id"])
    for n in (1, 10):
        commits.append(again(table), written(again(table), (1, n)))
    messages = written(again(table), (1, 100))
    late = compact_due(again(table), messages, ONE)
    commits.append(again(table), messages)
    commits.append(again(table), with_compactions(table, (1, 1000)))
    with pytest.raises(CommitConflictError):
        commits.compact(again(table), late)
    assert rows(table) == [(1, 1111)]


def replaced(table: Table, file_io: LocalFileIO | None = None) -> Callable[[], Any]:
    """A REPLACE TABLE AS SELECT of one row, planned now."""
    old = again(table, file_io=file_io)
    new = replace(old, schema=replacement(old, replace(table.schema, fields=COLUMNS)))
    messages = plan_write(new, Overwrite()).run([batch_of(new, [(7, "new", "x")])])

    def commit() -> Any:
        with Transaction(new) as transaction:
            return replace_table(transaction, old, messages)

    return commit


def opened(table: Table) -> Table:
    schema = again(table).schemas.latest()
    assert schema is not None
    return replace(again(table), schema=schema)


def add_column(table: Table, name: str = "c") -> None:
    again(table).schemas.evolve(lambda s: apply_changes(s, [AddColumn((name,), IntType())], has_data=True))


@pytest.mark.parametrize("rows_before", [0, 1])
def test_a_column_that_is_added_while_the_table_is_replaced_does_not_bring_the_old_columns_back(
    tmp_path: Path, rows_before: int
) -> None:
    table = make_table(tmp_path / "t", {"write-only": "true"})
    for i in range(rows_before):
        insert(table, (i, "old", "x"))
    commit = replaced(
        table, AtCall("create", f"snapshot-{rows_before + (1 if rows_before else 2)}", lambda: add_column(table))
    )
    commit()
    shown = opened(table)
    assert rows(replace(shown, schema=shown.schema), columns=("id", "v", "p")) == [(7, "new", "x")]
    assert shown.schemas.newest().id == shown.schema.id


def test_a_column_that_is_added_to_a_replaced_table_is_added_to_the_new_columns(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"write-only": "true"})
    insert(table, (1, "old", "x"))
    late = again(table, file_io=AtCall("create", "schema-1", replaced(table)))
    late.schemas.evolve(lambda s: apply_changes(s, [AddColumn(("c",), IntType())], has_data=True))
    assert opened(table).schema.names == ("id", "v", "p", "c")
    assert rows(opened(table), columns=("id", "v", "p")) == [(7, "new", "x")]


def test_rows_inserted_into_an_empty_table_while_a_replace_of_it_fails_stay_readable(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"write-only": "true"})

    def fail() -> None:
        insert(opened(table), (1, "a", "x"))
        raise PaimonError("no answer")

    with pytest.raises(PaimonError, match="no answer"):
        replaced(table, AtCall("create", "schema-1", fail, behind=True))()
    assert rows(opened(table)) == [(1, "a", "x")]


def test_columns_that_others_add_while_a_replace_is_planned_share_no_id_with_its_columns(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"write-only": "true"})
    insert(table, (1, "old", "x"))
    commit = replaced(table, AtCall("list", "/schema", lambda: add_column(table), behind=True))
    with pytest.raises(CommitConflictError, match="definition was changed"):
        commit()
    commits.append(opened(table), written(opened(table), (2, "b", "x", None)))
    assert sorted(row[0] for row in rows(opened(table))) == [1, 2]


def test_a_rollback_past_a_replace_brings_the_old_columns_back(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"write-only": "true"})
    insert(table, (1, "old", "x"))
    replaced(table)()
    add_column(opened(table))
    stale = opened(table)
    rollback_to_snapshot(again(table), 1)
    assert rows(opened(table)) == [(1, "old", "x")]
    with pytest.raises(NoSuchTableError):
        commits.append(stale, written(stale, (2, "b", "x", None)))


def test_a_rollback_past_a_replace_that_died_behind_its_mark_brings_the_old_columns_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(tmp_path / "t", {"write-only": "true"})
    insert(table, (1, "old", "x"))
    replaced(table)()

    def dies(*_: object) -> int:
        raise Died

    with monkeypatch.context() as patch, pytest.raises(Died):
        patch.setattr(rollback, "drop_newest_first", dies)
        rollback_to_snapshot(again(table), 1)
    assert rows(opened(table)) == [(1, "old", "x")]


def test_a_replace_of_a_table_that_is_dropped_meanwhile_leaves_one_error(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"write-only": "true"})
    insert(table, (1, "old", "x"))
    gone = tmp_path / "gone"
    commit = replaced(table, AtCall("create", "schema-1", lambda: Path(table.path).rename(gone), behind=True))
    with pytest.raises(NoSuchTableError):
        commit()


def test_a_rivals_snapshot_that_comes_after_the_first_look_is_not_taken_for_ones_own(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"write-only": "true", "commit.min-retry-wait": "1 ms"})
    insert(table, (1, "a", "x"))

    def refuse() -> None:
        raise PaimonError("connection reset")

    class Refusing(AtCall):
        """The creation fails, and a rival comes right after it was looked for."""

        def read_bytes(self, path: str) -> bytes:
            try:
                return super().read_bytes(path)
            finally:
                if path.endswith("snapshot-2") and not self._waiting and rivals:
                    rivals.pop()()

    rivals = [lambda: insert(table, (2, "rival", "x"))]
    late = again(table, file_io=Refusing("create", "snapshot-2", refuse))
    commits.append(late, written(late, (3, "mine", "x")))
    assert sorted(rows(table)) == [(1, "a", "x"), (2, "rival", "x"), (3, "mine", "x")]


def test_a_snapshot_that_comes_while_a_purge_looks_for_files_keeps_its_own(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"write-only": "true"})
    insert(table, (1, "a", "x"))

    class Rival(LocalFileIO):
        """A rival commits when the snapshots were listed that the purge keeps."""

        def list(self, path: str) -> Any:
            found = super().list(path)
            if path.endswith("/snapshot") and latest_id(table) >= 3 and rivals:
                rivals.pop()()
            return found

    rivals = [lambda: insert(table, (2, "rival", "x"))]
    purge(again(table, file_io=Rival()))
    assert not rivals
    assert rows(table) == [(2, "rival", "x")]
    assert reachable(again(table)) <= on_disk(again(table))


def test_a_rollback_behind_a_purge_at_work_is_refused_and_later_rows_stay(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"write-only": "true"})
    insert(table, (1, "a", "x"))

    class Rival(LocalFileIO):
        """A rival wants to roll back when the purge has made its snapshot, and writes."""

        def list(self, path: str) -> Any:
            if path.endswith("/snapshot") and latest_id(table) >= 3 and rivals:
                rivals.pop()()
            return super().list(path)

    def rival() -> None:
        with pytest.raises(NoSuchSnapshotError):
            rollback_to_snapshot(again(table), 1)
        for i in (2, 3):
            insert(table, (i, "b", "x"))

    rivals = [rival]
    purge(again(table, file_io=Rival()))
    assert not rivals and sorted(rows(table)) == [(2, "b", "x"), (3, "b", "x")]
    assert reachable(again(table)) <= on_disk(again(table))


def test_a_table_that_has_another_name_for_a_moment_loses_no_acknowledged_row(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"write-only": "true"})
    place, away = Path(table.path), tmp_path / "away"
    looked = [0]

    def looks(found: Table) -> bool:
        answer = is_same_table(found)
        looked[0] += 1
        if looked[0] == 1:
            place.rename(away)  # after this look, and back before the next one
        elif away.exists():
            away.rename(place)
            answer = is_same_table(found)
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshot_commit, "is_same_table", looks)
        with suppress(CommitUnknownError):
            commits.append(again(table), written(again(table), (1, "a", "x")))
    assert rows(table) == [(1, "a", "x")]


def test_a_tag_that_is_made_of_a_snapshot_that_a_rollback_drops_goes_with_it(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"write-only": "true"})
    insert(table, (1, "a", "x"))
    dropped = insert(table, (2, "b", "x"))
    directory = again(table).snapshots.directory
    at = AtCall("list", "/tag", lambda: again(table).tags.create("late", dropped), behind=True)
    assert rollback_to_snapshot(again(table, file_io=at), 1).tags == ["late"]
    assert directory.versions() == [1]
    assert again(table).tags.names() == []


def test_of_two_rollbacks_at_once_the_one_that_goes_less_far_brings_nothing_back(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"write-only": "true"})
    for i in range(4):
        insert(table, (i, "a", "x"))

    def rival() -> None:
        rollback_to_snapshot(again(table), 1)
        insert(table, (9, "later", "x"))

    reset, waiting = NumberedDirectory.reset_hint, [rival]

    def late(self: NumberedDirectory, name: str, version: int) -> None:
        if waiting:
            waiting.pop()()
        reset(self, name, version)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(CommitUnknownError, match="concurrently rolling back"):
        patch.setattr(NumberedDirectory, "reset_hint", late)
        rollback_to_snapshot(again(table), 3)
    assert again(table).snapshots.directory.versions() == [1, 2]
    assert sorted(rows(table)) == [(0, "a", "x"), (9, "later", "x")]
    assert again(table).tags.names() == []


def test_the_hint_is_flushed_before_the_snapshots_go_that_it_declares_expired(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"write-only": "true"})
    for i in range(3):
        insert(table, (i, "a", "x"))
    happened: list[str] = []

    class Noting(LocalFileIO):
        """Notes what is flushed and what goes."""

        def sync(self, paths: Any, root: str) -> None:
            files = list(paths)
            happened.extend(f"flush {Path(p).name}" for p in files)
            super().sync(files, root)

        def delete(self, path: str) -> bool:
            happened.append(f"delete {Path(path).name}")
            return super().delete(path)

        def delete_if(self, path: str, is_meant: Callable[[bytes], bool], *, durable: bool = False) -> bool:
            happened.append(f"delete {Path(path).name}")
            return super().delete_if(path, is_meant, durable=durable)

    expire_snapshots(again(table, file_io=Noting()), Retention(1, 1, 2**62, 10))
    assert happened.index("flush EARLIEST") < min(i for i, what in enumerate(happened) if what.startswith("delete"))


def test_a_branch_of_a_table_that_was_dropped_is_refused(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"write-only": "true"})
    Path(table.path).rename(tmp_path / "gone")
    with pytest.raises(NoSuchTableError):
        create_branch(again(table), "b")
    with pytest.raises(NoSuchSnapshotError):
        add_column(table)


def test_a_new_table_is_on_the_disk_though_others_made_its_directory(tmp_path: Path) -> None:
    flushed: list[Path] = []

    class Noting(LocalFileIO):
        """Notes what is flushed."""

        def sync(self, paths: Any, root: str) -> None:
            flushed.append(Path(root))
            super().sync(paths, root)

    place = tmp_path / "db.db" / "t"
    (place / "bucket-0").mkdir(parents=True)
    schema = make_table(tmp_path / "other", columns=(DataField(0, "v", string_type()),)).schema
    assert Table("db.t", str(place), Noting(), schema).schemas.try_add(schema)
    assert flushed == [place.parent]


def test_a_branch_has_the_schemas_of_rows_that_came_before_its_snapshots_own_schema(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"write-only": "true"})
    old = again(table)
    late = written(old, (1, "old", "x"))
    wider = table.schemas.evolve(lambda schema: apply_changes(schema, [AddColumn(("c",), IntType())], has_data=True))
    insert(replace(table, schema=wider), (2, "new", "x", 7))
    commits.append(old, late)
    assert [s.schema_id for s in again(table).snapshots.all()] == [1, 0]
    create_branch(again(table), "b", snapshot_id=2)
    branch = branch_of(again(table), "b")
    assert branch.schema.names == ("id", "v", "p", "c")
    assert sorted(rows(branch)) == [(1, "old", "x", None), (2, "new", "x", 7)]


def test_a_branch_that_is_made_while_its_table_gets_another_name_leaves_nothing_behind(tmp_path: Path) -> None:
    table, renamed = make_table(tmp_path / "t"), tmp_path / "u"
    insert(table, (1, "a", "x"))

    class Slow(LocalFileIO):
        def rename(self, src: str, dst: str) -> bool:
            if renamed.exists():
                return super().rename(src, dst)
            Path(src).parent.parent.rename(renamed)
            Path(src).parent.mkdir(parents=True)
            Path(f"{renamed}/branch/{Path(src).name}").rename(src)
            return super().rename(src, dst)

    with pytest.raises(NoSuchTableError):
        create_branch(again(table, file_io=Slow()), "b")
    assert not Path(table.path).exists()
    assert sorted(rows(replace(again(table), path=str(renamed)))) == [(1, "a", "x")]


@pytest.mark.parametrize("error", [KeyboardInterrupt, None])
def test_a_tag_that_is_made_while_its_table_gets_another_name_leaves_nothing_behind(
    tmp_path: Path, error: type[BaseException] | None
) -> None:
    table = make_table(tmp_path / "t")
    insert(table, (1, "a", "x"))

    class Slow(LocalFileIO):
        def try_create_exclusive(self, path: str, data: bytes, *, locked: bool = False) -> bool:
            Path(table.path).rename(tmp_path / "u")
            made = super().try_create_exclusive(path, data, locked=locked)
            if error is not None:
                raise error
            return made

    with pytest.raises(error or NoSuchSnapshotError):
        create_tag(again(table, file_io=Slow()), "a")
    assert not Path(table.path).exists()


def test_a_copy_has_the_columns_of_its_rows_though_the_table_is_replaced_meanwhile(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"write-only": "true"})
    insert(table, (1, "a", "x"))

    def replaced() -> None:
        old = again(table)
        new = replace(old, schema=replacement(old, old.schema))
        with Transaction(new) as transaction:
            replace_table(transaction, old, plan_write(new, Overwrite()).run([batch_of(new, [(9, "z", "x")])]))

    plan = plan_copy(again(table, file_io=AtCall("list", "/schema", replaced)))
    target = replace(again(table), path=str(tmp_path / "copy"), schema=schemas_of_copy(plan)[-1], name="copy")
    for version in schemas_of_copy(plan):
        target.schemas.try_add(version)
    copy_files(plan, target, ONE)
    assert rows(target) in ([(1, "a", "x")], [(9, "z", "x")])
