"""What a user can get wrong through SQL: one short error that names it, and nothing changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from paimon_sql.process import PROCESS
from paimon_sql.shell.engine.errors import describe
from tests.spark.conftest import Sql

LONG = "x" * 300


@pytest.fixture
def folder(spark: SparkSession, sql: Sql) -> Path:
    """The folder of the test's database."""
    warehouse = spark.conf.get("spark.sql.catalog.paimon.warehouse")
    return Path(str(warehouse)) / f"{sql('SELECT current_database()')[0][0]}.db"


@pytest.fixture
def refused(sql: Sql, folder: Path) -> Callable[[str], str]:
    """Runs a statement that must fail without a trace; gives the one message that the shell shows of it."""

    def run(statement: str) -> str:
        before = _files(folder.parent)
        with pytest.raises((PySparkException, Py4JError)) as caught:
            sql(statement)
        assert _files(folder.parent) == before
        problem = describe(caught.value, statement)
        shown = f"{problem.message} {problem.remedy or ''}".strip()
        assert len(shown) < 700 and shown.count("\n") < 4, shown
        assert (
            "Python worker" not in shown and "\tat " not in shown and "Traceback" not in shown and "java." not in shown
        )
        return shown

    return run


def _files(folder: Path) -> dict[Path, bytes | None]:
    """All that there is, but for the record of what was called."""
    found = (p for p in folder.rglob("*") if "_maintenance_runs" not in p.parts)
    return {p: p.read_bytes() if p.is_file() else None for p in found}


@pytest.fixture
def table(sql: Sql) -> str:
    sql("CREATE TABLE t (k INT NOT NULL, v STRING, d DATE) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')")
    sql("INSERT INTO t VALUES (1, 'a', NULL)")
    return "t"


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELECT nosuch FROM t", "`nosuch` cannot be resolved"),
        ("INSERT INTO t (k, nosuch) VALUES (1, 'a')", "`nosuch` cannot be resolved"),
        ("INSERT INTO t VALUES ('abc', 'b', NULL)", "Cannot safely cast `k`"),
        ("INSERT INTO t VALUES (1, 'x', 5)", "Cannot safely cast `d`"),
        ("INSERT INTO t VALUES (99999999999, 'x', NULL)", "overflow"),
        ("INSERT INTO t VALUES (1, 'b')", "not enough data columns"),
        ("INSERT INTO t VALUES (NULL, 'b', NULL)", "non-nullable field"),
        ("INSERT INTO t SELECT CASE WHEN id < 5 THEN id END, 'x', NULL FROM range(10)", "non-nullable field"),
        ("SELECT * FROM nosuch", "`nosuch` cannot be found"),
        ("SELECT * FROM nosuchdb.t", "`nosuchdb`.`t` cannot be found"),
        ("SELECT * FROM nosuchcatalog.db.t", "`nosuchcatalog`.`db`.`t` cannot be found"),
        ("INSERT INTO nosuch VALUES (1)", "`nosuch` cannot be found"),
        ("USE nosuchdb", "`nosuchdb` cannot be found"),
        ("SELECT * FROM t$nosuch", "There is no system table"),
        ("SELECT * FROM `t$branch_nosuch`", "`t$branch_nosuch` cannot be found"),
        ("SELECT * FROM t VERSION AS OF 99", "99 does not exist: retained are 1"),
        ("SELECT * FROM t VERSION AS OF 'nosuch'", "'nosuch' does not exist"),
        ("SELECT * FROM t TIMESTAMP AS OF '1999-01-01'", "1999-01-01"),
        ("SELECT * FROM t /*+ OPTIONS('scan.snapshot-id' = 'abc') */", "'scan.snapshot-id' cannot be 'abc'"),
        ("SELECT * FROM t /*+ OPTIONS('no-such' = '1') */", "no option 'no-such'"),
        ("ALTER TABLE t SET TBLPROPERTIES ('snapshot.no-such' = '1')", "no option 'snapshot.no-such'"),
        ("ALTER TABLE t SET TBLPROPERTIES ('bucket' = '0')", "'bucket' cannot be '0'"),
        ("ALTER TABLE t SET TBLPROPERTIES ('primary-key' = 'v')", "primary key of a table"),
        ("ALTER TABLE t DROP COLUMN k", "'k' cannot be dropped"),
        ("CALL sys.nosuch()", "no procedure sys.nosuch. SHOW PROCEDURES"),
        ("CALL sys.compact(`table` => 'nosuch')", "nosuch does not exist"),
        ("CALL sys.rollback(`table` => 't', version => '99')", "99 does not exist"),
    ],
)
def test_a_wrong_statement_is_told_in_one_message(
    table: str, refused: Callable[[str], str], statement: str, said: str
) -> None:
    assert said in refused(statement)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("'bucket' = '-3'", "'bucket' cannot be '-3'"),
        ("'bucket' = 'abc'", "'bucket' cannot be 'abc'"),
        ("'bucket' = '4'", "'bucket-key' is needed"),
        ("'bucket' = '4', 'bucket-key' = 'nosuch'", "'bucket-key' names 'nosuch'"),
        ("'buckets' = '4'", "Did you mean 'bucket'?"),
        ("'target-file-size' = '12 bananas'", "'target-file-size' cannot be '12 bananas'"),
        ("'file.format' = 'xml'", "'file.format' cannot be 'xml'"),
        ("'primary-key' = 'nosuch'", "names 'nosuch'"),
        ("'path' = '/tmp/elsewhere'", "Leave LOCATION and 'path' out"),
        ("'data-file.prefix' = '../../x-'", "'data-file.prefix' cannot be"),
        ("'changelog-file.prefix' = 'a/b'", "'changelog-file.prefix' cannot be"),
        ("'data-file.path-directory' = '../../x'", "a subdirectory of the table's directory"),
        ("'data-file.path-directory' = '/tmp/x'", "a subdirectory of the table's directory"),
    ],
)
def test_an_illegal_option_makes_no_table(refused: Callable[[str], str], options: str, said: str) -> None:
    assert said in refused(f"CREATE TABLE n (k INT, dt STRING) PARTITIONED BY (dt) TBLPROPERTIES ({options})")


