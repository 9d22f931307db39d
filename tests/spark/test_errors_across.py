"""Errors of ours on their ways through Spark: from workers, through the JVM and back, always as themselves."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import CapturedException, IllegalArgumentException
from pyspark.sql import SparkSession

import paimon_sql
from paimon_sql.errors import (
    CommitConflictError,
    CommitUnknownError,
    CorruptFileError,
    MissingFileError,
    NoSuchDatabaseError,
    PaimonError,
)
from paimon_sql.spark.copy_into import load
from paimon_sql.spark.execution import executor
from paimon_sql.spark.execution.distribute import map_partitions
from paimon_sql.spark.execution.executor import FEW_BYTES, SparkExecutor, results
from paimon_sql.spark.jvm import errors
from paimon_sql.spark.jvm.gateway import CATALYST
from paimon_sql.spark.jvm.proxy import Proxy, raise_java, to_java
from paimon_sql.spark.session.bridge import Bridge
from paimon_sql.spark.write import proxies
from tests.spark.conftest import Sql

RAISED = (PySparkException, Py4JError)
UNKNOWN = CommitUnknownError(
    "The answer to the commit was lost.", commit_user="me", commit_identifier=17, remedy="Look for it."
)


@dataclass(frozen=True)
class Task:
    error: PaimonError
    size: int = FEW_BYTES


def fail(task: Task) -> None:
    raise task.error


def fail_over(batches: Any) -> list[Any]:
    for _ in batches:
        raise MissingFileError("It is gone.", path="data-2.parquet", remedy="Look for it.")
    return []


@pytest.fixture(autouse=True)
def travelling_module() -> Iterator[None]:
    """Workers cannot import this module: what they need of it travels with the task."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


