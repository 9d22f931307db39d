"""Old files under newer schemas: columns by id at every depth, cast where types changed."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_schema, arrow_type
from paimon_sql.format.schema.system_fields import key_field
from paimon_sql.storage.columns.schema_evolution import evolve, finds_by_name, plan_evolution
from paimon_sql.storage.file_formats.registry import file_format
from paimon_sql.storage.file_io import LocalFileIO
from tests.storage.file_reads import read_rows
from tests.storage.live_files import expected_rows, live_files, rendered
from tests.storage.typed_columns import columns

STRING = t.string_type()


def field(number: int, name: str, data_type: t.DataType) -> t.DataField:
    return t.DataField(number, name, data_type)


def row(*fields: t.DataField) -> t.RowType:
    return t.RowType(True, fields)


def run(old: list[t.DataField], new: list[t.DataField], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    plan = plan_evolution(old, new)
    batch = pa.RecordBatch.from_pylist(rows, schema=arrow_schema(plan.file_fields)).select(list(plan.columns))
    made = plan.apply(batch)
    made.validate(full=True)
    assert made.schema.equals(arrow_schema(new))
    return list(made.to_pylist())


@pytest.mark.parametrize(
    "case", ["schema_evolution_append", "schema_evolution_nested", "schema_evolution_types_parquet"]
)
def test_golden_tables_are_read_under_their_newest_schema(golden: Path, case: str) -> None:
    tables = []
    for file in live_files(golden, case):
        plan = plan_evolution(file.fields, file.newest.fields)
        read = read_rows(
            file_format(file.format), LocalFileIO(), str(file.path), None, plan.file_fields, list(plan.columns)
        )
        tables.append(pa.Table.from_batches(map(plan.apply, read), plan.schema))
    assert rendered(pa.concat_tables(tables)) == expected_rows(golden, case)


def test_columns_are_matched_by_id_and_not_by_name() -> None:
    old = [field(0, "a", t.IntType()), field(1, "b", STRING), field(2, "c", STRING)]
    new = [field(1, "a", STRING), field(3, "c", t.IntType()), field(0, "z", t.IntType())]
    assert run(old, new, [{"a": 1, "b": "x", "c": "gone"}]) == [{"a": "x", "c": None, "z": 1}]
    assert plan_evolution(old, new).columns == ("a", "b")


def test_no_more_of_a_column_is_read_than_is_wanted() -> None:
    inner = row(field(1, "x", t.IntType()), field(2, "y", STRING), field(3, "z", row(field(4, "w", t.IntType()))))
    old = [field(0, "l", t.ArrayType(True, inner)), field(5, "m", t.MapType(True, t.string_type(False), inner))]
    new = [
        field(0, "l", t.ArrayType(True, row(field(3, "z", row(field(6, "fresh", STRING)))))),
        field(5, "m", t.MapType(True, t.string_type(False), row(field(7, "fresh", STRING)))),
    ]
    # A row keeps a field, which tells where it is null.
    kept = row(field(3, "z", row(field(4, "w", t.IntType()))))
    plan = plan_evolution(old, new)
    assert plan.file_fields == (
        field(0, "l", t.ArrayType(True, kept)),
        field(5, "m", t.MapType(True, t.string_type(False), row(field(1, "x", t.IntType())))),
    )
    assert run(old, new, [{"l": [{"z": None}, None, {"z": {"w": 1}}], "m": [("k", {"x": None}), ("n", None)]}]) == [
        {"l": [{"z": None}, None, {"z": {"fresh": None}}], "m": [("k", {"fresh": None}), ("n", None)]}
    ]


def test_readers_by_name_are_trusted_where_they_find_what_is_meant() -> None:
    old = [field(0, "s", row(field(1, "a", t.IntType()), field(2, "b", t.IntType()))), field(9, "Top", STRING)]

    def found(*fields: t.DataField) -> bool:
        return finds_by_name(old, [field(0, "s", row(*fields))])

    assert found(field(2, "b", t.IntType()))
    assert found(field(2, "b", t.IntType(False)), field(3, "c", STRING))
    assert not found(field(3, "c", STRING))
    assert not found(field(1, "a", t.BigIntType()))
    assert not found(field(1, "a2", t.IntType()), field(2, "b", t.IntType()))
    assert not found(field(1, "a", t.IntType()), field(3, "B", STRING))
    assert finds_by_name(old, [field(10, "another", STRING)])
    assert not finds_by_name(old, [field(10, "top", STRING)])
    assert not finds_by_name(old, [field(9, "renamed", STRING)])


def test_an_unchanged_schema_passes_batches_through() -> None:
    fields = [field(0, "a", t.IntType(False)), field(1, "r", row(field(2, "x", t.DateType())))]
    plan = plan_evolution(fields, fields)
    batch = pa.RecordBatch.from_pylist([{"a": 1, "r": {"x": None}}], schema=arrow_schema(fields))
    assert plan.is_identity
    assert plan.apply(batch) is batch
    assert not plan_evolution(fields, fields[:1] + fields[:1]).is_identity


def test_nested_fields_are_matched_by_id_in_rows_lists_and_maps() -> None:
    before = row(field(1, "x", t.IntType()), field(2, "gone", STRING), field(3, "y", t.FloatType()))
    after = row(field(3, "why", t.DoubleType()), field(4, "gone", STRING), field(1, "x", t.BigIntType()))
    old = [
        field(0, "l", t.ArrayType(True, before)),
        field(5, "m", t.MapType(True, t.string_type(False), before)),
        field(6, "r", row(field(7, "in", before))),
    ]
    new = [
        field(6, "rr", row(field(7, "inner", after))),
        field(5, "m", t.MapType(True, t.string_type(False), after)),
        field(0, "l", t.ArrayType(True, after)),
    ]
    was, becomes = {"x": 1, "gone": "s", "y": 0.5}, {"why": 0.5, "gone": None, "x": 1}
    rows: list[dict[str, Any]] = [
        {"l": [was, None], "m": [("k", was), ("n", None)], "r": {"in": was}},
        {"l": None, "m": None, "r": None},
    ]
    assert run(old, new, rows) == [
        {"rr": {"inner": becomes}, "m": [("k", becomes), ("n", None)], "l": [becomes, None]},
        {"rr": None, "m": None, "l": None},
    ]


def test_an_array_survives_the_loss_of_its_structs_old_fields() -> None:
    old = [field(0, "l", t.ArrayType(True, row(field(1, "x", t.IntType()))))]
    new = [field(0, "l", t.ArrayType(True, row(field(2, "y", t.IntType()))))]
    assert run(old, new, [{"l": [{"x": 1}, None]}, {"l": None}]) == [{"l": [{"y": None}, None]}, {"l": None}]


def test_a_key_comes_from_its_value_column_in_thin_files() -> None:
    stored = [field(0, "k", t.IntType(False)), field(1, "v", STRING)]
    wanted = [key_field(field(0, "k", t.BigIntType(False))), *stored]
    assert run(stored, wanted, [{"k": 7, "v": "x"}]) == [{"_KEY_k": 7, "k": 7, "v": "x"}]


def test_local_times_are_cast_in_the_sessions_zone() -> None:
    old, new = [field(0, "a", t.LocalZonedTimestampType())], [field(0, "a", t.TimestampType())]
    plan = plan_evolution(old, new, time_zone="Asia/Tokyo")
    noon = dt.datetime(2024, 1, 1, 12, tzinfo=dt.timezone.utc)
    made = plan.apply(pa.RecordBatch.from_pylist([{"a": noon}], schema=arrow_schema(old)))
    assert made.to_pylist() == [{"a": dt.datetime(2024, 1, 1, 21)}]


def test_a_type_that_cannot_be_cast_is_refused_by_column_when_planning() -> None:
    old = [field(0, "c", t.ArrayType(True, row(field(1, "x", t.DateType()))))]
    new = [field(0, "c", t.ArrayType(True, row(field(1, "x", t.IntType()))))]
    with pytest.raises(UnsupportedError, match=r"Column 'c' was written as DATE .* cannot be read as INT"):
        plan_evolution(old, new)


def test_a_wanted_column_that_no_file_has_is_null() -> None:
    assert run([field(0, "a", t.IntType())], [field(9, "n", t.ArrayType(True, STRING))], [{"a": 1}] * 2) == [
        {"n": None},
        {"n": None},
    ]


@settings(max_examples=80)
@given(columns(), st.randoms(use_true_random=False))
def test_shuffled_and_renamed_fields_keep_their_values(column: tuple[t.DataField, pa.Array], random: Any) -> None:
    kept, array = column
    changed = _shuffled(kept.type, random)
    made = evolve(array, kept.type, changed)
    made.validate(full=True)
    assert made.type.equals(arrow_type(changed))
    assert evolve(made, changed, kept.type).equals(array)


def _shuffled(data_type: t.DataType, random: Any) -> t.DataType:
    match data_type:
        case t.RowType():
            fields = [t.DataField(f.id, f.name + "_new", _shuffled(f.type, random)) for f in data_type.fields]
            random.shuffle(fields)
            return t.RowType(data_type.nullable, tuple(fields))
        case t.ArrayType():
            return t.ArrayType(data_type.nullable, _shuffled(data_type.element, random))
        case t.MapType():
            return t.MapType(data_type.nullable, data_type.key, _shuffled(data_type.value, random))
    return data_type