def test_a_column_without_a_name_is_refused(refused: Callable[[str], str]) -> None:
    assert "no name" in refused("CREATE TABLE n (`` INT)")


@pytest.mark.parametrize("name", ["..", ".", "../x", "/etc/x", "a/b", "a\\b", "", "  ", "a\nb", "a\0b", LONG, "a$b$c"])
def test_no_table_gets_a_name_that_leaves_its_database(refused: Callable[[str], str], name: str) -> None:
    said = refused(f"CREATE TABLE `{name}` (k INT)")
    assert "cannot be the name of a table" in said or "is not a table name" in said


@pytest.mark.parametrize("name", ["../x", "a/b", " ", LONG, "a\nb"])
def test_no_tag_or_consumer_gets_a_name_that_leaves_its_folder(
    table: str, refused: Callable[[str], str], name: str
) -> None:
    assert "cannot be the name of a" in refused(f"ALTER TABLE t CREATE TAG `{name}`")
    statement = f"CALL sys.reset_consumer(`table` => 't', consumer_id => '{name}', next_snapshot_id => 1)"
    assert "cannot be the name of a consumer" in refused(statement)


@pytest.mark.parametrize("name", ["a'b", 'a"b', "a;b", "a%2Fb", "ü漢字😀", "x'); DROP TABLE t; --", "a b", "a``b"])
def test_odd_names_are_only_names(sql: Sql, table: str, folder: Path, name: str) -> None:
    sql(f"CREATE TABLE `{name}` LIKE t")
    sql(f"INSERT INTO `{name}` VALUES (7, 'x', NULL)")
    sql(f"ALTER TABLE `{name}` CREATE TAG `{name}`")
    assert sql(f"SHOW TAGS `{name}`") == [(name.replace("``", "`"),)]
    assert sql(f"SELECT k FROM `{name}`") == [(7,)]
    assert sql("SELECT k FROM t") == [(1,)]
    assert (folder / name.replace("``", "`")).is_dir()


VALUES = [
    "..",
    ".",
    "../../../x",
    "/etc",
    "",
    "  ",
    "a=b",
    "a%2Fb",
    "a'b",
    "a`b",
    "a;b",
    "a\\b",
    "\1",
    "a\nb",
    "{a}:*?",
]


