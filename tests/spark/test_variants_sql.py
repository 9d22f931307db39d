"""Variants through SQL: taken apart in files, read whole and in parts, merged, compacted, changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import ceil
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pyarrow.parquet as pq
import pyspark
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.variant_utils import VariantUtils

from paimon_sql.format.schema import types as t
from paimon_sql.storage.file_formats import registry
from paimon_sql.storage.file_io.local import LocalFileIO
from tests.selection import in_turns
from tests.storage.file_reads import read_rows

Sql = Callable[[str], list[tuple[Any, ...]]]
INFER = "'variant.inferShreddingSchema' = 'true'"
SHAPE = """{"type": "ROW", "fields": [{"name": "v", "type": {"type": "ROW", "fields": [
    {"name": "a", "type": "BIGINT"},
    {"name": "b", "type": {"type": "ROW", "fields": [
        {"name": "c", "type": "STRING"}, {"name": "d", "type": {"type": "ARRAY", "element": "INT"}}]}}]}}]}"""
GIVEN = f"'variant.shreddingSchema' = '{SHAPE}'"
EXTRACTS = tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 3)
KINDS = {
    "append": "'bucket' = '-1'",
    "deduplicate": "'primary-key' = 'k', 'bucket' = '1'",
    "vectors": "'primary-key' = 'k', 'bucket' = '1', 'deletion-vectors.enabled' = 'true'",
    "partial-update": "'primary-key' = 'k', 'bucket' = '2', 'merge-engine' = 'partial-update', 'write-only' = 'true'",
    "first-row": "'primary-key' = 'k', 'bucket' = '1', 'merge-engine' = 'first-row'",
    "aggregation": "'primary-key' = 'k', 'bucket' = '1', 'merge-engine' = 'aggregation', 'write-only' = 'true'",
    "evolving": "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true'",
}
DOCUMENTS = [
    '{"a": 1, "b": {"c": "x", "d": [10, 11]}, "pad": "p"}',
    '{"a": "text", "b": {"c": 5}, "e": true}',
    '{"a": null, "b": null}',
    "{}",
    "null",
    '[7, {"c": 8}]',
    '"text"',
    '{"a": 2.50, "b": {"d": [], "c": "ünï☃"}}',
]


def files(spark: SparkSession, name: str) -> list[pq.ParquetFile]:
    """The table's files as they stand there now."""
    paths = [row[0] for row in spark.sql(f"SELECT DISTINCT file_path FROM {name}$files").collect()]
    return [pq.ParquetFile(urlparse(path).path) for path in paths]


def columns(spark: SparkSession, name: str) -> list[str]:
    """The columns of parts of variants in the table's files."""
    return sorted(
        {
            path
            for file in files(spark, name)
            for path in (file.schema.column(i).path for i in range(len(file.schema)))
            if "typed_value" in path
        }
    )


def values(first: int, *documents: str | None) -> str:
    """Rows for an INSERT."""
    made = ("NULL" if d is None else f"parse_json('{d}')" for d in documents)
    return ", ".join(f"({first + i}, {d})" for i, d in enumerate(made))


def explained(spark: SparkSession, query: str) -> str:
    """What EXPLAIN tells of a query."""
    (row,) = spark.sql(f"EXPLAIN EXTENDED {query}").collect()
    return str(row[0])


def whole(sql: Sql, name: str) -> dict[object, object]:
    """All variants as JSON."""
    return {k: json.loads(str(v)) if v is not None else None for k, v in sql(f"SELECT k, to_json(v) FROM {name}")}


QUERIES = [
    "variant_get(v, '$.a', 'string')",
    "try_variant_get(v, '$.a', 'int'), try_variant_get(v, '$.b.d[1]', 'int')",
    "v:a::string, v:b.c::string",
    "variant_get(v, '$.b.c', 'string'), to_json(v:a)",
    "try_variant_get(v, '$.b', 'struct<c string, d array<int>>'), try_variant_get(v, '$.pad', 'date')",
    "to_json(variant_get(v, '$.b', 'variant'))",
    "to_json(v:b.d)",
    "try_variant_get(v, '$[1].c', 'int')",
    "to_json(v), v:a::string",
    "is_variant_null(v), v IS NULL",
    "try_variant_get(v, '$', 'string')",
    "schema_of_variant(v), variant_get(v, '$.pad', 'string')",
    "variant_get(v, '$[''a'']', 'string')",
]


