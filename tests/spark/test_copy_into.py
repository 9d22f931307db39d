"""COPY INTO: files into tables and tables into files, what is passed over, and what is refused."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.spark.conftest import Sql

CSV = "FILE_FORMAT = (TYPE = CSV)"
JSON = "FILE_FORMAT = (TYPE = JSON)"
PARQUET = "FILE_FORMAT = (TYPE = PARQUET)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for files; its name is one that must be escaped in URLs and in patterns."""
    made = tmp_path / "in [1] %41"
    made.mkdir()
    return made


def _write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)


def _history(spark: SparkSession, table: str) -> list[Path]:
    where = str(spark.sql(f"DESCRIBE TABLE EXTENDED {table}").filter("col_name = 'Location'").collect()[0][1])
    found = Path(where.removeprefix("file:")) / "copy-into" / "history"
    return sorted(found.iterdir()) if found.exists() else []


@pytest.mark.smoke
def test_a_file_is_loaded_once_unless_it_changes_or_is_forced(sql: Sql, spark: SparkSession, folder: Path) -> None:
    _write(folder, a_csv="1,x\n2,\n", b_csv="3,y\n", c_txt="no,rows,here\n")
    (folder / "_SUCCESS").write_text("")
    (folder / "d").mkdir()
    sql("CREATE TABLE t (id INT, v STRING)")
    copy = f"COPY INTO t FROM '{folder}' {CSV} PATTERN = '\\.csv$'"
    frame = spark.sql(copy)
    assert [(f.name, f.dataType.simpleString(), f.nullable) for f in frame.schema] == [
        ("file_name", "string", False),
        ("status", "string", False),
        ("rows_loaded", "bigint", False),
        ("rows_parsed", "bigint", False),
        ("errors_seen", "bigint", False),
        ("first_error", "string", True),
    ]
    assert [tuple(row) for row in frame.collect()] == [
        ("a.csv", "LOADED", 2, 2, 0, None),
        ("b.csv", "LOADED", 1, 1, 0, None),
    ]
    assert sql("SELECT * FROM t ORDER BY id") == [(1, "x"), (2, None), (3, "y")]
    assert sql("SELECT count(*) FROM t$snapshots") == [(1,)]
    assert len(_history(spark, "t")) == 2

    for record in _history(spark, "t"):
        os.utime(record, (1, 1))
    sql("CALL sys.remove_orphan_files(table => 't', older_than => '2020-01-01 00:00:00')")
    assert len(_history(spark, "t")) == 2
    passed_over = ("b.csv", "SKIPPED", 0, 0, 0, None)
    os.utime(folder / "a.csv", (1, 1))
    assert sql(copy.replace("FROM '", "FROM 'file://")) == [("a.csv", "LOADED", 2, 2, 0, None), passed_over]
    assert sql(f"COPY INTO t FROM '{folder}/b.csv' {CSV}") == [passed_over]
    assert sql(copy + " FORCE = TRUE")[1] == ("b.csv", "LOADED", 1, 1, 0, None)
    assert sql("SELECT count(*) FROM t") == [(8,)]
    assert sql(f"COPY INTO t FROM '{folder}' {CSV} PATTERN = 'nothing'") == []


def test_options_of_csv_say_how_its_text_is_read(sql: Sql, folder: Path) -> None:
    _write(folder, a_csv="id|v\n1|'a||b'\n2|\\N\n3|none\n4|''\n5|'it~'s'\n")
    sql("CREATE TABLE t (id INT, v STRING)")
    options = "FIELD_DELIMITER = '|', SKIP_HEADER = 1, QUOTE = '\\'', ESCAPE = '~', NULL_IF = ('\\\\N', 'none')"
    sql(f"COPY INTO t FROM '{folder}' FILE_FORMAT = (TYPE = CSV, {options})")
    assert sql("SELECT v FROM t ORDER BY id") == [("a||b",), (None,), (None,), (None,), ("it's",)]
    sql("TRUNCATE TABLE t")
    empty = options.replace("NULL_IF = ('\\\\N', 'none')", "EMPTY_FIELD_AS_NULL = TRUE")
    sql(f"COPY INTO t FROM '{folder}' FILE_FORMAT = (type = 'csv', {empty}) FORCE = TRUE")
    assert sql("SELECT v FROM t ORDER BY id") == [("a||b",), ("\\N",), ("none",), (None,), ("it's",)]


