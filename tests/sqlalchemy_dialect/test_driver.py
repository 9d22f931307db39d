"""Connections: their URLs, errors, their end, and what they import."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import cast

import pytest
import sqlalchemy as sa
from pyspark.sql import SparkSession

from paimon_sql.spark.thrift.server import ThriftServer
from paimon_sql.sqlalchemy.driver import Connection, OperationalError
from tests.sqlalchemy_dialect.conftest import ENDLESS, Connect
from tests.waiting import wait_until


def failure(engine: sa.Engine, text: str) -> sa.exc.DBAPIError:
    """The error of a statement."""
    with engine.connect() as connection, pytest.raises(sa.exc.DBAPIError) as raised:
        connection.exec_driver_sql(text)
    return raised.value


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("SELECT nosuch", sa.exc.ProgrammingError, "[UNRESOLVED_COLUMN"),
        ("SELECT * FROM nosuch", sa.exc.ProgrammingError, "[TABLE_OR_VIEW_NOT_FOUND]"),
        ("SELEC 1", sa.exc.ProgrammingError, "[PARSE_SYNTAX_ERROR]"),
        ("SELECT 1 / 0", sa.exc.DataError, "[DIVIDE_BY_ZERO]"),
        ("SELECT CAST('x' AS INT)", sa.exc.DataError, "[CAST_INVALID_INPUT]"),
        ("CALL sys.compact(`table` => 'nosuch')", sa.exc.DBAPIError, "nosuch"),
    ],
)
def test_an_error_is_its_message_without_javas_stack(
    connect: Connect, text: str, kind: type[Exception], said: str
) -> None:
    error = failure(connect("/default"), text)
    message = str(error.orig)
    assert isinstance(error, kind)
    assert said in message
    assert "\tat " not in message and "HiveSQLException" not in message and "TExecuteStatement" not in message


def test_a_row_that_violates_a_constraint_is_refused_as_such(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE t (k INT NOT NULL, PRIMARY KEY (k) NOT ENFORCED)")
    assert "NULL" in str(failure(engine, "INSERT INTO t VALUES (NULL)").orig).upper()


def test_a_value_that_python_has_not_is_an_error(connect: Connect) -> None:
    with connect("/default").connect() as connection, pytest.raises(sa.exc.DataError, match="Python has no date"):
        connection.exec_driver_sql("SELECT DATE'+12024-01-01'").all()


def test_a_parameter_of_an_unknown_type_is_refused(connect: Connect) -> None:
    with connect("/default").connect() as connection, pytest.raises(Exception, match="type dict cannot be a parameter"):
        connection.execute(sa.text("SELECT :x"), {"x": {}})


def test_parameters_that_do_not_fit_are_refused(connect: Connect) -> None:
    with connect("/default").connect() as connection, pytest.raises(sa.exc.ProgrammingError, match="do not fit"):
        connection.exec_driver_sql("SELECT 'a%' = %(x)s", {"x": 1})


def test_a_server_that_is_not_there_is_named(connect: Connect) -> None:
    engine = sa.create_engine("paimon://me@127.0.0.1:1/default")
    with pytest.raises(sa.exc.OperationalError, match=r"127\.0\.0\.1:1"):
        engine.connect()
    with pytest.raises(sa.exc.DBAPIError, match="nosuch"):
        connect("/nosuch").connect()


def test_unknown_parameters_of_a_url_are_refused() -> None:
    with pytest.raises(sa.exc.ArgumentError, match="user is not a parameter of a URL of paimon"):
        sa.create_engine("paimon://localhost/default?user=me").connect()


def test_settings_of_spark_stand_in_the_url(connect: Connect) -> None:
    with connect("/default?spark.sql.shuffle.partitions=7").connect() as connection:
        rows = connection.exec_driver_sql("SET spark.sql.shuffle.partitions").all()
    assert rows == [("spark.sql.shuffle.partitions", "7")]


def test_settings_and_views_last_as_long_as_the_connection(connect: Connect) -> None:
    engine = connect("/default")
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE TEMPORARY VIEW mine AS SELECT 1 AS one")
        connection.exec_driver_sql("SET spark.sql.session.timeZone = Asia/Tokyo")
        assert connection.exec_driver_sql("SELECT one, current_timezone() FROM mine").one() == (1, "Asia/Tokyo")
        assert connection.get_isolation_level() == "AUTOCOMMIT"
        connection.rollback()


def test_a_lost_connection_is_replaced(connect: Connect) -> None:
    engine = connect("/default")
    with engine.connect() as connection:
        connection.connection.dbapi_connection.terminate()  # type: ignore[union-attr]
        with pytest.raises(sa.exc.OperationalError, match="The connection is lost") as raised:
            connection.exec_driver_sql("SELECT 1")
        assert raised.value.connection_invalidated
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT 1").scalar() == 1


def test_an_interrupt_cancels_the_statement_on_the_server(connect: Connect, session: SparkSession) -> None:
    tracker = session.sparkContext.statusTracker()
    engine = connect("/default")

    def interrupt() -> None:
        wait_until(lambda: bool(tracker.getActiveJobsIds()))
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    with engine.connect() as connection:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            connection.exec_driver_sql(ENDLESS)
    thread.join()
    wait_until(lambda: not tracker.getActiveJobsIds())
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT 1").scalar() == 1


def test_a_statement_is_cancelled_by_another_connection(connect: Connect, session: SparkSession) -> None:
    tracker = session.sparkContext.statusTracker()
    running, other = (cast(Connection, connect("/default").raw_connection().dbapi_connection) for _ in range(2))
    cursor = running.cursor()
    cursor.start(ENDLESS)
    wait_until(lambda: bool(tracker.getActiveJobsIds()))
    other.cursor().cancel_statement(cursor.statement_id)
    with pytest.raises(OperationalError, match="The statement was cancelled"):
        cursor.wait()
    wait_until(lambda: not tracker.getActiveJobsIds())
    cursor.execute("SELECT 1")
    ended = cursor.statement_id
    assert cursor.fetchall() == [(1,)]
    cursor.close()
    with pytest.raises(OperationalError, match="OperationHandle"):
        other.cursor().cancel_statement(ended)


def test_statements_run_in_threads_at_once(connect: Connect) -> None:
    engine = connect("/default")
    found: list[object] = []

    def ask(number: int) -> None:
        with engine.connect() as connection:
            found.append(connection.execute(sa.select(sa.literal(number))).scalar())

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, found)) == ["0", "1", "2", "3", "4"]


def test_a_client_needs_neither_pyspark_nor_pyarrow(server: ThriftServer) -> None:
    program = f"""
import sys
from sqlalchemy import create_engine, inspect
from sqlalchemy.dialects import registry
registry.register("paimon", "paimon_sql.sqlalchemy.dialect", "PaimonDialect")
engine = create_engine("paimon://me@{server.host}:{server.port}/default")
with engine.connect() as connection:
    assert connection.exec_driver_sql("SELECT 1").scalar() == 1
    inspect(connection).get_table_names()
engine.dispose()
heavy = ["pyspark", "pyarrow", "pandas", "numpy", "sqlglot"]
print([name for name in heavy if name in sys.modules])
"""
    ended = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True)
    assert (ended.stdout.strip(), ended.stderr) == ("[]", "")