CONDITIONS = (
    " WHERE k > 3",
    " WHERE try_variant_get(v, '$.a', 'string') = 'text'",
    " WHERE v IS NOT NULL",
    " LIMIT 100",
)


@pytest.mark.parametrize("kind", KINDS)
def test_queries_of_parts_answer_as_over_whole_variants(kind: str, sql: Sql, spark: SparkSession) -> None:
    for name, options in (("apart", GIVEN), ("plain", "'k' = 'v'")):
        sql(f"CREATE TABLE {name} (k INT NOT NULL, w STRING, v VARIANT) TBLPROPERTIES ({KINDS[kind]}, {options})")
        sql(f"INSERT INTO {name} (k, v) VALUES {values(1, *DOCUMENTS, None)}")
        sql(f"INSERT INTO {name} (k, v) VALUES {values(7, *DOCUMENTS, None)}")
    assert any("typed_value.a." in path for path in columns(spark, "apart"))
    assert columns(spark, "plain") == []
    assert whole(sql, "apart") == whole(sql, "plain")
    for i, query in enumerate(in_turns(QUERIES, list(KINDS).index(kind), ceil(len(QUERIES) / 2))):
        for rest in ("", CONDITIONS[i % len(CONDITIONS)]):
            answers = [sorted(sql(f"SELECT k, {query} FROM {name}{rest}"), key=repr) for name in ("apart", "plain")]
            assert answers[0] == answers[1], query
    grouped = "SELECT v:a::string, count(*) FROM {} GROUP BY 1"
    assert sorted(sql(grouped.format("apart")), key=repr) == sorted(sql(grouped.format("plain")), key=repr)
    joined = "SELECT x.v:a::string, to_json(y.v) FROM {0} x JOIN {0} y ON x.k = y.k WHERE x.v:a::string = 'text'"
    assert sorted(sql(joined.format("apart")), key=repr) == sorted(sql(joined.format("plain")), key=repr)


@pytest.mark.smoke
def test_explain_tells_which_parts_are_read(sql: Sql, spark: SparkSession) -> None:
    sql(f"CREATE TABLE t (k INT, v VARIANT) TBLPROPERTIES ({INFER})")
    sql(f"INSERT INTO t VALUES {values(1, *DOCUMENTS)}")
    asked = "variant_get(v, '$.b.c', 'string')"
    assert "variant v at $.a, $.b.c" in explained(
        spark, f"SELECT {asked} FROM t WHERE try_variant_get(v, '$.a', 'int') = 1"
    )
    assert "variant v" not in explained(spark, f"SELECT v, {asked} FROM t")
    assert "variant v" not in explained(spark, "SELECT k FROM t")


@pytest.mark.skipif(not EXTRACTS, reason="Spark leaves out no other columns then")
@pytest.mark.parametrize("kind", ["append", "deduplicate", "vectors"])
def test_the_scan_itself_takes_values_out_where_spark_reads(kind: str, sql: Sql, spark: SparkSession) -> None:
    sql(f"CREATE TABLE t (k INT NOT NULL, w STRING, v VARIANT) TBLPROPERTIES ({KINDS[kind]}, {GIVEN})")
    sql(f"INSERT INTO t (k, v) VALUES {values(1, *DOCUMENTS)}")
    if kind != "append":
        sql(f"INSERT INTO t (k, v) VALUES {values(1, *DOCUMENTS[1:3])}")
    query = spark.sql("SELECT k, variant_get(v, '$.b.c', 'string'), variant_get(v, '$.e', 'boolean') FROM t")
    plan = query._jdf.queryExecution().optimizedPlan()
    assert "variant_get(v#" not in plan.toString()
    read = plan.collectLeaves().apply(0).scan().readSchema().simpleString()
    assert read.startswith("struct<k:int,v:struct<0:string,1:boolean,2:string>")
    assert ("__paimon_dead_rows" in read) == (kind != "append")
    few = sql("SELECT variant_get(v, '$.b.c', 'string'), variant_get(v, '$.pad', 'string') FROM t LIMIT 3")
    assert len(few) == 3
    assert set(few) <= {("x", "p"), ("5", None), (None, None), ("ünï☃", None)}
    first = [(1, "5", True), (2, None, None)] if kind != "append" else [(1, "x", None), (2, "5", True)]
    assert sorted(tuple(row) for row in query.collect())[:2] == first


