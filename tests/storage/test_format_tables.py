"""Format tables: partitions found in folders, files that come to be seen all together or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError, InvalidOptionError, PaimonError, UnsupportedError, WrongKindError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.procedures.base import Context
from paimon_sql.procedures.compaction.compact_database import CompactDatabase
from paimon_sql.procedures.files.remove_orphan_files import RemoveOrphanFiles
from paimon_sql.procedures.files.repair import Repair
from paimon_sql.storage.expressions.predicates import And, Comparison, IsNull
from paimon_sql.storage.format_tables import FormatTable
from paimon_sql.storage.format_tables.changes import (
    add_partitions,
    drop_partitions,
    empty,
    publish,
    staging_folder,
)
from paimon_sql.storage.format_tables.partitions import all_partitions, chosen_partitions, partition_columns
from paimon_sql.storage.schema.validation import problems
from paimon_sql.storage.staging.proposal import Overwrite

_NAME = Identifier("db", "t")


def catalog_in(folder: Path, **options: str) -> Catalog:
    catalog = FileSystemCatalog(
        "paimon", {"warehouse": str(folder), **{k.replace("_", "-"): v for k, v in options.items()}}
    )
    if not catalog.database_exists("db"):
        catalog.create_database("db", {})
    return catalog


def made(
    catalog: Catalog, options: Mapping[str, str] | None = None, keys: tuple[str, ...] = ("dt", "h")
) -> FormatTable:
    fields = [t.DataField(0, "a", t.IntType()), t.DataField(1, "dt", t.DateType()), t.DataField(2, "h", t.IntType())]
    given = {"type": "format-table", "file.format": "csv", **(options or {})}
    table = catalog.create_any_table(_NAME, new_schema(fields, partition_keys=keys, options=given))
    assert isinstance(table, FormatTable)
    return table


def put(folder: Path | str, name: str = "part-0.csv", text: str = "1\n") -> Path:
    path = Path(folder) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def texts(table: FormatTable) -> list[tuple[str | None, ...]]:
    return [p.texts for p in all_partitions(table)]


def shown(table: FormatTable) -> list[str]:
    """The files that a reader sees, below the table's folder."""
    found = [s.path for p in all_partitions(table) for s in table.file_io.list(p.path) if not s.is_dir]
    return sorted(path[len(table.location) + 1 :] for path in found)


def test_partitions_are_the_folders_that_plain_writers_make(tmp_path: Path) -> None:
    table = made(catalog_in(tmp_path))
    for folder in ("dt=2024-01-01/h=7", "dt=2024-01-02/h=07", "dt=__HIVE_DEFAULT_PARTITION__/h=1", "other", "_x/h=1"):
        put(f"{table.location}/{folder}")
    add_partitions(table, [[None, "3"]])
    assert texts(table) == [("2024-01-01", "7"), ("2024-01-02", "07"), (None, "3"), (None, "1")]
    values = partition_columns(table, all_partitions(table))
    assert values["h"].to_pylist() == [7, 7, 3, 1]
    assert values["dt"].null_count == 2


def test_conditions_choose_partitions_and_rule_out_whole_folders(tmp_path: Path) -> None:
    table = made(catalog_in(tmp_path))
    for number in (1, 2, 3):
        put(f"{table.location}/dt=2024-01-0{number}/h=7")
    put(f"{table.location}/dt=2024-01-01/h=no-number")  # which must not be looked into
    day = Comparison("dt", ">", pa.scalar("2024-01-01").cast(pa.date32()))
    hour = Comparison("h", "=", pa.scalar(7, pa.int32()))
    assert [p.texts for p in chosen_partitions(table, And((day, hour)))] == [("2024-01-02", "7"), ("2024-01-03", "7")]
    assert chosen_partitions(table, IsNull("dt")) == []
    with pytest.raises(InvalidInputError, match=r"contains no value of h INT.*no-number"):
        chosen_partitions(table, hour)


