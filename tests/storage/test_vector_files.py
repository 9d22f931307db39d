"""Vectors in files of their own: written beside the data files, read in step with them, left alone by compactions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.schema.types import DataField, FloatType, IntType, VectorType, string_type
from paimon_sql.storage.compact.compaction import plan_table
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.expressions.kernels.conform import as_fixed_lists
from paimon_sql.storage.schema.validation import validate_schema
from paimon_sql.storage.table.table import Table
from tests.storage import commits
from tests.storage.core_tables import Row, again, data_files, insert, live, make_table, rows

COLUMNS = (
    DataField(0, "id", IntType()),
    DataField(1, "v", VectorType(True, FloatType(), 3)),
    DataField(2, "name", string_type()),
    DataField(3, "w", VectorType(True, IntType(), 2)),
)
EVOLVING = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
FORMATS = ["parquet", "avro"]


def vectors(path: Path, file_format: str | None = "parquet", **options: str) -> Table:
    own = {"vector.file.format": file_format} if file_format else {}
    return make_table(path / "t", {**EVOLVING, **own, **options}, columns=COLUMNS)


def row(number: int) -> Row:
    return (number, None if number % 5 == 4 else [number, -number, 0.5], f"näme {number}", [number, number + 1])


def compact(table: Table) -> None:
    opened = again(table, {"compaction.min.file-num": "2"})
    commits.compact(opened, plan_table(opened, full=True).run(LocalExecutor(1)))


@pytest.mark.parametrize("file_format", FORMATS)
def test_vectors_stand_beside_the_other_columns(tmp_path: Path, file_format: str) -> None:
    table = vectors(tmp_path, file_format)
    insert(table, *map(row, range(10)))
    insert(table, *map(row, range(10, 13)))
    assert sorted(rows(table)) == [row(i) for i in range(13)]
    files = [e.file for e in live(table)]
    held = {(f.first_row_id, f.row_count, f.write_cols, ".vector." in f.file_name) for f in files}
    assert held == {
        (0, 10, ("id", "name"), False),
        (0, 10, ("v", "w"), True),
        (10, 3, ("id", "name"), False),
        (10, 3, ("v", "w"), True),
    }
    assert sum(name.endswith(f".vector.{file_format}") for name in data_files(table)) == 2
    assert sorted(rows(table, columns=["name"])) == sorted((row(i)[2],) for i in range(13))
    assert sorted(rows(table, columns=["w", "id"]), key=lambda r: r[1]) == [(row(i)[3], i) for i in range(13)]


def test_files_of_vectors_have_a_size_of_their_own(tmp_path: Path) -> None:
    table = vectors(tmp_path, **{"vector.target-file-size": "1 b", "target-file-row-num": "4"})
    insert(table, *map(row, range(10)))
    held = sorted((e.file.first_row_id, e.file.row_count) for e in live(table) if ".vector." in e.file.file_name)
    whole = sorted((e.file.first_row_id, e.file.row_count) for e in live(table) if ".vector." not in e.file.file_name)
    assert whole == [(0, 4), (4, 4), (8, 2)]
    assert sum(count for _, count in held) == 10 and len(held) >= 3
    assert sorted(rows(table)) == [row(i) for i in range(10)]


def test_a_compaction_leaves_files_of_vectors_alone(tmp_path: Path) -> None:
    table = vectors(tmp_path)
    for start in (0, 3, 6):
        insert(table, *map(row, range(start, start + 3)))
    before = {name for name in data_files(table) if ".vector." in name}
    compact(table)
    assert {e.file.file_name for e in live(table) if ".vector." in e.file.file_name} == before
    assert len(live(table)) == 4
    assert sorted(rows(table)) == [row(i) for i in range(9)]


@pytest.mark.parametrize("first", ["parquet", None])
def test_rows_with_and_without_files_of_vectors_are_compacted_together(tmp_path: Path, first: str | None) -> None:
    table = vectors(tmp_path, None)
    given = [{"vector.file.format": "parquet"}, {"vector.file.format": ""}]
    for number, options in enumerate(given if first else reversed(given)):
        insert(again(table, options), *map(row, range(3 * number, 3 * number + 3)))
    assert sorted(rows(table)) == [row(i) for i in range(6)]
    compact(table)
    assert len(live(table)) == 1
    assert sorted(rows(table)) == [row(i) for i in range(6)]


def test_a_new_column_of_vectors_is_null_in_older_rows(tmp_path: Path) -> None:
    old = make_table(tmp_path / "t", EVOLVING, columns=(COLUMNS[0], COLUMNS[2]))
    insert(old, (1, "a"), (2, "b"))
    schema = replace(
        old.schema,
        id=1,
        fields=(*old.schema.fields, DataField(3, "v", COLUMNS[1].type)),
        options={**old.schema.options, "vector.file.format": "parquet"},
    )
    assert old.schemas.try_add(schema)
    table = replace(old, schema=schema)
    insert(table, (3, "c", [1, 2, 3]))
    assert sorted(rows(table)) == [(1, "a", None), (2, "b", None), (3, "c", [1, 2, 3])]
    compact(table)
    assert sorted(rows(table)) == [(1, "a", None), (2, "b", None), (3, "c", [1, 2, 3])]


@pytest.mark.parametrize("file_format", ["vortex", "orc"])
def test_formats_that_hold_no_vectors_are_refused(tmp_path: Path, file_format: str) -> None:
    with pytest.raises(InvalidOptionError, match=rf"vector\.file\.format.*cannot be '{file_format}'"):
        validate_schema(vectors(tmp_path, file_format).schema)


def lists(values: list[list[float | None] | None]) -> pa.Array:
    return pa.array(values, pa.list_(pa.float64()))


@pytest.mark.parametrize(
    "values", [[], [None], [None, None], [[1.0, 2.0]], [None, [1.0, 2.0], None, [3.0, 4.0]], [[0.0, -0.0], None]]
)
def test_lists_are_brought_to_a_fixed_size(values: list[list[float | None] | None]) -> None:
    kind = pa.list_(pa.field("element", pa.float32(), nullable=False), 2)
    for start in range(len(values) + 1):
        made = as_fixed_lists(lists(values).slice(start), kind)
        made.validate(full=True)
        assert (made.type, made.to_pylist()) == (kind, values[start:])


@pytest.mark.parametrize(("values", "reason"), [([[1.0]], "2 elements"), ([None, [1.0, None]], "cannot contain nulls")])
def test_lists_that_are_no_such_vectors_are_refused(values: list[list[float | None] | None], reason: str) -> None:
    with pytest.raises(pa.ArrowInvalid, match=reason):
        as_fixed_lists(lists(values), pa.list_(pa.float32(), 2))