@pytest.mark.parametrize("kind", ["append", "vectors", "partial-update"])
def test_variants_inside_structs_are_taken_apart_and_read_in_parts(kind: str, sql: Sql, spark: SparkSession) -> None:
    for name, options in (("apart", INFER), ("plain", "'k' = 'v'")):
        columns_ = "k INT NOT NULL, s STRUCT<n: INT, x: VARIANT, t: STRUCT<y: VARIANT, z: VARIANT>>"
        sql(f"CREATE TABLE {name} ({columns_}) TBLPROPERTIES ({KINDS[kind]}, {options})")
        x, y = """parse_json('{"a": 1, "b": "x"}')""", """parse_json('{"c": {"d": 2.5}}')"""
        inner = f"named_struct('y', {y}, 'z', NULL)"
        sql(f"INSERT INTO {name} VALUES (1, named_struct('n', 1, 'x', {x}, 't', {inner})), (2, NULL)")
        sql(f"INSERT INTO {name} VALUES (3, named_struct('n', 3, 'x', NULL, 't', NULL)), (2, NULL)")
    assert "s.x.typed_value.a.typed_value" in columns(spark, "apart")
    queries = [
        "variant_get(s.x, '$.a', 'int'), s.n",
        "variant_get(s.t.y, '$.c.d', 'decimal(3, 1)'), s.t.z IS NULL",
        "variant_get(s.x, '$.b', 'string'), to_json(variant_get(s.t.y, '$.c', 'variant')), s IS NULL",
        "variant_get(s.x, '$.b', 'string'), to_json(s)",
        "variant_get(s.x, '$.b', 'string'), variant_get(s.t.y, '$.c.d', 'int'), __paimon_bucket",
    ]
    for query in queries:
        for rest in ("", " WHERE variant_get(s.x, '$.a', 'int') = 1"):
            answers = [sorted(sql(f"SELECT k, {query} FROM {name}{rest}"), key=repr) for name in ("apart", "plain")]
            assert answers[0] == answers[1], query
    assert (1, 1, 1) in sql(f"SELECT k, {queries[0]} FROM apart")
    assert "variant s.x at $.a" in explained(spark, f"SELECT {queries[0]} FROM apart")


TYPED = {
    "BOOLEAN": "true",
    "TINYINT": "1Y",
    "SMALLINT": "300S",
    "INT": "-70000",
    "BIGINT": "9223372036854775807",
    "FLOAT": "CAST(1.5 AS FLOAT)",
    "DOUBLE": "1e300",
    "DECIMAL(9, 2)": "CAST(1.25 AS DECIMAL(9, 2))",
    "DECIMAL(18, 3)": "CAST(-1234567890.125 AS DECIMAL(18, 3))",
    "DECIMAL(38, 10)": "CAST(12345678901234567890.0123456789 AS DECIMAL(38, 10))",
    "STRING": "'ünï☃'",
    "CHAR(3)": "'abc'",
    "BYTES": "X'00FF'",
    "DATE": "DATE '0001-01-01'",
    "TIMESTAMP(6)": "TIMESTAMP_NTZ '1950-06-07 08:09:10.123456'",
    "TIMESTAMP(3)": "TIMESTAMP_NTZ '2024-02-29 00:00:00.123456'",
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": "TIMESTAMP '2024-02-29 12:34:56.789012Z'",
}


