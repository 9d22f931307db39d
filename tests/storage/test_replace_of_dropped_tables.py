"""REPLACE TABLE ... AS SELECT, while another process drops the table."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from paimon_sql.errors import NoSuchTableError
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.metadata.schemas import SchemaManager
from paimon_sql.storage.operations.replace_table import replace_table, replacement
from paimon_sql.storage.staging.proposal import Overwrite
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from tests.storage import small_tables as small


class _DroppedMeanwhile(SchemaManager):
    """Schemas whose table is dropped, or replaced by another one, right behind the new version."""

    others: tuple[TableSchema, ...] = ()

    def try_add(self, schema: TableSchema, base: TableSchema | None = None) -> bool:
        added = super().try_add(schema, base)
        root = Path(self.directory.directory).parent
        shutil.rmtree(root)
        for other in self.others:
            assert SchemaManager(self.directory.file_io, str(root)).try_add(other)
        return added


def _replaced(old: Table, monkeypatch: pytest.MonkeyPatch, *others: TableSchema) -> None:
    table = replace(old, schema=replacement(old, replace(old.schema, time_millis=7)))
    messages = plan_write(table, Overwrite()).run([small.batch_of(table, [(1, "a", "x")])])
    schemas = _DroppedMeanwhile(old.file_io, old.path)
    schemas.others = others
    monkeypatch.setitem(table.__dict__, "schemas", schemas)
    with Transaction(table) as transaction:
        replace_table(transaction, old, messages)


def test_a_table_that_is_dropped_while_it_is_replaced_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = small.make_table(tmp_path / "t")
    with pytest.raises(NoSuchTableError):
        _replaced(old, monkeypatch)
    assert not (tmp_path / "t" / "schema").exists()


def test_the_schemas_of_another_table_of_the_name_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = small.make_table(tmp_path / "t")
    other = replace(old.schema, time_millis=old.schema.time_millis + 5)
    with pytest.raises(NoSuchTableError):
        _replaced(old, monkeypatch, other, replace(other, id=1))
    assert SchemaManager(old.file_io, old.path).ids() == [0, 1]


def test_a_table_that_was_dropped_before_leaves_no_files_of_the_new_rows(tmp_path: Path) -> None:
    old = small.make_table(tmp_path / "t")
    table = replace(old, schema=replacement(old, replace(old.schema, time_millis=7)))
    shutil.rmtree(old.path)
    messages = plan_write(table, Overwrite()).run([small.batch_of(table, [(1, "a", "x")])])
    assert [p for p in Path(old.path).rglob("*") if p.is_file()]
    with Transaction(table) as transaction, pytest.raises(NoSuchTableError):
        replace_table(transaction, old, messages)
    assert not Path(old.path).exists()