def test_folders_named_by_values_alone_leave_the_definition_alone(tmp_path: Path) -> None:
    table = made(catalog_in(tmp_path), {"format-table.partition-path-only-value": "true"}, keys=("h",))
    staging = staging_folder(table)
    put(f"{staging}/h=7")
    put(f"{staging}/h=__HIVE_DEFAULT_PARTITION__", "part-1.csv")
    assert publish(table, staging, None) == 2
    assert texts(table) == [("7",), (None,)]
    assert shown(table) == ["7/part-0.csv", "__DEFAULT_PARTITION__/part-1.csv"]
    words = FormatTable(
        "t",
        table.path,
        table.own_io,
        table.file_io,
        new_schema(
            [t.DataField(0, "a", t.IntType()), t.DataField(1, "w", t.string_type())],
            partition_keys=["w"],
            options=table.schema.options,
        ),
    )
    with pytest.raises(InvalidInputError, match="'schema' cannot be a value of w"):
        add_partitions(words, [["schema"]])


@pytest.mark.parametrize(
    ("replaced", "left"),
    [
        (None, ["dt=2024-01-01/h=07/old.csv", "dt=2024-01-01/h=7/part-0.csv", "dt=2024-01-02/h=7/old.csv"]),
        (Overwrite(), ["dt=2024-01-01/h=7/part-0.csv"]),
        (Overwrite(dynamic=True), ["dt=2024-01-01/h=7/part-0.csv", "dt=2024-01-02/h=7/old.csv"]),
        (
            Overwrite(Comparison("dt", "=", pa.scalar("2024-01-02").cast(pa.date32()))),
            ["dt=2024-01-01/h=07/old.csv", "dt=2024-01-01/h=7/part-0.csv"],
        ),
    ],
)
def test_new_files_take_the_place_of_what_they_replace(
    tmp_path: Path, replaced: Overwrite | None, left: list[str]
) -> None:
    table = made(catalog_in(tmp_path))
    put(f"{table.location}/dt=2024-01-01/h=07", "old.csv")
    put(f"{table.location}/dt=2024-01-02/h=7", "old.csv")
    staging = staging_folder(table)
    put(f"{staging}/dt=2024-01-01/h=7")
    put(staging, "_SUCCESS")
    assert publish(table, staging, replaced) == 1
    assert shown(table) == left
    assert not Path(staging).exists()


def test_a_commit_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    table = made(catalog_in(tmp_path))
    taken = put(f"{table.location}/dt=2024-01-02/h=7", "part-1.csv", "old")
    staging = staging_folder(table)
    put(f"{staging}/dt=2024-01-01/h=7")
    put(f"{staging}/dt=2024-01-02/h=7", "part-1.csv", "new")
    with pytest.raises(PaimonError, match=r"part-1\.csv already exists"):
        publish(table, staging, Overwrite())
    assert shown(table) == ["dt=2024-01-02/h=7/part-1.csv"]
    assert taken.read_text() == "old"
    assert texts(table) == [("2024-01-02", "7")]


def test_emptied_partitions_stay_and_dropped_ones_go(tmp_path: Path) -> None:
    table = made(catalog_in(tmp_path))
    put(f"{table.location}/dt=2024-01-01/h=7")
    put(f"{table.location}/dt=2024-01-02/h=7")
    first, second = all_partitions(table)
    assert empty(table, [first]) == 1
    assert shown(table) == ["dt=2024-01-02/h=7/part-0.csv"]
    drop_partitions(table, [second])
    assert all_partitions(table) == [first]


def test_a_table_elsewhere_outlives_its_definition(tmp_path: Path) -> None:
    place = tmp_path / "elsewhere"
    file = put(place / "dt=2024-01-01" / "h=7")
    catalog = catalog_in(tmp_path / "warehouse")
    table = made(catalog, {"path": str(place)})
    assert shown(table) == ["dt=2024-01-01/h=7/part-0.csv"]
    catalog.rename_table(_NAME, Identifier("db", "u"))
    catalog.drop_table(Identifier("db", "u"))
    assert file.exists()
    assert catalog.list_tables("db") == []