@pytest.mark.parametrize("kind", ["append", "partial-update"])
def test_values_of_every_type_have_columns_and_come_back(kind: str, sql: Sql, spark: SparkSession) -> None:
    fields = [{"name": f"c{i}", "type": kind_} for i, kind_ in enumerate(TYPED)]
    shape = {"type": "ROW", "fields": [{"name": "v", "type": {"type": "ROW", "fields": fields}}]}
    made = ", ".join(f"'c{i}', {value}" for i, value in enumerate(TYPED.values()))
    for name, options in (("apart", f"'variant.shreddingSchema' = '{json.dumps(shape)}'"), ("plain", "'k' = 'v'")):
        sql(f"CREATE TABLE {name} (k INT NOT NULL, v VARIANT) TBLPROPERTIES ({KINDS[kind]}, {options})")
        sql(f"INSERT INTO {name} SELECT 1, to_variant_object(named_struct({made}))")
        # Each value stands beside the column of another type, too.
        turned = ", ".join(
            f"'c{i}', {value}" for i, value in enumerate([*list(TYPED.values())[10:], *list(TYPED.values())[:10]])
        )
        sql(f"INSERT INTO {name} SELECT 2, to_variant_object(named_struct({turned}))")
        sql(f"INSERT INTO {name} SELECT 1, NULL")
    assert len([c for c in columns(spark, "apart") if c.endswith("typed_value")]) == len(TYPED)
    # An integer that is in a column of decimals comes back as one.
    queries = ["to_json(v) FROM {}", "schema_of_variant(v) FROM {} WHERE k = 1"]
    queries.append(", ".join(f"variant_get(v, '$.c{i}', 'string')" for i in range(len(TYPED))) + " FROM {}")
    for query in queries:
        answers = [sorted(sql(f"SELECT k, {query}".format(name)), key=repr) for name in ("apart", "plain")]
        assert answers[0] == answers[1], query


def test_casts_of_paths_are_told_to_scans_as_functions_are(sql: Sql, spark: SparkSession) -> None:
    for name, options in (("apart", GIVEN), ("plain", "'k' = 'v'")):
        sql(f"CREATE TABLE {name} (k INT, v VARIANT) TBLPROPERTIES ({options})")
        sql(f"INSERT INTO {name} VALUES {values(1, *DOCUMENTS, None)}")
        query = f"SELECT v:b.c::string, k FROM {name}"
        assert "variant v at $.b.c" in explained(spark, query)
        assert spark.sql(query).columns == ["c", "k"]
        assert sorted(sql(query), key=lambda row: str(row[1]))[:3] == [("x", 1), ("5", 2), (None, 3)]
        assert sql(f"SELECT CAST(v:a AS INT) FROM {name} WHERE k = 1") == [(1,)]
        assert sql(f"SELECT try_cast(v:a AS INT) FROM {name} WHERE k < 3 ORDER BY k") == [(1,), (None,)]
        with pytest.raises(Exception, match="INVALID_VARIANT_CAST"):
            sql(f"SELECT v:a::int FROM {name}")
        grouped = (
            f"SELECT v:a::string AS a, count(*) FROM {name} WHERE v:a::string = '1' GROUP BY v:a::string ORDER BY 1"
        )
        assert sql(grouped) == [("1", 1)]
        assert sql(f"SELECT to_json(v:b.d), v:b.d::array<int> FROM {name} WHERE k = 1") == [("[10,11]", [10, 11])]


def test_scans_that_take_other_values_out_are_not_taken_for_one_another(sql: Sql, spark: SparkSession) -> None:
    sql(f"CREATE TABLE t (k INT, v VARIANT) TBLPROPERTIES ({GIVEN})")
    sql("""INSERT INTO t VALUES (1, parse_json('{"a": 1}')), (2, parse_json('{"a": 1}'))""")
    kinds = ("int", "string", "double", "decimal(5, 2)")
    for asked in ("variant_get(v, '$.a', '{0}')", "try_variant_get(v, '$.a', '{0}')"):
        of_each = [f"SELECT string(max({asked.format(kind)})) FROM t GROUP BY k > 0" for kind in kinds]
        assert sorted(sql(" UNION ALL ".join(of_each))) == [("1",), ("1",), ("1.0",), ("1.00",)]
        joined = f"SELECT x.a, y.a FROM ({of_each[0]}) x(a) CROSS JOIN ({of_each[2]}) y(a)"
        assert sql(joined) == [("1", "1.0")]