def test_values_of_partitions_stay_inside_the_table(sql: Sql, folder: Path) -> None:
    sql("CREATE TABLE p (v INT, dt STRING) PARTITIONED BY (dt)")
    literals = ["'" + v.replace("\\", "\\\\").replace("'", "\\'") + "'" for v in VALUES]
    sql("INSERT INTO p VALUES " + ", ".join(f"({i}, {text})" for i, text in enumerate(literals)))
    partitions = {p.name for p in (folder / "p").iterdir() if p.is_dir()} - {"schema", "snapshot", "manifest"}
    assert len(partitions) == len(VALUES) - 1  # the empty and the blank text share a folder
    assert all(name.startswith("dt=") for name in partitions)
    assert [p.name for p in folder.iterdir()] == ["p"]
    for i, text in enumerate(literals):
        assert sql(f"SELECT v FROM p WHERE dt = {text}") == [(i,)]
    sql("INSERT OVERWRITE p PARTITION (dt = '..') VALUES (99)")
    sql("ALTER TABLE p DROP PARTITION (dt = '/etc')")
    assert sql("SELECT count(*), max(v) FROM p") == [(len(VALUES) - 1, 99)]


def test_a_partition_whose_folder_cannot_be_named_is_refused(sql: Sql, refused: Callable[[str], str]) -> None:
    sql("CREATE TABLE p (v INT, dt STRING) PARTITIONED BY (dt)")
    assert "has 303 bytes" in refused(f"INSERT INTO p VALUES (1, '{LONG}')")


@pytest.mark.parametrize("text", ["'garbage'", "'{}'", "'[1]'", "CAST(NULL AS STRING)"])
def test_the_internal_procedure_takes_nothing_but_statements(refused: Callable[[str], str], text: str) -> None:
    assert "Run the statement itself" in refused(f"CALL sys.__execute({text})")


@pytest.mark.parametrize("kind", ["snapshot/snapshot-1", "manifest/manifest-list-*-0", "schema/schema-0"])
@pytest.mark.parametrize("defect", ["truncated", "garbage", "directory"])
def test_broken_metadata_is_named_and_nothing_is_left_behind(
    sql: Sql, folder: Path, refused: Callable[[str], str], kind: str, defect: str
) -> None:
    sql("CREATE TABLE b (k INT)")
    sql("INSERT INTO b VALUES (1)")
    PROCESS.clear_caches()  # as a process that did not write the table
    for path in (folder / "b").glob(kind):
        _break(path, defect)
    if kind.startswith("schema") and defect == "directory":
        assert "cannot be found" in refused("SELECT * FROM b")
        return
    for statement in ("INSERT INTO b VALUES (2)", "SELECT * FROM b"):
        said = refused(statement)
        assert "/b/" in said and (defect == "directory" or "Restore the file" in said)
    assert sql("SHOW TABLES") == [(folder.stem, "b", False)]


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("defect", ["missing", "truncated", "garbage"])
def test_a_broken_data_file_is_named(
    sql: Sql, folder: Path, refused: Callable[[str], str], file_format: str, keyed: bool, defect: str
) -> None:
    key = ", 'primary-key' = 'k', 'bucket' = '1', 'write-only' = 'true'" if keyed else ""
    sql(f"CREATE TABLE b (k INT NOT NULL, v STRING) TBLPROPERTIES ('file.format' = '{file_format}'{key})")
    sql("INSERT INTO b VALUES (1, 'a')")
    sql("INSERT INTO b VALUES (1, 'b')")
    (path, *_) = (folder / "b" / "bucket-0").iterdir()
    _break(path, defect)
    said = refused("SELECT * FROM b")
    assert path.name in said
    assert ("does not exist" if defect == "missing" else "Restore the file") in said
    if keyed:
        assert path.name in refused("CALL sys.compact(`table` => 'b')")