@pytest.mark.parametrize("on_error", ["ABORT_STATEMENT", "CONTINUE", "SKIP_FILE"])
def test_rows_that_cannot_be_read_are_dealt_with_as_said(
    sql: Sql, spark: SparkSession, folder: Path, on_error: str
) -> None:
    _write(folder, bad_csv="1,x\nabc,y\n3,z\n4\n5,v,w\n", good_csv="7,g\n", none_csv="q,r\n", empty_csv="")
    sql("CREATE TABLE t (id INT, v STRING)")
    copy = f"COPY INTO t FROM '{folder}' {CSV} ON_ERROR = {on_error}"
    no_int = "Cast failure in column 'id': '{}' is not a valid INT"
    good, empty = ("good.csv", "LOADED", 1, 1, 0, None), ("empty.csv", "LOADED", 0, 0, 0, None)
    none = ("none.csv", "LOAD_FAILED", 0, 1, 1, no_int.format("q"))
    if on_error == "ABORT_STATEMENT":
        with pytest.raises(
            PySparkException, match=r"4 rows in 2 of 4 files cannot be loaded.*bad.csv.*'abc' is not a valid INT"
        ):
            sql(copy)
        assert sql("SELECT * FROM t") == []
        assert _history(spark, "t") == []
        return
    passed_over = ("good.csv", "SKIPPED", 0, 0, 0, None)
    if on_error == "CONTINUE":
        bad = ("bad.csv", "PARTIALLY_LOADED", 2, 5, 3, no_int.format("abc"))
        assert sql(copy) == [bad, empty, good, none]
        assert sql("SELECT * FROM t ORDER BY id") == [(1, "x"), (3, "z"), (7, "g")]
        assert [row[:2] for row in sql(copy)][::-1] == [
            ("good.csv", "SKIPPED"),
            ("empty.csv", "SKIPPED"),
            ("bad.csv", "SKIPPED"),
            ("none.csv", "LOAD_FAILED"),
        ]
    else:
        bad = ("bad.csv", "LOAD_FAILED", 0, 5, 3, no_int.format("abc"))
        assert sql(copy) == [bad, empty, good, none]
        assert sql("SELECT * FROM t") == [(7, "g")]
        assert sql(copy)[-1] == passed_over
    assert sql("SELECT count(*) FROM t$snapshots") == [(1,)]


def test_columns_that_are_not_named_get_their_defaults(sql: Sql, folder: Path) -> None:
    _write(folder, a_csv="x,1\ny,2\n")
    sql("CREATE TABLE t (id INT NOT NULL, `v w` STRING, s STRING NOT NULL DEFAULT 'new', d DATE, n INT DEFAULT 7)")
    sql(f"COPY INTO t (`V w`, ID) FROM '{folder}' {CSV}")
    assert sql("SELECT * FROM t ORDER BY id") == [(1, "x", "new", None, 7), (2, "y", "new", None, 7)]
    for columns, told in {
        "id, nope": "has no column nope",
        "id, ID": "specifies column ID twice",
        "s": "Column id of .* is NOT NULL",
    }.items():
        with pytest.raises(PySparkException, match=told):
            sql(f"COPY INTO t ({columns}) FROM '{folder}' {CSV} FORCE = TRUE")
    assert sql("SELECT count(*) FROM t") == [(2,)]


def test_a_null_where_none_may_be_loads_nothing_whatever_is_said(sql: Sql, spark: SparkSession, folder: Path) -> None:
    _write(folder, a_csv="1,x\n,y\n")
    sql("CREATE TABLE t (id INT, v VARCHAR(1), PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')")
    with pytest.raises(PySparkException, match=r"Column id is NOT NULL, but is NULL in a row of a\.csv"):
        sql(f"COPY INTO t FROM '{folder}' {CSV} ON_ERROR = CONTINUE")
    _write(folder, a_csv="1,long\n")
    with pytest.raises(PySparkException, match="EXCEED_LIMIT_LENGTH"):
        sql(f"COPY INTO t FROM '{folder}' {CSV} ON_ERROR = CONTINUE")
    assert sql("SELECT * FROM t") == []
    assert _history(spark, "t") == []


