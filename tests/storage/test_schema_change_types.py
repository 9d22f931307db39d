"""Which type may become which, and what the table's options have to say about it."""

from __future__ import annotations

import pytest

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.schema import TableSchema, new_schema
from paimon_sql.format.schema.types import parse_atomic
from paimon_sql.storage.schema.changes.base import apply_changes
from paimon_sql.storage.schema.changes.column_types import UpdateColumnNullability, UpdateColumnType

STRICT = {"disable-explicit-type-casting": "true"}


def table(data_type: t.DataType, options: dict[str, str] | None = None) -> TableSchema:
    return new_schema([t.DataField(-1, "c", data_type), t.DataField(-1, "other", t.IntType())], options=options or {})


def retyped(schema: TableSchema, data_type: t.DataType, path: tuple[str, ...] = ("c",), **how: bool) -> TableSchema:
    return apply_changes(schema, [UpdateColumnType(path, data_type, **how)], has_data=True)


WIDENING = [
    ("TINYINT", "SMALLINT"),
    ("TINYINT", "INT"),
    ("INT", "BIGINT"),
    ("INT", "DOUBLE"),
    ("INT", "DECIMAL(12, 2)"),
    ("FLOAT", "DOUBLE"),
    ("DECIMAL(6, 2)", "DECIMAL(12, 2)"),
    ("DECIMAL(6, 2)", "DECIMAL(8, 4)"),
    ("VARCHAR(5)", "STRING"),
    ("CHAR(5)", "VARCHAR(5)"),
    ("VARBINARY(5)", "BYTES"),
    ("TIMESTAMP(3)", "TIMESTAMP(6)"),
    ("DATE", "TIMESTAMP(3)"),
]
LOSING = [
    ("BIGINT", "INT"),
    ("BIGINT", "DOUBLE"),
    ("DOUBLE", "FLOAT"),
    ("INT", "DECIMAL(10, 2)"),
    ("DECIMAL(6, 2)", "DECIMAL(6, 4)"),
    ("STRING", "VARCHAR(5)"),
    ("STRING", "INT"),
    ("INT", "STRING"),
    ("TIMESTAMP(6)", "TIMESTAMP(3)"),
    ("TIMESTAMP(6)", "DATE"),
    ("INT", "BOOLEAN"),
]
IMPOSSIBLE = [("INT", "DATE"), ("DATE", "INT"), ("BOOLEAN", "DATE"), ("BYTES", "INT"), ("VARIANT", "STRING")]


@pytest.mark.parametrize(("source", "target"), WIDENING)
def test_a_type_may_always_become_a_wider_one(source: str, target: str) -> None:
    for options in ({}, STRICT):
        made = retyped(table(parse_atomic(source), options), parse_atomic(target))
        assert made.fields[0].type == parse_atomic(target)
        assert made.fields[0].id == 0


@pytest.mark.parametrize(("source", "target"), LOSING)
def test_a_type_becomes_a_narrower_one_unless_the_table_forbids_casts(source: str, target: str) -> None:
    assert retyped(table(parse_atomic(source)), parse_atomic(target)).fields[0].type == parse_atomic(target)
    with pytest.raises(InvalidSchemaError, match="losing information"):
        retyped(table(parse_atomic(source), STRICT), parse_atomic(target))


@pytest.mark.parametrize(("source", "target"), IMPOSSIBLE)
def test_a_type_never_becomes_one_that_it_cannot_be_cast_to(source: str, target: str) -> None:
    with pytest.raises(InvalidSchemaError, match="cannot be read as the new type"):
        retyped(table(parse_atomic(source)), parse_atomic(target))


def test_the_parts_of_arrays_and_maps_change_their_types() -> None:
    schema = table(t.MapType(True, t.string_type(False), t.ArrayType(False, t.IntType())))
    made = retyped(schema, t.BigIntType(), ("c", "value", "element"))
    assert made.fields[0].type.sql() == "MAP<STRING NOT NULL, ARRAY<BIGINT> NOT NULL>"
    with pytest.raises(InvalidSchemaError, match=r"'c\.nosuch'"):
        retyped(schema, t.BigIntType(), ("c", "nosuch"))
    wanted = t.MapType(True, t.VarCharType(False, 9), t.ArrayType(False, t.IntType()))
    with pytest.raises(InvalidSchemaError, match="a map's key"):
        retyped(schema, wanted)


def test_a_row_keeps_the_order_of_its_fields() -> None:
    row = t.RowType(True, (t.DataField(0, "a", t.IntType()), t.DataField(1, "b", t.IntType())))
    turned = t.RowType(True, tuple(reversed(row.fields)))
    with pytest.raises(InvalidSchemaError, match="order of the fields"):
        retyped(table(row), turned)
    with pytest.raises(InvalidSchemaError, match="cannot be read as the new type"):
        retyped(table(row), t.IntType())


def test_nullability_stays_unless_the_change_says_it() -> None:
    schema = table(t.IntType(False))
    assert retyped(schema, t.BigIntType()).fields[0].type == t.BigIntType(False)
    assert retyped(schema, t.BigIntType(), keep_nullability=False).fields[0].type == t.BigIntType()


def test_null_may_be_forbidden_only_where_the_table_allows_to() -> None:
    forbid = [UpdateColumnNullability(("c",), False)]
    with pytest.raises(InvalidSchemaError, match=r"alter-column-null-to-not-null\.disabled"):
        apply_changes(table(t.IntType()), forbid, has_data=True)
    allowed = table(t.IntType(), {"alter-column-null-to-not-null.disabled": "false"})
    made = apply_changes(allowed, forbid, has_data=True)
    assert made.fields[0].type == t.IntType(False)
    assert apply_changes(made, [UpdateColumnNullability(("c",), True)], has_data=True).fields[0].type == t.IntType()


def test_the_bucket_key_keeps_its_type_once_rows_lie_in_buckets() -> None:
    schema = table(t.IntType(), {"bucket": "2", "bucket-key": "c"})
    change = [UpdateColumnType(("c",), t.BigIntType())]
    assert apply_changes(schema, change, has_data=False).fields[0].type == t.BigIntType()
    with pytest.raises(InvalidSchemaError, match="other buckets"):
        apply_changes(schema, change, has_data=True)
    text = table(t.VarCharType(True, 5), {"bucket": "2", "bucket-key": "c"})
    assert retyped(text, t.string_type()).fields[0].type == t.string_type()


def test_an_aggregated_column_keeps_a_type_that_its_function_takes() -> None:
    schema = new_schema(
        [t.DataField(-1, "k", t.IntType()), t.DataField(-1, "c", t.IntType())],
        primary_keys=["k"],
        options={"bucket": "1", "merge-engine": "aggregation", "fields.c.aggregate-function": "sum"},
    )
    assert retyped(schema, t.BigIntType()).fields[1].type == t.BigIntType()
    with pytest.raises(ValueError, match=r"fields\.c\.aggregate-function"):
        retyped(schema, t.string_type())