def test_what_needs_snapshots_is_refused_and_maintenance_passes_over(tmp_path: Path) -> None:
    catalog = catalog_in(tmp_path)
    table = made(catalog)
    file = put(f"{table.location}/dt=2024-01-01/h=7/bucket-0", "data-0.csv")
    with pytest.raises(WrongKindError, match=r"paimon\.db\.t is a format table"):
        catalog.table(_NAME)
    context = Context(catalog, "db")
    with pytest.raises(WrongKindError):
        RemoveOrphanFiles().call(context, RemoveOrphanFiles.Arguments(table="db.t"))
    given = RemoveOrphanFiles.Arguments(table="*.*", older_than="2024-01-01 00:00:00")
    row = RemoveOrphanFiles().call(context, given)
    assert row.deletedFileCount == 0
    assert file.exists()
    compacted = CompactDatabase().call(context, CompactDatabase.Arguments())
    assert compacted.result == "Compact database finished. Success: 0, Failed: 0"
    repaired = Repair().call(context, Repair.Arguments(database_or_table=""))
    assert not any("db.t" in str(value) for value in astuple(repaired))


def test_a_folder_shared_with_a_format_table_is_not_searched_for_orphans(tmp_path: Path) -> None:
    catalog, place = catalog_in(tmp_path / "warehouse"), tmp_path / "elsewhere"
    file = put(place / "bucket-0", "data-1.parquet")
    os.utime(file, (0, 0))
    fields, options = [t.DataField(0, "a", t.IntType())], {"data-file.external-paths": str(place)}
    catalog.create_table(Identifier("db", "own"), new_schema(fields, options=options))
    made(catalog, {"path": str(place / "bucket-0")}, keys=())
    row = RemoveOrphanFiles().call(Context(catalog, "db"), RemoveOrphanFiles.Arguments(table="db.own"))
    assert row.deletedFileCount == 0
    assert "skipped" in row.note
    assert file.exists()


def test_a_catalog_may_have_no_format_tables(tmp_path: Path) -> None:
    made(catalog_in(tmp_path))
    without = catalog_in(tmp_path, **{"format-table.enabled": "false"})
    assert without.list_tables("db") == []
    with pytest.raises(InvalidOptionError, match=r"format-table\.enabled"):
        without.any_table(_NAME)
    with pytest.raises(InvalidOptionError, match=r"format-table\.enabled"):
        without.create_any_table(Identifier("db", "u"), new_schema([], options={"type": "format-table"}))
    with pytest.raises(UnsupportedError, match="lance-table"):
        without.create_any_table(Identifier("db", "u"), new_schema([], options={"type": "lance-table"}))


@pytest.mark.parametrize(
    ("fields", "options", "message"),
    [
        ({"a": t.IntType()}, {"file.format": "avro"}, "cannot be 'avro' for a format table"),
        ({"a": t.IntType()}, {"csv.quote-character": ""}, "'csv.quote-character' must not be empty"),
        ({"a": t.ArrayType(True, t.IntType())}, {}, "'a' is a ARRAY<INT>, which files of csv cannot hold"),
        ({"a": t.IntType()}, {"file.format": "text"}, "Text files hold one column of type STRING"),
        ({}, {}, "needs a column beside its partition columns"),
    ],
)
def test_a_definition_that_files_cannot_have_is_refused(
    fields: Mapping[str, t.DataType], options: Mapping[str, str], message: str
) -> None:
    columns = [t.DataField(i, name, kind) for i, (name, kind) in enumerate(fields.items())]
    given = {"type": "format-table", "file.format": "csv", **options}
    found = [str(p) for p in problems(new_schema(columns, options=given))]
    assert any(message in text for text in found), found