def test_tables_of_all_kinds_are_loaded(sql: Sql, folder: Path) -> None:
    _write(folder, a_csv="1,p,10\n2,q,20\n1,p,11\n")
    for options in (
        "'bucket' = '2'",
        "'bucket' = '-1'",
        "'bucket' = '-1', 'dynamic-bucket.assigner-parallelism' = '1'",
    ):
        sql(f"CREATE OR REPLACE TABLE t (id INT, p STRING, v INT, PRIMARY KEY (id, p) NOT ENFORCED)"
            f" PARTITIONED BY (p) WITH ({options})")  # fmt: skip
        assert sql(f"COPY INTO t FROM '{folder}' {CSV} FORCE = TRUE") == [("a.csv", "LOADED", 3, 3, 0, None)]
        assert sql("SELECT * FROM t ORDER BY id") == [(1, "p", 11), (2, "q", 20)]


def test_json_is_read_by_the_names_of_its_fields(sql: Sql, folder: Path) -> None:
    lines = (
        '{"s": {"b": "x", "a": 1}, "id": "1", "d": "2024-02-29", "tags": [1, 2], "more": 0}',
        '{"id": 2, "v": "none", "t": "2024-01-01 10:00:00.5", "n": 1.25}',
        "{bad",
        '{"id": 3, "tags": "x"}',
        '{"id": 2.5}',
    )
    _write(folder, a_json="\n".join(lines))
    sql(
        "CREATE TABLE t (id INT, v STRING, d DATE, t TIMESTAMP_NTZ, n DECIMAL(10, 2), tags ARRAY<INT>,"
        " s STRUCT<a: INT, b: STRING>)"
    )
    with_nulls = "FILE_FORMAT = (TYPE = JSON, NULL_IF = 'none')"
    ((name, *numbers, first),) = sql(f"COPY INTO t FROM '{folder}' {with_nulls} ON_ERROR = CONTINUE")
    assert (name, numbers) == ("a.json", ["PARTIALLY_LOADED", 2, 5, 3])
    assert first == "Malformed record: {bad"
    assert sql("SELECT id, v, string(d), string(t), string(n), tags, s.a, s.b FROM t ORDER BY id") == [
        (1, None, "2024-02-29", None, None, [1, 2], 1, "x"),
        (2, None, None, "2024-01-01 10:00:00.5", "1.25", None, None, None),
    ]
    (folder / "a.json").unlink()
    _write(folder, b_json='[{"id": 8},\n {"id": 9}]')
    sql(f"COPY INTO t (id) FROM '{folder}' FILE_FORMAT = (TYPE = JSON, MULTI_LINE = TRUE)")
    assert sql("SELECT id FROM t WHERE id > 3 ORDER BY id") == [(8,), (9,)]
    with pytest.raises(PySparkException, match="CSV files cannot hold column tags, which is ARRAY<INT>"):
        sql(f"COPY INTO t FROM '{folder}' {CSV} FORCE = TRUE")


def test_parquet_is_read_by_the_names_of_its_columns(sql: Sql, spark: SparkSession, tmp_path: Path) -> None:
    pieces = {
        "a": "SELECT 'x' AS V, 3000000000 AS id, 1 AS more",
        "b": "SELECT 4L AS id, array(named_struct('q', 2, 'p', 1)) AS s",
        "c": "SELECT DATE'2024-01-01' AS id",
    }
    for name, query in pieces.items():
        sql(f"COPY INTO '{tmp_path}/{name}' FROM ({query}) {PARQUET}")
    (tmp_path / "all").mkdir()
    for name in ("a", "b"):
        (part,) = (tmp_path / name).glob("part-*")
        part.rename(tmp_path / "all" / f"{name}.parquet")
    sql("CREATE TABLE t (id INT, v STRING, s ARRAY<STRUCT<p: INT, q: INT>>)")
    with pytest.raises(PySparkException, match=r"1 row in 1 of 2 files .*'3000000000' is not a valid INT"):
        sql(f"COPY INTO t FROM '{tmp_path}/all' {PARQUET}")
    assert [row[:5] for row in sql(f"COPY INTO t FROM '{tmp_path}/all' {PARQUET} ON_ERROR = CONTINUE")] == [
        ("a.parquet", "LOAD_FAILED", 0, 1, 1),
        ("b.parquet", "LOADED", 1, 1, 0),
    ]
    assert sql("SELECT id, v, s[0].p, s[0].q FROM t") == [(4, None, 1, 2)]
    with pytest.raises(PySparkException, match=r"cannot be read into these columns.*DATE.*INT"):
        sql(f"COPY INTO t FROM '{tmp_path}/c' {PARQUET}")
    (part,) = (tmp_path / "c").glob("part-*")
    part.rename(tmp_path / "all" / "c.parquet")
    with pytest.raises(PySparkException, match="cannot be read into these columns"):
        sql(f"COPY INTO t FROM '{tmp_path}/all' {PARQUET} FORCE = TRUE")


