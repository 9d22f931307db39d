"""Commits whose answer is lost, through Spark's own protocol of commit and abort: no file of a snapshot is deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from paimon_sql.errors import PaimonError
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.commit.snapshot.snapshot_commit import Created, RenamingSnapshotCommit

Sql = Callable[[str], list[tuple[Any, ...]]]

KEYED = "CREATE TABLE t (k INT, p STRING, PRIMARY KEY (k, p) NOT ENFORCED) PARTITIONED BY (p) WITH ('bucket' = '1')"
VECTORS = KEYED.replace("'bucket'", "'deletion-vectors.enabled' = 'true', 'bucket'")
PLAIN = "CREATE TABLE t (k INT, p STRING) PARTITIONED BY (p)"
MARKED = PLAIN + " WITH ('deletion-vectors.enabled' = 'true', 'row-tracking.enabled' = 'true')"
FILLED = "INSERT INTO t VALUES (1, 'a'), (2, 'a'), (3, 'b')"
BEFORE = {(1, "a"), (2, "a"), (3, "b")}

Case = tuple[str, str, set[tuple[int, str]]]
CASES: dict[str, Case] = {
    "insert": (PLAIN, "INSERT INTO t VALUES (9, 'a')", BEFORE | {(9, "a")}),
    "upsert": (KEYED, "INSERT INTO t VALUES (9, 'a')", BEFORE | {(9, "a")}),
    "static overwrite": (PLAIN, "INSERT OVERWRITE t VALUES (9, 'a')", {(9, "a")}),
    "overwrite of a partition": (PLAIN, "INSERT OVERWRITE t PARTITION (p = 'a') VALUES (9)", {(9, "a"), (3, "b")}),
    "dynamic overwrite": (PLAIN, "INSERT OVERWRITE t VALUES (9, 'a')", {(9, "a"), (3, "b")}),
    "dynamic overwrite of a keyed table": (KEYED, "INSERT OVERWRITE t VALUES (9, 'a')", {(9, "a"), (3, "b")}),
    "delete": (PLAIN, "DELETE FROM t WHERE k = 1", BEFORE - {(1, "a")}),
    "delete by vectors": (MARKED, "DELETE FROM t WHERE k = 1", BEFORE - {(1, "a")}),
    "delete by key": (VECTORS, "DELETE FROM t WHERE k = 1", BEFORE - {(1, "a")}),
    "update": (PLAIN, "UPDATE t SET k = 9 WHERE k = 1", BEFORE - {(1, "a")} | {(9, "a")}),
    "update by vectors": (MARKED, "UPDATE t SET k = 9 WHERE k = 1", BEFORE - {(1, "a")} | {(9, "a")}),
    "merge": (
        KEYED,
        "MERGE INTO t USING (SELECT 9 k, 'a' p) s ON t.k = s.k WHEN NOT MATCHED THEN INSERT *",
        BEFORE | {(9, "a")},
    ),
    "replace as select": (PLAIN, "REPLACE TABLE t PARTITIONED BY (p) AS SELECT 9 k, 'a' p", {(9, "a")}),
    "drop of a partition": (PLAIN, "ALTER TABLE t DROP PARTITION (p = 'a')", {(3, "b")}),
    "truncate": (PLAIN, "TRUNCATE TABLE t", set()),
    "compact": (KEYED, "CALL sys.compact(table => 't', compact_strategy => 'full')", BEFORE),
}


@contextmanager
def answer(*, created: bool, known: bool) -> Iterator[list[int]]:
    """The next answer about the creation of a snapshot is lost.

    Args:
        created: whether the snapshot's file was created all the same.
        known: whether the store can be asked afterwards; it is over the error otherwise.
    """
    original, lost = RenamingSnapshotCommit._created, list[int]()

    def losing(self: RenamingSnapshotCommit, snapshot: Snapshot, *, locked: bool) -> Created:
        if lost:
            return original(self, snapshot, locked=locked)
        lost.append(snapshot.id)
        if created:
            assert original(self, snapshot, locked=locked) is Created.YES
        if not known:
            raise self._unknown(snapshot) from TimeoutError("no answer")
        if created:
            return Created.YES
        raise PaimonError("The store refused.")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RenamingSnapshotCommit, "_created", losing)
        yield lost


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, sql: Sql, spark: SparkSession) -> Iterator[Case]:
    """A statement over a filled table, and what the table holds behind it."""
    table, statement, after = CASES[request.param]
    sql(table)
    sql(FILLED)
    if request.param.startswith("dynamic"):
        spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    yield table, statement, after
    spark.conf.unset("spark.sql.sources.partitionOverwriteMode")


def held(sql: Sql) -> set[tuple[Any, ...]]:
    """All rows, each of which is read once and looked at in full."""
    found = sql("SELECT k, p FROM t WHERE k < 1000 AND p <> ''")
    assert len(found) == len(set(found)) == sql("SELECT count(*) FROM t")[0][0]
    return set(found)


@pytest.mark.parametrize("created", [True, False])
def test_an_unknown_outcome_keeps_every_file_and_is_told(sql: Sql, case: Case, created: bool) -> None:
    table, statement, after = case
    with answer(created=created, known=False) as lost, pytest.raises(PySparkException, match="could not be found out"):
        sql(statement)
    assert lost
    if table == VECTORS:
        sql("CALL sys.compact(table => 't')")  # rows of level 0 show once they are compacted
    assert held(sql) == (after if created else BEFORE)
    sql("INSERT INTO t VALUES (100, 'c')")
    assert held(sql) == (after if created else BEFORE) | {(100, "c")}


def test_a_refused_commit_leaves_the_table_and_no_file(sql: Sql, case: Case, spark: SparkSession) -> None:
    _, statement, after = case
    database = spark.catalog.currentDatabase()
    warehouse = Path(spark.conf.get("spark.sql.catalog.paimon.warehouse").removeprefix("file:"))
    folder = warehouse / f"{database}.db" / "t"
    stood = {path for path in folder.rglob("*") if path.is_file()}
    with answer(created=False, known=True) as lost, pytest.raises(PySparkException, match="The store refused"):
        sql(statement)
    assert lost
    assert held(sql) == BEFORE
    left = {path for path in folder.rglob("*") if path.is_file()} - stood
    assert not [path for path in left if "schema" not in path.parts[-2]]
    sql(statement)
    assert held(sql) == after


def test_an_answer_that_is_lost_and_found_is_no_error(sql: Sql, case: Case) -> None:
    _, statement, after = case
    with answer(created=True, known=True) as lost:
        sql(statement)
    assert lost and held(sql) == after


@pytest.mark.parametrize("created", [True, False])
def test_a_table_made_with_its_rows_is_kept_unless_it_certainly_has_none(sql: Sql, created: bool) -> None:
    with answer(created=created, known=False), pytest.raises(PySparkException, match="could not be found out"):
        sql("CREATE TABLE t AS SELECT 9 k, 'a' p")
    assert held(sql) == ({(9, "a")} if created else set())


def test_a_table_whose_rows_are_refused_is_not_made(sql: Sql) -> None:
    with answer(created=False, known=True), pytest.raises(PySparkException, match="The store refused"):
        sql("CREATE TABLE t AS SELECT 9 k, 'a' p")
    assert sql("SHOW TABLES") == []


@pytest.mark.parametrize("created", [True, False])
@pytest.mark.parametrize("made", [PLAIN, KEYED])
def test_a_stream_whose_answer_was_lost_delivers_each_row_once(
    sql: Sql, spark: SparkSession, tmp_path: Path, created: bool, made: str
) -> None:
    sql(made)

    def play(first: int, end: int) -> None:
        rows = spark.range(first, end).selectExpr("CAST(id AS INT) k", "'a' p")
        rows.coalesce(1).write.mode("append").parquet(str(tmp_path / "in"))
        run()

    def run() -> None:
        stream = spark.readStream.schema("k INT, p STRING").parquet(str(tmp_path / "in"))
        writer = stream.writeStream.option("checkpointLocation", str(tmp_path / "cp"))
        writer.trigger(availableNow=True).toTable("t").awaitTermination()

    play(0, 5)
    with answer(created=created, known=False), pytest.raises(PySparkException, match="could not be found out"):
        play(5, 10)
    assert held(sql) == {(k, "a") for k in range(10 if created else 5)}
    run()
    assert held(sql) == {(k, "a") for k in range(10)}
    play(10, 15)
    assert held(sql) == {(k, "a") for k in range(15)}


@pytest.mark.parametrize("created", [True, False])
def test_files_whose_load_has_an_unknown_outcome_are_loaded_once(sql: Sql, tmp_path: Path, created: bool) -> None:
    sql(PLAIN)
    (tmp_path / "a.csv").write_text("1,a\n2,b\n")
    copy = f"COPY INTO t FROM '{tmp_path}' FILE_FORMAT = (TYPE = CSV)"
    with answer(created=created, known=False), pytest.raises(PySparkException, match="could not be found out"):
        sql(copy)
    sql(copy)
    assert held(sql) == {(1, "a"), (2, "b")}
