"""Reads that take partitions from another branch: ``scan.fallback-branch`` and ``scan.primary-branch``."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import DataField, IntType
from paimon_sql.storage.branches.management import create_branch
from paimon_sql.storage.branches.selection import branch_of
from paimon_sql.storage.expressions.predicates import Comparison
from paimon_sql.storage.schema.changes.alter_columns import AddColumn
from paimon_sql.storage.schema.changes.base import apply_changes
from paimon_sql.storage.schema.changes.options import SetOption
from paimon_sql.storage.table.table import Table
from tests.storage.core_tables import again, insert, make_table, overwrite, rows


def evolve(table: Table, *changes: SetOption | AddColumn) -> Table:
    schema = table.schemas.evolve(
        lambda s: apply_changes(s, changes, has_data=table.snapshots.latest_id() is not None, case_sensitive=True)
    )
    return replace(table, schema=schema)


def two_branches(path: Path, option: str = "scan.fallback-branch") -> Table:
    """Main, an append table, has the partition a; ``live``, a keyed branch, has a and b."""
    table = make_table(path, partitions=["p"])
    create_branch(table, "live")
    keyed = (SetOption("primary-key", "id,p"), SetOption("bucket", "1"))
    live = evolve(branch_of(table, "live"), *keyed)
    insert(live, (1, "live", "a"), (2, "live", "b"))
    insert(live, (2, "newer", "b"), (3, "live", "b"))
    table = evolve(table, SetOption(option, "live"))
    insert(table, (9, "main", "a"))
    return table


def test_partitions_that_main_lacks_come_from_the_fallback(tmp_path: Path) -> None:
    table = two_branches(tmp_path / "t")
    assert sorted(rows(table)) == [(2, "newer", "b"), (3, "live", "b"), (9, "main", "a")]
    assert rows(table, Comparison("p", "=", pa.scalar("b"))) == [(2, "newer", "b"), (3, "live", "b")]
    # No row of main is wanted, and yet the partition is main's.
    assert rows(table, Comparison("id", "=", pa.scalar(1, pa.int32()))) == []
    overwrite(table, (8, "main", "b"), dynamic=True)
    assert sorted(rows(table)) == [(8, "main", "b"), (9, "main", "a")]
    assert sorted(rows(branch_of(table, "live"))) == [(1, "live", "a"), (2, "newer", "b"), (3, "live", "b")]


def test_partitions_that_the_primary_branch_has_come_from_it(tmp_path: Path) -> None:
    table = two_branches(tmp_path / "t", "scan.primary-branch")
    insert(table, (7, "main", "c"))
    assert sorted(rows(table)) == [(1, "live", "a"), (2, "newer", "b"), (3, "live", "b"), (7, "main", "c")]


def test_a_table_without_partitions_is_one(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    create_branch(table, "live")
    insert(branch_of(table, "live"), (1, "live", "a"))
    table = evolve(table, SetOption("scan.fallback-branch", "live"))
    assert rows(table) == [(1, "live", "a")]
    insert(table, (9, "main", "a"))
    assert rows(table) == [(9, "main", "a")]


def test_the_past_of_both_branches_is_of_one_time(tmp_path: Path) -> None:
    table = two_branches(tmp_path / "t")
    time.sleep(0.01)
    insert(branch_of(table, "live"), (4, "late", "b"))
    then = again(table, {"scan.snapshot-id": "1"})
    assert sorted(rows(then)) == [(2, "newer", "b"), (3, "live", "b"), (9, "main", "a")]


def test_a_branch_with_other_columns_or_that_is_missing_is_refused(tmp_path: Path) -> None:
    table = two_branches(tmp_path / "t")
    with pytest.raises(InvalidOptionError, match="gone"):
        rows(again(table, {"scan.fallback-branch": "gone"}))
    evolve(branch_of(table, "live"), AddColumn(("n",), IntType()))
    with pytest.raises(InvalidOptionError, match="same columns"):
        rows(table)


def test_an_option_names_a_branch_that_there_is(tmp_path: Path) -> None:
    catalog = FileSystemCatalog("c", {"warehouse": str(tmp_path)})
    catalog.create_database("d", {})
    name = Identifier("d", "t")
    fields = [DataField(0, "id", IntType())]
    for key in ("scan.fallback-branch", "scan.primary-branch", "branch"):
        with pytest.raises(InvalidOptionError, match=key):
            catalog.create_table(name, new_schema(fields, options={key: "dev"}))
    table = catalog.create_table(name, new_schema(fields))
    change = SetOption("scan.fallback-branch", "dev")
    with pytest.raises(InvalidOptionError, match="no such branch"):
        catalog.alter_table(name, lambda s: apply_changes(s, [change], has_data=False))
    create_branch(table, "dev")
    assert catalog.alter_table(name, lambda s: apply_changes(s, [change], has_data=False)).id == 1