@pytest.mark.parametrize("kind", ["CSV", "JSON", "PARQUET"])
def test_what_is_copied_out_can_be_copied_in(sql: Sql, spark: SparkSession, tmp_path: Path, kind: str) -> None:
    empty = "e" if kind == "CSV" else ""  # an empty field of CSV is NULL, quoted or not
    sql("CREATE TABLE t (id INT, v STRING, d DATE, n DECIMAL(30, 3), x DOUBLE, b BOOLEAN, ts TIMESTAMP)")
    sql(
        "INSERT INTO t VALUES (1, 'a \"b\", \\\\ ü', DATE'1500-01-01', 1.5, double('NaN'), true,"
        " TIMESTAMP'2024-01-01 01:02:03.456'),"
        f" (2, '{empty}', NULL, NULL, NULL, NULL, NULL), (3, NULL, DATE'2024-02-29', -0.001, -0.0D, false, NULL)"
    )
    frame = spark.sql(f"COPY INTO '{tmp_path}/out' FROM t FILE_FORMAT = (TYPE = {kind}, COMPRESSION = GZIP)")
    assert [(f.name, f.dataType.simpleString(), f.nullable) for f in frame.schema] == [
        ("output_path", "string", False),
        ("file_count", "int", False),
        ("rows_written", "bigint", False),
    ]
    ((path, files, rows),) = frame.collect()
    parts = list((tmp_path / "out").glob("part-*"))
    assert (path, files, rows) == (f"{tmp_path}/out", len(parts), 3)
    assert all(".gz" in part.name for part in parts)
    sql("CREATE TABLE back LIKE t")
    sql(f"COPY INTO back FROM '{tmp_path}/out' FILE_FORMAT = (TYPE = {kind})")
    texts = "SELECT id, v, string(d), string(n), string(x), b, string(ts) FROM {} ORDER BY id"
    assert sql(texts.format("back")) == sql(texts.format("t"))


def test_rows_are_counted_while_they_are_written(sql: Sql, tmp_path: Path) -> None:
    ((_, _, rows),) = sql(f"COPY INTO '{tmp_path}/r' FROM (SELECT id FROM range(1000) WHERE rand() < 0.5) {CSV}")
    assert sql(f"SELECT count(*) FROM csv.`{tmp_path}/r`") == [(rows,)]
    ((_, _, none),) = sql(f"COPY INTO '{tmp_path}/n' FROM (SELECT 1 AS a WHERE rand() > 2) {JSON}")
    assert none == 0
    assert sql(f"COPY INTO '{tmp_path}/v' FROM (VALUES (1, 'a'), (2, 'b')) {CSV}")[0][2] == 2


def test_options_say_how_files_are_written(sql: Sql, tmp_path: Path) -> None:
    options = "HEADER = TRUE, FIELD_DELIMITER = '|', QUOTE = '\\'', ESCAPE = '~'"
    query = "(WITH q AS (SELECT 1 AS a, 'x|''y' AS b) SELECT * FROM q)"
    sql(f"COPY INTO '{tmp_path}/c' FROM {query} FILE_FORMAT = (TYPE = CSV, {options})")
    (part,) = (tmp_path / "c").glob("part-*")
    assert part.read_text() == "a|b\n1|'x|~'y'\n"
    formats = "DATE_FORMAT = 'dd.MM.yyyy', TIMESTAMP_FORMAT = 'yyyy/MM/dd HH'"
    query = "(SELECT DATE'2024-02-29' AS d, TIMESTAMP'2024-02-29 10:00:00' AS t)"
    sql(f"COPY INTO '{tmp_path}/j' FROM {query} FILE_FORMAT = (TYPE = JSON, {formats})")
    (part,) = (tmp_path / "j").glob("part-*")
    assert part.read_text() == '{"d":"29.02.2024","t":"2024/02/29 10"}\n'