@pytest.mark.parametrize(
    "error",
    [
        MissingFileError("It is gone.", path="data-1.parquet", remedy="Look for it."),
        CorruptFileError("no magic number", path="data-1.parquet"),
        CommitConflictError("A rival won."),
        UNKNOWN,
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_task_on_an_executor_raises_the_same_error_on_the_driver(spark: SparkSession, error: PaimonError) -> None:
    runner = SparkExecutor(Bridge.of(spark.sparkContext).jvm)
    with pytest.raises(type(error)) as caught:
        list(runner.map(fail, [Task(error), Task(error)]))
    assert type(caught.value) is type(error)
    assert vars(caught.value) == vars(error)
    assert str(caught.value) == str(error)
    assert caught.value.__cause__ is None and caught.value.__context__ is None


def test_a_worker_that_takes_rows_raises_the_same_error_on_the_driver(spark: SparkSession, sql: Sql) -> None:
    with pytest.raises(MissingFileError) as caught:
        list(results([pickle.loads(row.answer) for row in map_partitions(spark.range(4), fail_over).collect()]))
    assert (caught.value.path, caught.value.remedy) == ("data-2.parquet", "Look for it.")


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every INSERT and COPY INTO loses the answer to its commit."""

    def lose(*arguments: Any, **named: Any) -> None:
        raise UNKNOWN

    for module in (proxies, load):
        monkeypatch.setattr(module, "run_write", lose)


def test_a_statement_raises_one_short_message_and_ours_is_found_behind_it(lost: None, sql: Sql) -> None:
    sql("CREATE TABLE t (k INT)")
    with pytest.raises(IllegalArgumentException) as caught:
        sql("INSERT INTO t VALUES (1)")
    assert caught.value._desc == str(UNKNOWN)
    found = paimon_sql.paimon_error_of(caught.value)
    assert isinstance(found, CommitUnknownError)
    assert vars(found) == vars(UNKNOWN)


def test_code_of_ours_behind_a_statement_gets_ours_again(lost: None, sql: Sql, tmp_path: Path) -> None:
    sql("CREATE TABLE t (k INT)")
    (tmp_path / "a.csv").write_text("1\n")
    with pytest.raises(RAISED) as caught:
        sql(f"COPY INTO t FROM '{tmp_path}' FILE_FORMAT = (TYPE = CSV)")
    found = paimon_sql.paimon_error_of(caught.value)
    assert isinstance(found, CommitUnknownError)
    assert (found.commit_user, found.commit_identifier) == ("me", 17)
    assert "cannot be loaded" not in str(found)


class Refusing(Proxy):
    """Answers Java by an exception that Spark knows, in the place of one of ours."""

    def call(self) -> None:
        try:
            raise NoSuchDatabaseError("There is no database nosuch.", name="nosuch")
        except NoSuchDatabaseError:
            exception = f"{CATALYST}.analysis.NoSuchNamespaceException"
            raise_java(self.jvm.new(exception, self.jvm.strings(["nosuch"])))

    implements = ["java.util.concurrent.Callable"]


def test_an_error_that_becomes_an_exception_of_sparks_is_found_too(spark: SparkSession) -> None:
    jvm = Bridge.of(spark.sparkContext).jvm
    work = jvm.new("java.util.concurrent.FutureTask", Refusing(jvm))
    work.run()
    with pytest.raises(RAISED) as caught:
        work.get()
    found = paimon_sql.paimon_error_of(caught.value)
    assert isinstance(found, NoSuchDatabaseError)
    assert found.name == "nosuch"


def test_an_error_is_found_behind_exceptions_that_wrap_it(spark: SparkSession) -> None:
    jvm = Bridge.of(spark.sparkContext).jvm
    inner = to_java(jvm, UNKNOWN)
    outer = jvm.new("org.apache.spark.SparkException", "Job aborted", jvm.new("java.lang.RuntimeException", inner))
    with pytest.raises(RAISED) as caught:
        jvm.static("org.apache.spark.sql.errors.QueryExecutionErrors", "nosuch")
    assert paimon_sql.paimon_error_of(caught.value) is None

    class Captured(CapturedException):  # type: ignore[misc]
        pass

    found = paimon_sql.paimon_error_of(Captured(origin=outer))
    assert isinstance(found, CommitUnknownError) and found.commit_identifier == 17


def test_an_error_of_a_scan_on_workers_has_its_class_and_one_message(sql: Sql, broken: str) -> None:
    with pytest.raises(RAISED) as caught:
        sql(f"SELECT * FROM {broken}")
    found = paimon_sql.paimon_error_of(caught.value)
    assert type(found) is MissingFileError
    assert "\n" not in str(found) and "SQLSTATE" not in str(found) and "Traceback" not in str(caught.value)
    assert found.path is None


@pytest.fixture
def broken(sql: Sql) -> str:
    """A table that workers must merge, and whose first file is gone."""
    options = "'primary-key' = 'k', 'bucket' = '1', 'merge-engine' = 'partial-update', 'write-only' = 'true'"
    sql(f"CREATE TABLE t (k INT NOT NULL, v STRING) TBLPROPERTIES ({options})")
    sql("INSERT INTO t SELECT id, 'a' FROM range(10)")
    sql("INSERT INTO t SELECT id, 'b' FROM range(10)")
    ((path,), _) = sql("SELECT file_path FROM t$files ORDER BY creation_time")
    Path(str(path).removeprefix("file:")).unlink()
    return "t"


def test_a_stream_that_fails_ends_with_ours(
    spark: SparkSession, sql: Sql, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(*arguments: Any, **named: Any) -> None:
        raise UNKNOWN

    monkeypatch.setattr(proxies, "commit_write", lose)
    sql("CREATE TABLE t (id BIGINT)")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("1\n")
    rows = spark.readStream.schema("id BIGINT").csv(str(tmp_path / "in"))
    writer = rows.writeStream.trigger(availableNow=True).option("checkpointLocation", str(tmp_path / "checkpoint"))
    name = f"paimon.{sql('SELECT current_database()')[0][0]}.t"
    query = writer.toTable(name)
    with pytest.raises(PySparkException) as caught:
        query.awaitTermination()
    for raised in (caught.value, query.exception()):
        found = paimon_sql.paimon_error_of(raised)
        assert isinstance(found, CommitUnknownError) and found.commit_user == "me"


def test_what_is_no_error_of_ours_has_none_behind_it(spark: SparkSession, sql: Sql) -> None:
    for statement in ("SELECT nosuch", "SELEC 1", "SELECT assert_true(false)"):
        with pytest.raises(RAISED) as caught:
            sql(statement)
        assert paimon_sql.paimon_error_of(caught.value) is None
    assert paimon_sql.paimon_error_of(ValueError("x")) is None
    assert paimon_sql.paimon_error_of(UNKNOWN) is UNKNOWN


def test_errors_that_crossed_are_kept_only_for_a_while(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    jvm = Bridge.of(spark.sparkContext).jvm
    monkeypatch.setattr(errors._crossed(), "capacity", 4)
    for i in range(20):
        to_java(jvm, CommitConflictError(f"Rival {i} won."))
    assert len(errors._crossed()) == 4


def test_reading_with_arrow_tells_one_message(spark: SparkSession, sql: Sql, broken: str) -> None:
    taken: Callable[[], pa.Table] = spark.table(broken).toArrow
    with pytest.raises(RAISED) as caught:
        taken()
    assert type(paimon_sql.paimon_error_of(caught.value)) is MissingFileError


def test_a_copy_whose_tasks_run_on_executors_knows_that_a_file_went(
    sql: Sql, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "FEW_BYTES", -1)
    with pytest.raises(RAISED) as caught:
        sql(f"CALL sys.copy(source_table => '{broken}', target_table => 'copied')")
    found = paimon_sql.paimon_error_of(caught.value)
    assert type(found) is CommitConflictError
    assert "were deleted while they were copied" in str(found)