def test_values_that_cannot_be_cast_are_errors_only_in_rows_that_are_wanted(sql: Sql) -> None:
    for name, options in (("apart", GIVEN), ("plain", "'k' = 'v'")):
        sql(f"CREATE TABLE {name} (k INT, v VARIANT) TBLPROPERTIES ({options})")
        sql(f"INSERT INTO {name} VALUES {values(1, *DOCUMENTS)}")
        assert sql(f"SELECT variant_get(v, '$.a', 'int') FROM {name} WHERE k = 1") == [(1,)]
        with pytest.raises(Exception, match="INVALID_VARIANT_CAST"):
            sql(f"SELECT variant_get(v, '$.a', 'int') FROM {name}")


def test_hidden_columns_are_read_beside_parts_of_variants(sql: Sql) -> None:
    for name, options in (("apart", GIVEN), ("plain", "'k' = 'v'")):
        sql(f"CREATE TABLE {name} (k INT, v VARIANT) TBLPROPERTIES ({options})")
        sql(f"INSERT INTO {name} VALUES {values(1, *DOCUMENTS, None)}")
        asked = "SELECT variant_get(v, '$.a', 'string'), __paimon_row_index, v IS NULL FROM {} ORDER BY 2"
        texts = ["1", "text", None, None, None, None, None, "2.5", None]
        assert sql(asked.format(name)) == [(t, i, i == 8) for i, t in enumerate(texts)]
        strict = (
            f"SELECT variant_get(v, '$.a', 'int'), variant_get(v, '$.b.c', 'string'), __paimon_row_index FROM {name}"
        )
        assert sql(f"{strict} WHERE k = 1") == [(1, "x", 0)]
        with pytest.raises(Exception, match="INVALID_VARIANT_CAST"):
            sql(strict)
        assert sql(
            f"SELECT count(*), max(__paimon_row_index) FROM {name} WHERE variant_get(v, '$.b.c', 'string') = '5'"
        ) == [(1, 1)]


@pytest.mark.smoke
def test_deletes_updates_and_merges_keep_variants_whole(sql: Sql, spark: SparkSession) -> None:
    for kind in ("append", "vectors", "evolving"):
        sql(f"CREATE TABLE c_{kind} (k INT NOT NULL, v VARIANT) TBLPROPERTIES ({KINDS[kind]}, {GIVEN})")
        name = f"c_{kind}"
        sql(f"INSERT INTO {name} VALUES {values(1, *DOCUMENTS)}")
        before = whole(sql, name)
        if kind != "evolving":
            sql(f"DELETE FROM {name} WHERE v:a::string = 'text'")
            before.pop(2)
        sql(f"UPDATE {name} SET v = parse_json('{{\"new\": 1}}') WHERE v:b.c::string = 'x'")
        before[1] = {"new": 1}
        sql(
            f"MERGE INTO {name} t USING (SELECT 3 AS k, parse_json('[3]') AS v UNION ALL SELECT 50, parse_json('50')) s"
            " ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
        )
        before |= {3: [3], 50: 50}
        assert whole(sql, name) == before


def test_compaction_takes_variants_apart_anew(sql: Sql, spark: SparkSession) -> None:
    sql("CREATE TABLE t (k INT NOT NULL, v VARIANT) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')")
    for i in range(3):
        sql(f"INSERT INTO t VALUES {values(i, *DOCUMENTS)}")
    before = whole(sql, "t")
    assert columns(spark, "t") == []
    sql(f"ALTER TABLE t SET TBLPROPERTIES ({GIVEN})")
    sql("CALL sys.compact(table => 't')")
    assert any("typed_value.a." in path for path in columns(spark, "t"))
    assert whole(sql, "t") == before
    sql("ALTER TABLE t UNSET TBLPROPERTIES ('variant.shreddingSchema')")
    sql(f"INSERT INTO t VALUES {values(2, *DOCUMENTS)}")
    sql("CALL sys.compact(table => 't')")
    assert columns(spark, "t") == []