def test_what_stands_there_is_replaced_only_if_that_is_said(sql: Sql, spark: SparkSession, tmp_path: Path) -> None:
    copy = f"COPY INTO '{tmp_path}/out' FROM ({{}}) {CSV}"
    sql(copy.format("SELECT 1 AS a"))
    with pytest.raises(PySparkException, match="exists already"):
        sql(copy.format("SELECT raise_error('it was run')"))
    assert sql(copy.format("SELECT 2 AS a") + " OVERWRITE = TRUE")[0][2] == 1
    assert sql(f"SELECT * FROM csv.`{tmp_path}/out`") == [("2",)]
    with pytest.raises(PySparkException, match="also being read"):
        sql(copy.format(f"SELECT * FROM csv.`{tmp_path}/out`") + " OVERWRITE = TRUE")
    unknown = "FILE_FORMAT = (TYPE = JSON, DATE_FORMAT = 'bbb')"
    with pytest.raises(PySparkException, match="pattern"):
        sql(f"COPY INTO '{tmp_path}/out' FROM (SELECT 1 AS a) {unknown} OVERWRITE = TRUE")
    assert sql(f"SELECT * FROM csv.`{tmp_path}/out`") == [("2",)]

    sql("CREATE TABLE t (id INT)")
    sql("INSERT INTO t VALUES (1)")
    where = Path(str(sql("SELECT __paimon_file_path FROM t")[0][0]).removeprefix("file:")).parent.parent
    for target in (where, where / "bucket-0", where.parent, where.parent.parent):
        with pytest.raises(PySparkException, match="would delete files of the table"):
            sql(f"COPY INTO '{target}' FROM t {CSV} OVERWRITE = TRUE")
    assert sql("SELECT * FROM t") == [(1,)]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("DROP TABLE t", "query that only reads"),
        ("INSERT INTO t VALUES (2)", "query that only reads"),
        ("WITH q AS (SELECT 2 AS id) INSERT INTO t SELECT * FROM q", "query that only reads"),
        ("FROM t INSERT INTO t SELECT *", "query that only reads"),
        ("CALL sys.compact(table => 't')", "query that only reads"),
        ("SELECT 1; DROP TABLE t", "extra input"),
        ("SELECT nope FROM t", "`nope` cannot be resolved"),
        ("SELECT assert_true(id > 1) IS NULL AS a FROM t", "is not true"),
    ],
)
def test_a_query_that_does_more_than_read_or_fails_leaves_nothing(
    sql: Sql, tmp_path: Path, query: str, told: str
) -> None:
    sql("CREATE TABLE t (id INT)")
    sql("INSERT INTO t VALUES (1)")
    with pytest.raises(PySparkException, match=told):
        sql(f"COPY INTO '{tmp_path}/out' FROM ({query}) {CSV}")
    assert not (tmp_path / "out").exists()
    assert sql("SELECT * FROM t") == [(1,)]


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        (f"COPY INTO t FROM '/no/such/folder' {CSV}", "There is no file or directory '/no/such/folder'"),
        (f"COPY INTO t FROM 'strange://x/y' {CSV}", "Spark has no file system for strange:"),
        (f"COPY INTO nosuch FROM '/' {CSV}", "nosuch does not exist"),
        (f"COPY INTO t$snapshots FROM '/' {CSV}", "system table"),
        (f"COPY INTO t FROM '/' {CSV} PATTERN = '['", "PATTERN = '\\[' is not a valid regular expression: Unclosed"),
        (f"COPY INTO '/tmp/nothing-is-written-here' FROM nosuch {CSV}", "`nosuch` cannot be found"),
        (f"COPY INTO 'strange://x/y' FROM t {CSV}", "Spark has no file system for strange:"),
    ],
)
def test_what_cannot_be_copied_is_told_in_one_sentence(sql: Sql, statement: str, told: str) -> None:
    sql("CREATE TABLE t (id INT)")
    with pytest.raises(PySparkException, match=told) as caught:
        sql(statement)
    assert "Traceback" not in str(caught.value)


def test_explain_copies_nothing_and_branches_and_views_take_part(sql: Sql, tmp_path: Path) -> None:
    sql("CREATE TABLE t (id INT)")
    sql("INSERT INTO t VALUES (1)")
    sql(f"EXPLAIN COPY INTO '{tmp_path}/out' FROM t {CSV}")
    assert not (tmp_path / "out").exists()
    sql("CALL sys.create_branch(table => 't', branch => 'b')")
    sql("CREATE OR REPLACE TEMPORARY VIEW copied AS SELECT id + 1 AS id FROM t")
    sql(f"COPY INTO '{tmp_path}/out' FROM copied {CSV}")
    sql(f"COPY INTO t$branch_b FROM '{tmp_path}/out' {CSV}")
    assert sql("SELECT * FROM t$branch_b") == [(2,)]
    assert sql("SELECT * FROM t") == [(1,)]
    assert re.fullmatch(r"\d+", str(sql(f"COPY INTO '{tmp_path}/f' FROM t$files {JSON}")[0][2]))
    sql("DROP VIEW copied")
