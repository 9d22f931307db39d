"""Definitions change while rows are written: no row appears in a table that was not written to, and none is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.jdbc.catalog import JdbcCatalog
from paimon_sql.errors import CommitUnknownError, InvalidInputError, NoSuchTableError
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import DataField, IntType
from paimon_sql.storage.commit.snapshot import snapshot_commit
from paimon_sql.storage.commit.snapshot.snapshot_commit import RenamingSnapshotCommit
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from tests.storage import commits
from tests.storage.core_tables import COLUMNS, batch_of, rows

T, U = Identifier("db", "t"), Identifier("db", "u")
OLD, LATE = (1, "old", "x"), (2, "late", "x")
OTHER = (DataField(0, "n", IntType()),)


@pytest.fixture(params=["filesystem", "jdbc"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog:
    warehouse = {"warehouse": str(tmp_path / "w")}
    if request.param == "filesystem":
        made: Catalog = FileSystemCatalog("c", warehouse)
    else:
        made = JdbcCatalog("c", {**warehouse, "uri": f"jdbc:sqlite:{tmp_path}/c.db", "catalog-key": "k"})
    made.create_database("db", {})
    create(made)
    append(made.table(T), OLD)
    return made


def create(catalog: Catalog, columns: Sequence[DataField] = COLUMNS) -> Table:
    return catalog.create_table(T, new_schema(list(columns)))


def append(table: Table, *given: tuple[Any, ...]) -> None:
    commits.append(table, plan_write(table).run([batch_of(table, given)]))


@contextmanager
def between(step: str, meanwhile: Callable[[], object]) -> Iterator[None]:
    """Let something happen before the snapshot's file is created, or before its writer looks whether it stands."""
    owner = RenamingSnapshotCommit if step == "_created" else snapshot_commit
    original, waiting = getattr(owner, step), [meanwhile]

    def late(*given: Any, **named: Any) -> Any:
        if waiting:
            waiting.pop()()
        return original(*given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, step, late)
        yield


STEPS = pytest.mark.parametrize("step", ["_created", "standing_of"])


@STEPS
def test_an_insert_into_a_table_that_is_dropped_meanwhile_fails_and_leaves_nothing(
    catalog: Catalog, step: str, tmp_path: Path
) -> None:
    table = catalog.table(T)
    with between(step, lambda: catalog.drop_table(T)), pytest.raises((NoSuchTableError, CommitUnknownError)):
        append(table, LATE)
    assert not catalog.table_exists(T) and catalog.list_tables("db") == []
    assert not list((tmp_path / "w").rglob("snapshot-*"))
    assert create(catalog).snapshots.latest() is None


def test_an_insert_behind_a_drop_leaves_no_directory(catalog: Catalog, tmp_path: Path) -> None:
    table = catalog.table(T)
    messages = plan_write(table).run([batch_of(table, [LATE])])
    catalog.drop_table(T)
    with pytest.raises(NoSuchTableError, match=r"dropped, renamed or replaced while the statement ran; nothing was"):
        commits.append(table, messages)
    assert not (tmp_path / "w/db.db/t").exists()


@STEPS
@pytest.mark.parametrize("columns", [COLUMNS, OTHER], ids=["the same columns", "other columns"])
@pytest.mark.parametrize("rows_of_new", [0, 1, 3])
def test_rows_never_come_into_a_table_that_was_made_anew_under_the_same_name(
    catalog: Catalog, step: str, columns: Sequence[DataField], rows_of_new: int
) -> None:
    table, fresh = catalog.table(T), [(n,) if columns is OTHER else (n, "fresh", "x") for n in range(rows_of_new)]

    def made_anew() -> None:
        catalog.drop_table(T)
        made = create(catalog, columns)
        for row in fresh:
            append(made, row)

    with between(step, made_anew), pytest.raises((NoSuchTableError, CommitUnknownError)):
        append(table, LATE)
    found = catalog.table(T)
    assert sorted(rows(found)) == fresh
    append(found, (9,) if columns is OTHER else (9, "later", "x"))
    assert len(rows(found)) == rows_of_new + 1
    assert found.snapshots.directory.versions() == list(range(1, rows_of_new + 2))


@STEPS
def test_rows_of_a_table_that_is_renamed_meanwhile_are_in_it_or_refused(catalog: Catalog, step: str) -> None:
    table = catalog.table(T)
    with between(step, lambda: catalog.rename_table(T, U)):
        try:
            append(table, LATE)
            told = "committed"
        except NoSuchTableError:
            told = "refused"
        except CommitUnknownError:
            told = "unknown"
    found = sorted(rows(catalog.table(U)))
    assert found in {"committed": [[OLD, LATE]], "refused": [[OLD]], "unknown": [[OLD], [OLD, LATE]]}[told]
    assert not catalog.table_exists(T)
    append(catalog.table(U), (3, "later", "x"))
    assert len(rows(catalog.table(U))) == len(found) + 1
    assert rows(create(catalog)) == []


def test_a_table_is_not_made_over_the_history_of_one_without_a_schema(catalog: Catalog) -> None:
    table = catalog.table(T)
    kept = [(s.path, table.file_io.read_bytes(s.path)) for s in table.file_io.list(f"{table.path}/snapshot")]
    catalog.drop_table(T)
    for path, data in kept:  # as a writer of another program leaves it
        table.file_io.write_bytes(path, data)
    with pytest.raises(InvalidInputError, match="contains the history of a table without a schema"):
        create(catalog)
    assert [table.file_io.read_bytes(path) for path, _ in kept] == [data for _, data in kept]


def test_a_drop_that_was_interrupted_is_ended_by_the_next(catalog: Catalog, tmp_path: Path) -> None:
    def interrupted(*given: Any, **named: Any) -> bool:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("paimon_sql.storage.file_io.local.LocalFileIO.delete_dir", interrupted)
        catalog.drop_table(T)
    assert catalog.list_tables("db") == []
    assert rows(create(catalog)) == []
    catalog.drop_table(T)
    assert list((tmp_path / "w/db.db").iterdir()) == []
    catalog.drop_database("db", cascade=False)
    assert catalog.list_databases() == []