def _break(path: Path, defect: str) -> None:
    data = path.read_bytes()
    path.unlink()
    if defect == "directory":
        path.mkdir()
    elif defect != "missing":
        path.write_bytes(data[: len(data) * 2 // 3] if defect == "truncated" else bytes(len(data)))


def test_a_warehouse_that_cannot_be_made_is_told(
    tmp_path: Path, refused: Callable[[str], str], spark: SparkSession
) -> None:
    (tmp_path / "file").write_text("")
    made = f"CREATE CATALOG odd WITH ('type' = 'paimon', 'warehouse' = '{tmp_path}/file/warehouse')"
    assert "Check the warehouse's path" in refused(made)
    if os.geteuid():
        (tmp_path / "closed").mkdir(mode=0o500)
        made = f"CREATE CATALOG odd WITH ('type' = 'paimon', 'warehouse' = '{tmp_path}/closed/warehouse')"
        assert "permission denied" in refused(made)


def test_a_timestamp_in_flinks_spelling_is_taken_beside_properties(sql: Sql) -> None:
    sql("CREATE TABLE f (a INT, ts TIMESTAMP(3)) TBLPROPERTIES ('bucket' = '-1')")
    assert sql("DESCRIBE f")[1][:2] == ("ts", "timestamp_ntz")


def test_a_type_that_spark_refuses_is_told(refused: Callable[[str], str]) -> None:
    assert "precision 30" in refused("CREATE TABLE f (ts TIMESTAMP(30)) TBLPROPERTIES ('bucket' = '-1')")


_KEYED = "'primary-key' = 'k', 'bucket' = '1'"
_BROKEN = {
    "manifest": (
        f"{_KEYED}, 'write-only' = 'true'",
        "manifest/manifest-[0-9a-f]*",
        (
            "SELECT * FROM b",
            "INSERT INTO b VALUES (5, 'x')",
            "CALL sys.compact(`table` => 'b')",
            "SELECT * FROM b$files",
            "SELECT * FROM b$partitions",
        ),
    ),
    "index manifest": (
        f"{_KEYED}, 'deletion-vectors.enabled' = 'true'",
        "manifest/index-manifest-*",
        (
            "SELECT * FROM b",
            "INSERT INTO b VALUES (1, 'x')",
            "CALL sys.compact(`table` => 'b')",
            "CALL sys.expire_snapshots(`table` => 'b', retain_max => 1, retain_min => 1)",
            "SELECT * FROM b$table_indexes",
        ),
    ),
    "deletion vectors": (
        f"{_KEYED}, 'deletion-vectors.enabled' = 'true'",
        "index/index-*",
        ("SELECT * FROM b", "INSERT INTO b VALUES (1, 'x')"),
    ),
    "hash index": ("'primary-key' = 'k', 'bucket' = '-1'", "index/index-*", ("INSERT INTO b VALUES (5, 'x')",)),
    "changelog": (
        f"{_KEYED}, 'changelog-producer' = 'input'",
        "bucket-0/changelog-*",
        ("SELECT * FROM b /*+ OPTIONS('incremental-between' = '1,2') */",),
    ),
    "tag": (
        f"{_KEYED}, 'write-only' = 'true'",
        "tag/tag-*",
        (
            "SELECT * FROM b VERSION AS OF 'x'",
            "SELECT * FROM b$tags",
            "CALL sys.expire_snapshots(`table` => 'b', retain_max => 1, retain_min => 1)",
        ),
    ),
}
"""By kind of file: the options of a table that has some, where they stand, and the statements that meet them."""


@pytest.mark.parametrize("kind", _BROKEN)
@pytest.mark.parametrize("defect", ["missing", "truncated", "garbage"])
def test_a_broken_file_of_any_kind_is_named_by_whoever_meets_it(
    sql: Sql, folder: Path, refused: Callable[[str], str], kind: str, defect: str
) -> None:
    if (kind, defect) == ("hash index", "garbage"):
        pytest.skip("any numbers are hashes")
    options, pattern, statements = _BROKEN[kind]
    sql(f"CREATE TABLE b (k INT NOT NULL, v STRING) TBLPROPERTIES ({options})")
    sql("INSERT INTO b VALUES (1, 'a'), (2, 'a'), (3, 'a')")
    if "vectors" in options:
        sql("CALL sys.compact(`table` => 'b')")
    sql("INSERT INTO b VALUES (1, 'b')")
    if kind == "tag":
        sql("ALTER TABLE b CREATE TAG x")
    PROCESS.clear_caches()  # as a process that did not write the table
    paths = list((folder / "b").glob(pattern))
    assert paths
    if kind == "tag" and defect == "missing":
        statements = statements[:1]
    for path in paths:
        _break(path, defect)
    for statement in statements:
        said = refused(statement)
        if kind == "tag" and defect == "missing":
            assert "'x' does not exist" in said
            continue
        assert any(path.name in said for path in paths), (statement, said)
        assert ("does not exist" if defect == "missing" else "Restore the file") in said, (statement, said)


@pytest.mark.skipif(not os.geteuid(), reason="root may read everything")
def test_a_folder_that_cannot_be_read_is_named(sql: Sql, folder: Path, refused: Callable[[str], str]) -> None:
    sql("CREATE TABLE b (k INT)")
    sql("INSERT INTO b VALUES (1)")
    (folder / "b" / "manifest").chmod(0)
    try:
        said = refused("SELECT * FROM b")
    finally:
        (folder / "b" / "manifest").chmod(0o700)
    assert "permission denied" in said and "/b/manifest" in said
