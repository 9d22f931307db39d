"""The Spark Connect server, asked by a plain PySpark client in an environment of its own, without Java."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import paimon_sql
from paimon_sql.errors import InvalidInputError, SetupError
from paimon_sql.spark.connect.server import HOST, PORT, TOKEN, ConnectServer
from paimon_sql.spark.session.bridge import Bridge
from tests.command import COMMAND
from tests.environments import environment
from tests.spark.connect_client import Client, ClientError, client, without_java
from tests.waiting import wait_until

Run = Callable[[str], Any]


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """The session that clients' sessions start from, over a warehouse of its own."""
    return paimon_sql.connect(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def server(session: SparkSession) -> Iterator[ConnectServer]:
    """One server for all tests here."""
    running = ConnectServer(session, {PORT: "0"})
    yield running
    running.stop()


@pytest.fixture(scope="module")
def plain(server: ConnectServer) -> Iterator[Client]:
    """A client with nothing but PySpark's own library, whose session is ``spark``."""
    python = environment("pyspark-client")
    with client(python, without_java()) as started:
        started.run(
            f"""
            from pyspark.sql import SparkSession
            spark = SparkSession.builder.remote({server.url!r}).create()
            rows = lambda text: [tuple(row) for row in spark.sql(text).collect()]
            spark.version
            """
        )
        yield started


@pytest.fixture
def ask(plain: Client, request: pytest.FixtureRequest) -> Iterator[Run]:
    """Runs code in the client, in a database of the test's own."""
    database = f"d{abs(hash(request.node.name)) % 10**8}"
    plain.run(f"rows('CREATE DATABASE {database}'), rows('USE paimon.{database}')")
    yield plain.run
    plain.run(f"rows('USE paimon.default'), rows('DROP DATABASE {database} CASCADE')")


def test_statements_of_every_spelling_are_answered(ask: Run) -> None:
    ask("rows(\"CREATE TABLE t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1')\")")
    ask("rows(\"INSERT INTO t VALUES (1, 'a'), (2, 'b')\")")
    ask("rows(\"INSERT INTO t VALUES (2, 'c')\")")
    assert ask("rows('SELECT * FROM t ORDER BY k')") == [[1, "a"], [2, "c"]]
    assert ask("rows('SELECT * FROM t VERSION AS OF 1 ORDER BY k')") == [[1, "a"], [2, "b"]]
    assert ask("rows(\"SELECT v FROM t /*+ OPTIONS('scan.snapshot-id' = '1') */ WHERE k = 2\")") == [["b"]]
    assert ask("rows('SELECT snapshot_id, commit_kind FROM `t$snapshots`')") == [[1, "APPEND"], [2, "APPEND"]]
    assert ask("rows(\"CALL sys.create_tag(table => 't', tag => 'one', snapshot => 1)\")")
    assert ask("rows(\"SELECT count(*) FROM t VERSION AS OF 'one'\")") == [[2]]
    ask('rows("MERGE INTO t USING (SELECT 1 AS k) s ON t.k = s.k WHEN MATCHED THEN DELETE")')
    ask("rows(\"UPDATE t SET v = 'd' WHERE k = 2\")")
    assert ask("rows('SELECT * FROM t')") == [[2, "d"]]


def test_frames_are_read_and_written(ask: Run, session: SparkSession, tmp_path: Path) -> None:
    ask(
        """
        from pyspark.sql import functions as F
        spark.range(10).withColumn("half", F.col("id") / 2).write.saveAsTable("numbers")
        spark.range(10, 12).withColumn("half", F.lit(0.5)).writeTo("numbers").append()
        None
        """
    )
    assert ask("spark.table('numbers').where('id > 8').orderBy('id').toPandas().values.tolist()") == [
        [9, 4.5],
        [10, 0.5],
        [11, 0.5],
    ]
    assert ask("spark.read.option('scan.snapshot-id', 1).table('numbers').count()") == 10
    path = str(tmp_path / "by_path")
    ask(f"spark.table('numbers').write.format('paimon').save({path!r})")
    assert ask(f"spark.read.format('paimon').load({path!r}).count()") == 12
    assert ask("spark.catalog.tableExists('numbers'), [t.name for t in spark.catalog.listTables()]") == [
        True,
        ["numbers"],
    ]


def test_a_frame_shows_what_a_plain_session_shows_after_a_write(ask: Run) -> None:
    ask("rows('CREATE TABLE t (a INT)'), rows('INSERT INTO t VALUES (1)')")
    assert ask("frame = spark.table('t')\nframe.count()") == 1
    assert ask("rows('INSERT INTO t VALUES (2)'), frame.count()")[1] == 2


def test_functions_of_the_client_run_on_the_server(ask: Run) -> None:
    version = ask("import sys\nlist(sys.version_info[:2])")
    if version != list(sys.version_info[:2]):
        pytest.skip("the client has another Python")
    ask("rows('CREATE TABLE t (a INT)'), rows('INSERT INTO t VALUES (1), (2)')")
    code = """
    from pyspark.sql.functions import udf
    doubled = udf(lambda a: a * 2, "int")
    [row[0] for row in spark.table("t").select(doubled("a")).orderBy("a").collect()]
    """
    assert ask(code) == [2, 4]


def test_streams_run_from_a_table_into_another(ask: Run, tmp_path: Path) -> None:
    ask("rows('CREATE TABLE source (a INT)'), rows('CREATE TABLE sink (a INT)')")
    ask("rows('INSERT INTO source VALUES (1), (2)')")
    stream = f"""
    query = (spark.readStream.table("source").writeStream.option("checkpointLocation", {str(tmp_path)!r})
             .trigger(availableNow=True).toTable("sink"))
    query.awaitTermination(60)
    """
    assert ask(stream) is True
    ask("rows('INSERT INTO source VALUES (3)')")
    assert ask(stream) is True
    assert ask("rows('SELECT * FROM sink ORDER BY a')") == [[1], [2], [3]]


def test_sessions_are_apart_from_each_other(ask: Run, server: ConnectServer) -> None:
    ask(f"other = SparkSession.builder.remote({server.url!r}).create()\nNone")
    ask("rows('CREATE TEMPORARY VIEW mine AS SELECT 1 AS x'), rows('SET spark.paimon.scan.snapshot-id = 1')")
    assert ask("other.catalog.currentDatabase(), other.catalog.currentCatalog()") == ["default", "paimon"]
    assert ask("other.catalog.tableExists('mine')") is False
    assert ask("other.conf.get('spark.paimon.scan.snapshot-id', 'none')") == "none"
    ask("rows('RESET spark.paimon.scan.snapshot-id'), rows('DROP VIEW mine'), other.stop()")


def test_catalogs_of_a_session_are_its_own(ask: Run, server: ConnectServer, tmp_path: Path) -> None:
    ask(f"rows(\"CREATE CATALOG more WITH ('type' = 'paimon', 'warehouse' = '{tmp_path}')\")")
    ask("rows('CREATE TABLE more.`default`.t AS SELECT 1 AS x')")
    assert ask("rows('SELECT * FROM more.`default`.t')") == [[1]]
    ask(f"other = SparkSession.builder.remote({server.url!r}).create()\nNone")
    assert ask("'more' in [row[0] for row in other.sql('SHOW CATALOGS').collect()]") is False
    ask("rows('DROP CATALOG more'), other.stop()")


def test_errors_have_their_class_and_message(ask: Run) -> None:
    with pytest.raises(ClientError, match="TABLE_OR_VIEW_NOT_FOUND") as unknown:
        ask("rows('SELECT * FROM missing')")
    assert unknown.value.kind == "AnalysisException"
    with pytest.raises(ClientError, match="PARSE_SYNTAX_ERROR") as wrong:
        ask("rows('SELEKT 1')")
    assert wrong.value.kind == "ParseException"
    with pytest.raises(ClientError, match="There is no option 'bukket'") as option:
        ask("rows(\"CREATE TABLE t (a INT) WITH ('bukket' = '1')\")")
    assert "\n" not in option.value.message and option.value.kind == "IllegalArgumentException"
    ask("rows('CREATE TABLE t (a INT)')")
    with pytest.raises(ClientError, match="snapshot 7 does not exist") as snapshot:
        ask("rows(\"CALL sys.rollback(table => 't', version => '7')\")")
    assert "Traceback" not in snapshot.value.message


def test_a_cancelled_statement_has_no_effect(ask: Run) -> None:
    ask("rows('CREATE TABLE t (a BIGINT)')")
    code = """
    import threading, time
    found = []
    def insert():
        try:
            rows("INSERT INTO t SELECT id + sleep FROM (SELECT id, 0 AS sleep FROM range(0, 4000000000, 1, 4))")
        except Exception as error:
            found.append(str(error))
    statement = threading.Thread(target=insert)
    statement.start()
    until = time.monotonic() + 60
    stopped = []
    while statement.is_alive() and time.monotonic() < until:
        stopped += spark.interruptAll()
        statement.join(0.5)
    [len(stopped) > 0, "OPERATION_CANCELED" in "".join(found)]
    """
    assert ask(code) == [True, True]
    assert ask("rows('SELECT count(*) FROM t')") == [[0]]
    assert ask("rows('SELECT count(*) FROM `t$snapshots`')") == [[0]]


def test_progress_arrives(ask: Run) -> None:
    code = """
    seen = []
    def heard(stages, inflight_tasks, operation_id, done):
        seen.append((sum(stage.num_tasks for stage in stages or ()), done))
    spark.registerProgressHandler(heard)
    rows("CREATE TABLE t AS SELECT id, sha2(CAST(id AS STRING), 512) AS h FROM range(3000000)")
    spark.clearProgressHandlers()
    [max(total for total, _ in seen) > 0, seen[-1][1]]
    """
    assert ask(code) == [True, True]


def test_statements_are_logged(ask: Run, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "paimon_sql.statements")
    ask("rows('CREATE TABLE t AS SELECT 1 AS a')")
    ask("spark.table('t').collect(), None")
    with pytest.raises(ClientError):
        ask("rows(\"SET spark.x.password = 'open sesame'; SELECT\")")
    wait_until(lambda: any(record.levelname == "WARNING" for record in caplog.records), 20)
    logged = [getattr(record, "fields", {}) for record in caplog.records if record.name == "paimon_sql.statements"]
    made = next(fields for fields in logged if str(fields["sql"]).startswith("CREATE TABLE t"))
    assert (made["server"], made["state"], made["sql"]) == ("connect", "finished", "CREATE TABLE t AS SELECT 1 AS a")
    assert any(fields["state"] == "failed" and fields["error"] for fields in logged)
    assert "sesame" not in str(logged)


def test_a_session_that_ends_leaves_nothing_behind(ask: Run, server: ConnectServer, session: SparkSession) -> None:
    sessions = Bridge.of(session.sparkContext)._sessions
    before = len(sessions)
    ask(f"other = SparkSession.builder.remote({server.url!r}).create()\nother.sql('SHOW TABLES').collect()")
    assert len(sessions) == before + 1
    ask("other.stop()")
    wait_until(lambda: len(sessions) <= before, 20)
    assert len(sessions) == before


def test_the_servers_options_are_checked(session: SparkSession, server: ConnectServer) -> None:
    with pytest.raises(InvalidInputError, match=r"'grpc\.port' is not an option of the Connect server"):
        ConnectServer(session, {"grpc.port": "1"})
    with pytest.raises(SetupError, match="has a Connect server"):
        ConnectServer(session, {HOST: "127.0.0.1", PORT: "0", TOKEN: "secret"})
    assert server.url == f"sc://127.0.0.1:{server.port}"


@pytest.fixture(scope="module")
def ours() -> Iterator[Client]:
    """A client with this project, and with all of PySpark, but without Java."""
    with client(Path(sys.executable), without_java()) as started:
        started.run("import paimon_sql\nNone")
        yield started


def test_connect_gives_a_session_of_a_server(ours: Client, server: ConnectServer) -> None:
    code = f"""
    spark = paimon_sql.connect(remote={server.url!r}, **{{"spark.sql.session.timeZone": "Asia/Tokyo"}})
    [spark.catalog.currentCatalog(), spark.conf.get("spark.sql.session.timeZone"), spark.sql("SELECT 1").first()[0]]
    """
    assert ours.run(code) == ["paimon", "Asia/Tokyo", 1]
    assert ours.run("spark.stop()") is None


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        ("connect(remote='sc://127.0.0.1:1')", "SetupError", r"server at sc://127\.0\.0\.1:1 cannot be used"),
        ("connect(remote='http://x')", "InvalidInputError", "'http://x' is not the URL of a Spark Connect server"),
        ("connect('lake', remote='sc://x')", "InvalidInputError", "has the server's warehouse"),
        (
            "connect(remote='sc://x', **{'spark.sql.catalog.a': 'paimon_sql'})",
            "InvalidInputError",
            "catalogs of a session are those of its server",
        ),
    ],
)
def test_what_cannot_be_connected_is_one_error(ours: Client, call: str, kind: str, message: str) -> None:
    with pytest.raises(ClientError, match=message) as refused:
        ours.run(f"paimon_sql.{call}")
    assert refused.value.kind == kind


def test_the_shell_runs_on_a_server_without_java(server: ConnectServer) -> None:
    command = [*COMMAND, "--remote", server.url]
    statements = (
        "CREATE TABLE shelled (a INT, v STRING); INSERT INTO shelled VALUES (1, 'å'), (2, NULL);"
        " SELECT * FROM shelled ORDER BY a; SELECT count(*) AS n FROM shelled$snapshots; SELECT missing FROM shelled"
    )
    done = subprocess.run(
        [*command, "--format", "csv", "-e", statements], env=without_java(), capture_output=True, text=True, timeout=120
    )
    assert done.stdout.splitlines() == ["a,v", "1,å", "2,", "n", "1"]
    assert "missing" in done.stderr and "Traceback" not in done.stderr
    assert done.returncode == 1