def test_columns_that_are_renamed_and_added_keep_their_values(sql: Sql, spark: SparkSession) -> None:
    shape = {
        "type": "ROW",
        "fields": [{"name": "v", "type": {"type": "ROW", "fields": [{"name": "a", "type": "INT"}]}}],
    }
    sql(f"CREATE TABLE t (k INT, v VARIANT) TBLPROPERTIES ('variant.shreddingSchema' = '{json.dumps(shape)}')")
    sql(f"INSERT INTO t VALUES {values(1, *DOCUMENTS)}")
    before = whole(sql, "t")
    sql("ALTER TABLE t RENAME COLUMN v TO u")
    sql("ALTER TABLE t ADD COLUMN v VARIANT")
    sql("""INSERT INTO t VALUES (20, parse_json('{"a": 1}'), parse_json('{"a": 2}'))""")
    found = sql("SELECT k, to_json(u), u:a::string, v:a::string FROM t")
    assert {k: json.loads(str(u)) for k, u, _, _ in found} == {**before, 20: {"a": 1}}
    assert [row[2:] for row in found if row[0] in (1, 20)] in (
        [("1", None), ("1", "2")],
        [("1", "2"), ("1", None)][::-1],
    )
    assert columns(spark, "t") == ["v.typed_value.a.typed_value", "v.typed_value.a.value"]


def test_statistics_tell_nothing_of_variants(sql: Sql) -> None:
    sql(f"CREATE TABLE t (k INT, v VARIANT) TBLPROPERTIES ({INFER})")
    sql(f"INSERT INTO t VALUES {values(1, *DOCUMENTS, None)}")
    told = sql("SELECT min_value_stats, max_value_stats, null_value_counts FROM t$files")
    assert told == [("{k=1, v=null}", "{k=9, v=null}", "{k=0, v=null}")]
    assert sql("SELECT count(v), count(*) FROM t") == [(8, 9)]


def test_workers_read_files_that_spark_took_apart(sql: Sql, spark: SparkSession, tmp_path: Path) -> None:
    settings = {"spark.sql.variant.inferShreddingSchema": "true", "spark.sql.variant.writeShredding.enabled": "true"}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        made = spark.sql(
            f"SELECT k, v, named_struct('x', v) AS s FROM VALUES {values(1, *DOCUMENTS[:4], None)} AS t(k, v)"
        )
        made.coalesce(1).write.parquet(str(tmp_path / "theirs"))
    finally:
        for key in settings:
            spark.conf.unset(key)
    (path,) = (tmp_path / "theirs").glob("*.parquet")
    assert "typed_value" in str(pq.ParquetFile(path).schema)
    inner = t.RowType(True, (t.DataField(3, "x", t.VariantType()),))
    fields = [t.DataField(0, "k", t.IntType()), t.DataField(1, "v", t.VariantType()), t.DataField(2, "s", inner)]
    read = read_rows(registry.file_format("parquet"), LocalFileIO(), str(path), None, fields, ["k", "v", "s"])
    found = {row["k"]: (row["v"], row["s"]["x"]) for batch in read for row in batch.to_pylist()}
    assert found[5] == (None, None)
    for k, document in enumerate(DOCUMENTS[:4], start=1):
        for v in found[k]:
            assert json.loads(VariantUtils.to_json(v["value"], v["metadata"])) == json.loads(document)


@pytest.mark.parametrize("file_format", ["orc", "avro"])
def test_other_formats_hold_no_variants(file_format: str, sql: Sql) -> None:
    with pytest.raises(Exception, match="VARIANT"):
        sql(f"CREATE TABLE t (v VARIANT) TBLPROPERTIES ('file.format' = '{file_format}', {INFER})")


