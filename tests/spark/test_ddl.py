"""CREATE TABLE and LIKE as Spark describes them, without a Spark: keys, types, options and their checks."""

from __future__ import annotations

from typing import Any

import pytest

from paimon_sql.errors import InvalidOptionError, InvalidSchemaError, UnsupportedError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.spark.conversion.types import StructJson, default_sql, spark_struct
from paimon_sql.spark.ddl.create_table import build_schema, schema_like


def struct(**columns: Any) -> StructJson:
    return {
        "type": "struct",
        "fields": [{"name": n, "type": k, "nullable": True, "metadata": {}} for n, k in columns.items()],
    }


def built(columns: StructJson, by: tuple[str, ...] = (), /, **properties: str) -> TableSchema:
    given = {key.replace("_", "-"): text for key, text in properties.items()}
    return build_schema(columns, by, given, catalog_options={}, case_sensitive=False)


def test_keys_take_the_columns_spelling() -> None:
    schema = built(struct(Id="integer", P="string"), ("p",), primary_key="ID , p", bucket="1")
    assert (schema.primary_keys, schema.partition_keys) == (("Id", "P"), ("P",))
    assert schema.options == {"bucket": "1"}
    assert [f.type.nullable for f in schema.fields] == [False, False]
    with pytest.raises(InvalidSchemaError, match="ID"):
        build_schema(struct(id="integer"), [], {"primary-key": "ID"}, catalog_options={}, case_sensitive=True)


def test_partition_columns_may_be_said_as_an_option() -> None:
    assert built(struct(a="integer", p="string"), partition="p").partition_keys == ("p",)
    assert built(struct(a="integer", p="string"), ("p",), partition="P").partition_keys == ("p",)
    with pytest.raises(InvalidOptionError, match="specified twice"):
        built(struct(a="integer", p="string"), ("a",), partition="p")


def test_nullable_keys_stay_nullable() -> None:
    schema = build_schema(
        struct(k="integer"),
        [],
        {"primary-key": "k", "primary-key.nullable": "true"},
        catalog_options={},
        case_sensitive=False,
    )
    assert schema.fields[0].type == t.IntType()


def test_what_spark_adds_is_not_stored() -> None:
    given = {
        "provider": "paimon",
        "owner": "ann",
        "comment": "c",
        "is_managed_location": "true",
        "option.bucket": "1",
        "bucket": "1",
        "bucket-key": "a",
        "consumer.expire-time": "PT1H",
    }
    schema = build_schema(struct(a="integer"), [], given, catalog_options={}, case_sensitive=False)
    assert schema.comment == "c"
    assert schema.options == {"owner": "ann", "bucket": "1", "bucket-key": "a", "consumer.expiration-time": "1 h"}


def test_a_catalogs_defaults_hold_where_the_statement_says_nothing() -> None:
    catalog = {"table-default.file.format": "orc", "table-default.snapshot.time-retained": "2 h", "warehouse": "w"}
    schema = build_schema(
        struct(a="integer"), [], {"file.format": "parquet"}, catalog_options=catalog, case_sensitive=False
    )
    assert schema.options == {"file.format": "parquet", "snapshot.time-retained": "2 h"}


def test_exact_types_replace_sparks_and_are_not_stored() -> None:
    columns = struct(At="timestamp_ntz", raw="binary")
    columns["fields"][1]["nullable"] = False
    given = {"paimon-sql.type.at": "TIMESTAMP(3)", "paimon-sql.type.raw": "BINARY(4) NOT NULL"}
    schema = build_schema(columns, [], given, catalog_options={}, case_sensitive=False)
    assert [f.type for f in schema.fields] == [t.TimestampType(True, 3), t.BinaryType(False, 4)]
    assert schema.options == {}
    with pytest.raises(InvalidSchemaError, match="nosuch"):
        build_schema(columns, [], {"paimon-sql.type.nosuch": "INT"}, catalog_options={}, case_sensitive=False)


def test_other_providers_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="delta"):
        built(struct(a="integer"), provider="delta")
    with pytest.raises(UnsupportedError, match="lance-table"):
        built(struct(a="integer"), type="lance-table")
    assert built(struct(a="integer"), provider="CSV").options == {"type": "format-table", "file.format": "csv"}


def test_the_fields_of_a_vector_and_its_length_belong_together() -> None:
    columns = struct(e={"type": "array", "elementType": "float", "containsNull": True}, id="integer")
    given = {"vector-field": "e", "field.e.vector-dim": "8"}
    schema = build_schema(columns, [], given, catalog_options={}, case_sensitive=False)
    assert schema.fields[0].type == t.VectorType(True, t.FloatType(), 8)
    with pytest.raises(InvalidOptionError, match=r"field\.e\.vector-dim"):
        build_schema(columns, [], {"vector-field": "e"}, catalog_options={}, case_sensitive=False)
    with pytest.raises(InvalidSchemaError, match="length"):
        build_schema(columns, [], {**given, "field.e.vector-dim": "x"}, catalog_options={}, case_sensitive=False)


def test_like_copies_what_is_not_left_out() -> None:
    source = built(struct(k="integer", p="string"), ("p",), primary_key="k,p", bucket="2", comment="c", owner="ann")
    twin = schema_like(source, {"bucket": "1", "owner": "bob"})
    assert (twin.partition_keys, twin.primary_keys, twin.comment) == (("p",), ("k", "p"), "c")
    assert twin.options == {"bucket": "1", "owner": "bob"}
    bare = schema_like(source, {}, ["EXCLUDING ALL"])
    assert (bare.partition_keys, bare.primary_keys, bare.options) == ((), (), {})
    assert schema_like(source, {}, ["EXCLUDING OPTIONS"], case_sensitive=True).options == {}
    with pytest.raises(InvalidOptionError, match="merge-engine"):
        schema_like(source, {"merge-engine": "nosuch"})


@pytest.mark.parametrize(
    ("data_type", "text", "sql"),
    [
        (t.string_type(), "it's", r"'it\'s'"),
        (t.string_type(), "'5'", "'5'"),
        (t.IntType(), "'5'", "5"),
        (t.DecimalType(True, 6, 2), "-9.99", "-9.99"),
        (t.BooleanType(), "TRUE", "TRUE"),
        (t.DoubleType(), "2.5", "2.5D"),
        (t.FloatType(), "NaN", "CAST('NaN' AS FLOAT)"),
        (t.DateType(), "'2024-01-01'", "DATE '2024-01-01'"),
        (t.TimestampType(), "2024-01-01 10:00:00.5", "TIMESTAMP_NTZ '2024-01-01 10:00:00.5'"),
        (t.LocalZonedTimestampType(True, 3), "2024-01-01", "TIMESTAMP_LTZ '2024-01-01'"),
        (t.TimeType(), "00:00:02", "2000"),
        (t.IntType(), "no number", "no number"),
    ],
)
def test_spark_is_shown_a_default_as_sql(data_type: t.DataType, text: str, sql: str) -> None:
    field = t.DataField(0, "c", data_type, default=text)
    assert default_sql(field) == sql
    assert spark_struct([field])["fields"][0]["metadata"] == {"CURRENT_DEFAULT": sql}
    assert default_sql(t.DataField(0, "c", data_type)) is None
