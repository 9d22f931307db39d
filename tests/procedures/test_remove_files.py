"""The procedures that remove files nobody needs, or forget files that are missing, called without Spark."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError, NoSuchDatabaseError, PaimonError
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.procedures.base import Context
from tests.procedures.rows import rows_of
from tests.storage import core_tables as core

Call = Callable[..., list[dict[str, Any]]]
OLD = 1_000_000_000


@pytest.fixture
def context(tmp_path: Path) -> Context:
    """Tables ``d.t``, ``d.u`` and ``e.v``, each with an orphan of five bytes."""
    catalog = FileSystemCatalog("paimon", {"warehouse": str(tmp_path / "w")})
    context = Context(catalog, "d")
    for database, name in (("d", "t"), ("d", "u"), ("e", "v")):
        if not catalog.database_exists(database):
            catalog.create_database(database, {})
        table = catalog.create_table(Identifier(database, name), new_schema(core.COLUMNS, partition_keys=["p"]))
        core.insert(table, (1, "a", "x"), (2, "b", "y"))
        orphan = Path(table.path) / f"p=x/bucket-0/data-{uuid.uuid4()}-0.parquet"
        orphan.write_bytes(b"12345")
        os.utime(orphan, (OLD, OLD))
    return context


@pytest.fixture
def call(context: Context) -> Call:
    def run(name: str, **given: Any) -> list[dict[str, Any]]:
        return rows_of(context, name, **given)

    return run


@pytest.mark.parametrize(
    ("name", "tables"),
    [("t", 1), ("d.t", 1), ("paimon.d.t", 1), ("*", 2), ("d.*", 2), ("paimon.d.*", 2), ("*.*", 3), ("paimon.*.*", 3)],
)
@pytest.mark.parametrize("mode", [None, "local", "DISTRIBUTED"])
def test_tables_databases_and_catalogs_are_cleaned(call: Call, name: str, tables: int, mode: str | None) -> None:
    (looked,) = call("remove_orphan_files", table=name, dry_run=True, mode=mode, parallelism=2)
    (done,) = call("remove_orphan_files", table=name, mode=mode)
    for row in (looked, done):
        assert (row["deletedFileCount"], row["deletedFileTotalLenInBytes"], row["tables"]) == (
            tables,
            5 * tables,
            tables,
        )
    assert looked["note"].startswith("dry run, nothing was deleted; files from before ")
    assert "p=x/bucket-0/data-" in done["examples"]
    assert call("remove_orphan_files", table=name)[0]["deletedFileCount"] == 0


def test_a_broken_table_of_a_database_keeps_the_files_of_all(context: Context, call: Call) -> None:
    table = context.table("u")
    for path in (Path(table.path) / "manifest").iterdir():
        path.write_bytes(b"rubbish")
    with pytest.raises(PaimonError, match=r"paimon\.d\.u.*no file was deleted"):
        call("remove_orphan_files", table="d.*")
    assert call("remove_orphan_files", table="t")[0]["deletedFileCount"] == 1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"older_than": "2999-01-01"}, "must not be in the future"),
        ({"older_than": "soon"}, "not a date or time"),
        ({"mode": "somewhere"}, "mode cannot be 'somewhere'"),
        ({"parallelism": 0}, "parallelism cannot be 0"),
        ({"table": ""}, "is not a table"),
        ({"table": "a.b.*"}, "does not name tables"),
    ],
)
def test_bad_arguments_are_refused(call: Call, arguments: dict[str, Any], error: str) -> None:
    with pytest.raises(InvalidInputError, match=error):
        call("remove_orphan_files", **{"table": "t", **arguments})


def test_an_unknown_database_is_refused(call: Call) -> None:
    with pytest.raises(NoSuchDatabaseError):
        call("remove_orphan_files", table="nowhere.*")


def test_folders_elsewhere_that_tables_share_are_left_alone(context: Context, call: Call, tmp_path: Path) -> None:
    outside = {"data-file.external-paths": f"file://{tmp_path}/out"}
    for name, place in (("d", "t"), ("e", "v")):
        context.catalog.alter_table(Identifier(name, place), lambda s: replace(s, id=s.id + 1, options=outside))
    orphan = tmp_path / f"out/p=x/bucket-0/data-{uuid.uuid4()}-0.parquet"
    orphan.parent.mkdir(parents=True)
    orphan.touch()
    os.utime(orphan, (OLD, OLD))
    (row,) = call("remove_orphan_files", table="*.*")
    assert orphan.exists()
    assert row["note"].endswith("/out skipped: other tables have files there, too")
    context.catalog.drop_table(Identifier("e", "v"))
    assert call("remove_orphan_files", table="t")[0]["deletedFileCount"] == 1


def test_missing_files_are_told_and_forgotten(context: Context, call: Call) -> None:
    assert call("remove_unexisting_files", table="t") == []
    table = context.table("t")
    lost = next(Path(table.path).glob("p=y/*/data-*"))
    lost.unlink()
    (looked,) = call("remove_unexisting_files", table="t", dry_run=True, parallelism=3)
    assert looked["snapshot_id"] is None
    (done,) = call("remove_unexisting_files", table="t")
    assert done == {**looked, "snapshot_id": 2}
    assert (done["fileName"], done["partition"], done["bucket"], done["record_count"]) == (str(lost), "p=y", 0, 1)
    assert core.rows(table) == [(1, "a", "x")]
    assert call("remove_unexisting_files", table="t") == []
    with pytest.raises(InvalidInputError, match="parallelism cannot be -1"):
        call("remove_unexisting_files", table="t", parallelism=-1)


def test_a_table_without_a_snapshot_misses_nothing(context: Context, call: Call) -> None:
    context.catalog.create_table(Identifier("d", "n"), new_schema(core.COLUMNS))
    assert call("remove_unexisting_files", table="n") == []