def test_a_shape_that_is_none_is_refused_before_anything_is_made(sql: Sql) -> None:
    with pytest.raises(Exception, match="of option 'variant"):
        sql("CREATE TABLE t (v VARIANT) TBLPROPERTIES ('variant.shreddingSchema' = 'INT')")
    assert sql("SHOW TABLES") == []


def test_options_of_a_session_and_of_a_write_take_variants_apart(sql: Sql, spark: SparkSession) -> None:
    sql("CREATE TABLE t (k INT, v VARIANT)")
    spark.conf.set("spark.paimon.variant.inferShreddingSchema", "true")
    try:
        sql(f"INSERT INTO t VALUES {values(1, *DOCUMENTS[:4])}")
    finally:
        spark.conf.unset("spark.paimon.variant.inferShreddingSchema")
    assert columns(spark, "t")


@pytest.mark.parametrize("mode", ["per-file", "adaptive"])
def test_many_rows_and_files_keep_their_values(mode: str, sql: Sql, spark: SparkSession) -> None:
    settings = f"{INFER}, 'variant.shredding.inferenceMode' = '{mode}', 'target-file-size' = '200 kb'"
    sql(f"CREATE TABLE t (k INT, v VARIANT) TBLPROPERTIES ({settings})")
    made = "parse_json(to_json(named_struct('id', id, 's', repeat(hex(hash(id)), 4), 'l', sequence(0, id % 5))))"
    sql(f"INSERT INTO t SELECT CAST(id AS INT), {made} FROM range(20000)")
    assert len(files(spark, "t")) > 2
    assert sql(
        "SELECT count(*), sum(variant_get(v, '$.id', 'bigint')), sum(variant_get(v, '$.l[4]', 'int')) FROM t"
    ) == [(20000, sum(range(20000)), 4 * 4000)]
    other = f"SELECT count(*) FROM (SELECT v, CAST(k AS BIGINT) AS id FROM t) WHERE to_json(v) <> to_json({made})"
    assert sql(other) == [(0,)]


def test_a_stream_reads_and_writes_variants(sql: Sql, spark: SparkSession, tmp_path: Path) -> None:
    for name in ("s", "t"):
        sql(f"CREATE TABLE {name} (k INT, v VARIANT) TBLPROPERTIES ({GIVEN})")
    sql(f"INSERT INTO s VALUES {values(1, *DOCUMENTS, None)}")
    query = spark.readStream.table("s").selectExpr("k", "v").writeStream.trigger(availableNow=True)
    query.option("checkpointLocation", str(tmp_path)).toTable("t").awaitTermination()
    assert whole(sql, "t") == whole(sql, "s")
    assert columns(spark, "t") == columns(spark, "s") != []


@pytest.mark.parametrize(
    ("limit", "parts"),
    [
        ("'variant.shredding.maxSchemaWidth' = '6'", {"a", "b", "c"}),
        ("'variant.shredding.maxSchemaDepth' = '1'", {"a", "b", "rare"}),
        ("'variant.shredding.minFieldCardinalityRatio' = '0.6'", {"a", "b", "c"}),
        ("'variant.shredding.maxInferBufferRow' = '10'", {"a", "b", "c"}),
    ],
)
def test_limits_keep_fields_inside(limit: str, parts: set[str], sql: Sql, spark: SparkSession) -> None:
    sql(f"CREATE TABLE t (k INT, v VARIANT) TBLPROPERTIES ({INFER}, {limit})")
    common, rare = '{"a": 1, "b": {"c": 2}}', '{"a": 1, "b": {"c": 2}, "rare": 3}'
    sql(f"INSERT INTO t VALUES {values(1, *[common] * 10, *[rare] * 9)}")
    told = {part for path in columns(spark, "t") for part in path.split(".")} & {"a", "b", "c", "rare"}
    assert told == parts, columns(spark, "t")
    assert sql("SELECT sum(variant_get(v, '$.b.c', 'int')), count(variant_get(v, '$.rare', 'int')) FROM t") == [(38, 9)]
