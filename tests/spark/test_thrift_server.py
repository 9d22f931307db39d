"""The Thrift server, asked by Hive's JDBC driver and by PyHive: SQL, metadata, errors, cancelled queries."""

from __future__ import annotations

import gc
import logging
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyspark
import pytest
from py4j.protocol import Py4JJavaError
from pyhive import hive
from pyhive.exc import OperationalError
from pyspark.sql import SparkSession

import paimon_sql
from bench.soak import Soak
from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError, SetupError
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField, IntType, string_type
from paimon_sql.procedures import Procedure, procedures
from paimon_sql.procedures.base import Context
from paimon_sql.spark.jvm.compat import HAS_VIEWS
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.session.bridge import Bridge
from paimon_sql.spark.statement_log import LOG
from paimon_sql.spark.thrift.server import HOST, HTTP_PORT, PORT, TRANSPORT, ThriftServer
from paimon_sql.storage.execution.task_executor import running
from tests.waiting import wait_until

FINISHED = 2
"""The state of a statement of Hive's protocol from which on it has ended."""
ANY_PORT = {HOST: "127.0.0.1", PORT: "0"}
Row = tuple[Any, ...]
Ask = Callable[..., list[Row]]


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """The session that connections start from, over a warehouse of its own."""
    return paimon_sql.connect(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def bridge(session: SparkSession) -> Bridge:
    """What knows the sessions of the server."""
    return Bridge.of(session.sparkContext)


@pytest.fixture(scope="module")
def server(session: SparkSession) -> Iterator[ThriftServer]:
    """One server for all tests here, with tables that they only read."""
    session.sql(
        "CREATE TABLE orders (id INT NOT NULL COMMENT 'its number', day DATE NOT NULL, buyer STRING DEFAULT 'nobody',"
        " price DECIMAL(10, 2), tags ARRAY<STRING>, at TIMESTAMP) COMMENT 'what was sold' PARTITIONED BY (day)"
        " TBLPROPERTIES ('primary-key' = 'day,id', 'bucket' = '1')"
    )
    session.sql("INSERT INTO orders VALUES (1, DATE'2024-01-01', 'Åsa', 1.5, array('a'), NULL)")
    session.sql("CREATE DATABASE other")
    session.sql("CREATE TABLE other.log (line STRING)")
    if HAS_VIEWS:
        session.sql("CREATE VIEW buyers (name COMMENT 'who') COMMENT 'all of them' AS SELECT buyer FROM orders")
    running = ThriftServer(session, ANY_PORT)
    yield running
    running.stop()


@contextmanager
def jdbc(jvm: Jvm, url: str) -> Iterator[Any]:
    """A connection of Hive's JDBC driver, over the network like any."""
    jvm.java_class("org.apache.hive.jdbc.HiveDriver")
    with closing(jvm.cls("java.sql.DriverManager").getConnection(url, "me", "")) as connection:
        yield connection


@pytest.fixture
def connection(server: ThriftServer, bridge: Bridge) -> Iterator[Any]:
    """A JDBC connection of the test's own."""
    with jdbc(bridge.jvm, server.url) as made:
        yield made


@pytest.fixture
def metadata(connection: Any, bridge: Bridge) -> Ask:
    """Asks one of the calls of ``DatabaseMetaData`` and gives its rows."""

    def ask(call: str, *arguments: Any) -> list[Row]:
        given = [bridge.jvm.strings(a) if isinstance(a, list) else a for a in arguments]
        return rows_of(getattr(connection.getMetaData(), call)(*given))

    return ask


@pytest.fixture
def cursor(server: ThriftServer) -> Iterator[hive.Cursor]:
    """A cursor of PyHive's, which speaks another version of the protocol than JDBC."""
    with closing(hive.connect(server.host, server.port)) as made:
        yield made.cursor()


def catalog_of(session: SparkSession) -> Catalog:
    """The catalog of a session, without Spark."""
    return Bridge.of(session.sparkContext).session(session._jsparkSession).all()["paimon"]


def rows_of(results: Any) -> list[Row]:
    """All rows of a JDBC result."""
    columns = range(1, results.getMetaData().getColumnCount() + 1)
    found = []
    while results.next():
        found.append(tuple(results.getObject(i) for i in columns))
    return found


def run(cursor: hive.Cursor, text: str) -> list[Row]:
    """The rows of a statement."""
    cursor.execute(text)
    return [] if cursor.description is None else cursor.fetchall()


def query(connection: Any, text: str) -> list[Row]:
    """The rows of a query by JDBC."""
    return rows_of(connection.createStatement().executeQuery(text))


def test_a_connection_has_the_catalogs_and_our_dialect(connection: Any) -> None:
    assert query(connection, "SELECT current_catalog(), id, buyer FROM orders") == [("paimon", 1, "Åsa")]
    assert query(connection, "SELECT snapshot_id FROM orders$snapshots") == [(1,)]
    assert query(connection, "CALL sys.create_tag(`table` => 'orders', tag => 'first')") != []
    assert query(connection, "SELECT tag_name FROM orders$tags") == [("first",)]


@pytest.mark.smoke
def test_connections_write_and_read_each_others_tables_but_not_their_settings(
    cursor: hive.Cursor, server: ThriftServer
) -> None:
    with closing(hive.connect(server.host, server.port, database="other")) as second:
        other = second.cursor()
        run(other, "CREATE TABLE counts (k INT NOT NULL, v INT) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')")
        run(other, "INSERT INTO counts VALUES (1, 1), (2, 2)")
        run(other, "UPDATE counts SET v = 20 WHERE k = 2")
        run(other, "SET spark.sql.session.timeZone = Asia/Tokyo")
        run(other, "CREATE TEMPORARY VIEW mine AS SELECT 1")
        assert run(cursor, "SELECT * FROM other.counts ORDER BY k") == [(1, 1), (2, 20)]
        assert run(cursor, "SELECT current_timezone()") != run(other, "SELECT current_timezone()")
        with pytest.raises(OperationalError, match="mine"):
            run(cursor, "SELECT * FROM mine")
        run(other, "DROP TABLE counts")


def test_catalogs_are_listed(metadata: Ask) -> None:
    assert metadata("getCatalogs") == [("paimon",), ("spark_catalog",)]


def test_databases_are_listed_by_catalog_and_pattern(metadata: Ask) -> None:
    assert metadata("getSchemas", "paimon", None) == [("default", "paimon"), ("other", "paimon")]
    assert metadata("getSchemas", None, "def%") == [("default", "paimon"), ("default", "spark_catalog")]
    assert metadata("getSchemas", "paimon", "o_her") == [("other", "paimon")]
    assert metadata("getSchemas", "paimon", "sys") == [("sys", "paimon")]
    assert metadata("getSchemas", "nosuch", None) == []


@pytest.mark.smoke
def test_tables_are_listed_by_pattern(metadata: Ask) -> None:
    listed = metadata("getTables", None, "default", "ord%", None)
    assert [row[:5] for row in listed] == [("paimon", "default", "orders", "TABLE", "what was sold")]
    assert [row[2] for row in metadata("getTables", None, "%", "%", ["TABLE"])] == ["orders", "log"]
    assert metadata("getTables", None, "nosuch", "%", None) == []
    assert metadata("getTables", None, "default", "orders", ["VIEW"]) == []


@pytest.mark.smoke
@pytest.mark.skipif(not HAS_VIEWS, reason="Spark asks catalogs for views since 4.2")
def test_views_are_listed_with_their_columns(metadata: Ask) -> None:
    (listed,) = metadata("getTables", None, "default", "buy%", ["TABLE", "VIEW", "SYSTEM VIEW"])
    assert listed[:5] == ("paimon", "default", "buyers", "VIEW", "all of them")
    ((*_, remarks),) = (row[3:12] for row in metadata("getColumns", None, "default", "buyers", "%"))
    assert remarks == "who"


def test_temporary_views_and_sparks_own_tables_are_listed_too(connection: Any, metadata: Ask) -> None:
    statement = connection.createStatement()
    statement.execute("CREATE TEMPORARY VIEW passing AS SELECT 1 AS one")
    statement.execute("CREATE TABLE spark_catalog.default.plain (i INT) USING parquet")
    try:
        listed = metadata("getTables", None, "%", "p%", None)
        assert [row[:4] for row in listed] == [
            ("spark_catalog", "default", "plain", "TABLE"), (None, None, "passing", "VIEW"),
        ]  # fmt: skip
        assert [row[:4] for row in metadata("getColumns", None, None, "p%", "%")] == [
            (None, None, "passing", "one"), ("spark_catalog", "default", "plain", "i"),
        ]  # fmt: skip
        assert metadata("getColumns", "paimon", None, "p%", "%") == []
    finally:
        statement.execute("DROP TABLE spark_catalog.default.plain")


def test_a_spark_catalog_with_paimons_tables_is_listed_whole(connection: Any, metadata: Ask, tmp_path: Path) -> None:
    statement = connection.createStatement()
    statement.execute(f"CREATE CATALOG spark_catalog WITH ('type' = 'paimon', 'warehouse' = '{tmp_path}')")
    statement.execute(f"CREATE DATABASE spark_catalog.both LOCATION '{tmp_path}/both.db'")
    try:
        statement.execute("CREATE TABLE spark_catalog.both.plain (i INT) USING parquet")
        statement.execute("CREATE TABLE spark_catalog.both.paimons (i INT) USING paimon")
        assert query(connection, "SELECT count(*) FROM spark_catalog.both.paimons") == [(0,)]
        assert metadata("getSchemas", "spark_catalog", "both") == [("both", "spark_catalog")]
        listed = metadata("getTables", None, "both", "%", None)
        assert [row[:4] for row in listed] == [
            ("spark_catalog", "both", "paimons", "TABLE"), ("spark_catalog", "both", "plain", "TABLE"),
        ]  # fmt: skip
        columns = metadata("getColumns", None, "both", "%", "%")
        assert [row[2:4] for row in columns] == [("paimons", "i"), ("plain", "i")]
    finally:
        statement.execute("DROP DATABASE spark_catalog.both CASCADE")


def test_system_tables_are_listed_by_name_or_type_only(metadata: Ask) -> None:
    assert [row[2] for row in metadata("getTables", None, "other", "%", None)] == ["log"]
    assert [row[2:4] for row in metadata("getTables", None, "other", "log$sn%", None)] == [
        ("log$snapshots", "SYSTEM TABLE")
    ]
    by_type = [row[2] for row in metadata("getTables", None, "other", "%", ["SYSTEM TABLE"])]
    assert {"log$files", "log$audit_log", "log$ro"} <= set(by_type) and "log" not in by_type
    assert "procedures" in [row[2] for row in metadata("getTables", None, "sys", "%", None)]
    columns = metadata("getColumns", None, "other", "log$snapshots", "snapshot%")
    assert [row[3] for row in columns] == ["snapshot_id"]
    assert metadata("getTableTypes") == [("SYSTEM TABLE",), ("TABLE",), ("VIEW",)]


@pytest.mark.smoke
def test_columns_are_described(metadata: Ask) -> None:
    described = metadata("getColumns", None, "default", "orders", "%")
    # name, code of the type, its name, size, digits; whether nullable, comment, default, position
    assert [(row[3], row[4], row[5], row[6], row[8], row[10], row[11], row[12], row[16]) for row in described] == [
        ("id", 4, "INT", 10, 0, 0, "its number", None, 1),
        ("day", 91, "DATE", 10, None, 0, "", None, 2),
        ("buyer", 12, "STRING", 2147483647, None, 1, "", "'nobody'", 3),
        ("price", 3, "DECIMAL(10,2)", 10, 2, 1, "", None, 4),
        ("tags", 2003, "ARRAY<STRING>", None, None, 1, "", None, 5),
        ("at", 93, "TIMESTAMP", 26, 6, 1, "", None, 6),
    ]
    assert [row[3] for row in metadata("getColumns", "paimon", "%", "%", "li_e")] == ["line"]


def test_keys_are_told(metadata: Ask) -> None:
    assert metadata("getPrimaryKeys", None, "default", "orders") == [
        ("paimon", "default", "orders", "day", 1, None), ("paimon", "default", "orders", "id", 2, None),
    ]  # fmt: skip
    assert metadata("getPrimaryKeys", "paimon", "other", "log") == []
    assert metadata("getPrimaryKeys", "paimon", "other", "nosuch") == []
    assert metadata("getImportedKeys", None, "default", "orders") == []


def test_types_and_functions_are_told(metadata: Ask) -> None:
    assert ("INT", 4) in [row[:2] for row in metadata("getTypeInfo")]
    assert [row[2] for row in metadata("getFunctions", None, "%", "abs")] == ["abs"]


@pytest.mark.parametrize("name", ["it's", "a`b", "per%cent_", "c.d", "größe", "x[1]{2}(|", 'q"q', "back\\slash", "--"])
def test_any_name_is_found_by_itself_alone(session: SparkSession, metadata: Ask, name: str) -> None:
    catalog = catalog_of(session)
    if "\\" in name:
        with pytest.raises(InvalidInputError):
            catalog.create_database(name, {})
        assert metadata("getSchemas", None, name) == []
        return
    schema = TableSchema(0, (DataField(0, name, IntType(False)),), 0, primary_keys=(name,), options={"bucket": "1"})
    catalog.create_database(name, {})
    try:
        catalog.create_any_table(Identifier(name, name), schema)
        pattern = name.replace("%", "\\%").replace("_", "\\_")
        assert metadata("getSchemas", None, pattern) == [(name, "paimon")]
        assert [row[:4] for row in metadata("getTables", None, pattern, pattern, None)] == [
            ("paimon", name, name, "TABLE")
        ]
        assert [row[:4] for row in metadata("getColumns", "paimon", pattern, pattern, pattern)] == [
            ("paimon", name, name, name)
        ]
        assert metadata("getPrimaryKeys", None, name, name) == [("paimon", name, name, name, 1, None)]
    finally:
        catalog.drop_database(name, True)


def test_a_table_that_cannot_be_read_hides_no_other(session: SparkSession, metadata: Ask) -> None:
    session.sql("CREATE TABLE other.broken (k INT)")
    try:
        folder = session.sql("DESCRIBE DATABASE other").where("info_name = 'Location'").collect()[0][1]
        (Path(folder.removeprefix("file:")) / "broken" / "schema" / "schema-0").write_text("{")
        assert [row[2] for row in metadata("getTables", None, "other", "%", None)] == ["broken", "log"]
        assert [row[2] for row in metadata("getColumns", None, "other", "%", "%")] == ["log"]
    finally:
        catalog_of(session).drop_table(Identifier("other", "broken"))


def test_hundreds_of_tables_are_listed_at_once(session: SparkSession, connection: Any, metadata: Ask) -> None:
    catalog = catalog_of(session)
    catalog.create_database("many", {})
    fields = tuple(DataField(i, f"c{i}", string_type(), "what it is") for i in range(10))
    for number in range(300):
        catalog.create_any_table(Identifier("many", f"t{number:03}"), TableSchema(0, fields, 9, comment="one of many"))
    try:
        times = []
        for _ in range(3):
            began = time.perf_counter()
            connection.getMetaData().getTables(None, "many", "%", None).close()
            times.append(time.perf_counter() - began)
        listed = metadata("getTables", None, "many", "t%", None)
        assert [row[2] for row in listed] == [f"t{n:03}" for n in range(300)]
        assert len(metadata("getColumns", None, "many", "%", "c7")) == 300
        assert min(times) < 3  # on a machine that other tests use, too
    finally:
        catalog.drop_database("many", True)


@pytest.mark.smoke
def test_a_failing_statement_is_one_message_and_leaves_the_others_alone(
    connection: Any, cursor: hive.Cursor, server: ThriftServer
) -> None:
    for wrong, said in (
        ("SELECT nosuch FROM orders", "UNRESOLVED_COLUMN"),
        ("CALL sys.nosuch()", "nosuch"),
        ("CALL sys.rollback(`table` => 'orders', version => '99')", "99"),
        ("SELECT * FROM orders$nosuch", "nosuch"),
    ):
        with pytest.raises(OperationalError, match=said):
            run(cursor, wrong)
        assert query(connection, "SELECT count(*) FROM orders") == [(1,)]
    assert run(cursor, "SELECT count(*) FROM orders") == [(1,)]


WRONG = "SELECT nosuch FROM orders"


@pytest.mark.smoke
def test_an_error_has_no_stack_trace_for_any_client(connection: Any, cursor: hive.Cursor) -> None:
    # JDBC runs statements in the background and asks for their state, PyHive waits for them.
    with pytest.raises(Py4JJavaError) as raised:
        query(connection, WRONG)
    said = raised.value.java_exception
    assert str(said.getMessage()).startswith("[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function")
    assert str(said.getMessage()).endswith("line 1 pos 7") and said.getSQLState() == "42703"
    for is_async in (False, True):
        with pytest.raises(OperationalError) as failed:
            cursor.execute(WRONG, async_=is_async)
            while cursor.poll().operationState < FINISHED:
                pass
            raise OperationalError(cursor.poll())
        assert "[UNRESOLVED_COLUMN" in str(failed.value)
        assert ".scala" not in str(failed.value) and "Project" not in str(failed.value)


def test_an_error_of_a_task_is_said_as_it_was_raised(cursor: hive.Cursor) -> None:
    for wrong, said in (
        ("SELECT raise_error('no luck') FROM orders", "no luck"),
        ("SELECT 1 / (id - 1) FROM orders", r"\[DIVIDE_BY_ZERO\]"),
        ("SELEC 1", r"\[PARSE_SYNTAX_ERROR\]"),
        ("SHOW TABLES IN nosuch", r"\[SCHEMA_NOT_FOUND\]"),
        ("INSERT INTO orders VALUES (NULL, DATE'2024-01-01', 'a', 1, NULL, NULL)", "id"),
    ):
        with pytest.raises(OperationalError, match=said) as failed:
            run(cursor, wrong)
        assert "at org.apache" not in str(failed.value)


def test_beeline_prints_the_message_alone(server: ThriftServer) -> None:
    jars = Path(pyspark.__file__).with_name("jars") / "*"
    command = ["java", "-cp", str(jars), "org.apache.hive.beeline.BeeLine", "-u", server.url, "-n", "me", "-e", WRONG]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in done.stderr.splitlines() if line.startswith(("Error", "\tat", "Caused"))]
    assert len(lines) == 1 and lines[0].startswith("Error: [UNRESOLVED_COLUMN") and "state=42703" in lines[0]


def test_each_statement_is_logged_with_its_end(
    server: ThriftServer, bridge: Bridge, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, LOG.name)
    with closing(hive.connect(server.host, server.port, username="ada")) as made:
        cursor = made.cursor()
        run(cursor, "SELECT id FROM orders UNION ALL SELECT 2")
        run(cursor, "SET c.secret=hunter")
        with pytest.raises(OperationalError):
            run(cursor, WRONG)
        cursor.execute(ENDLESS, async_=True)
        cursor.cancel()
    wait_until(lambda: len(caplog.records) == 5)
    first, *found = (record.__dict__["fields"] for record in caplog.records)
    assert first["sql"] == "USE `default`"  # by PyHive itself
    assert [(f["state"], f.get("rows")) for f in found] == [
        ("finished", 2), ("finished", 1), ("failed", None), ("canceled", None),
    ]  # fmt: skip
    assert {f["user"] for f in found} == {"ada"} and {f["client"] for f in found} == {"127.0.0.1"}
    assert len({f["session"] for f in found}) == 1 and len({f["statement"] for f in found}) == 4
    assert "hunter" not in caplog.text and found[2]["error"].startswith("[UNRESOLVED_COLUMN")


def test_a_closing_connection_logs_no_error_of_its_own(
    server: ThriftServer, bridge: Bridge, capfd: pytest.CaptureFixture[str]
) -> None:
    with jdbc(bridge.jvm, server.url) as connection:
        assert query(connection, "SELECT count(*) FROM orders") == [(1,)]
    with closing(hive.connect(server.host, server.port)) as made:
        run(made.cursor(), "SELECT 1")
    time.sleep(0.5)
    assert capfd.readouterr().err == ""


ENDLESS = "SELECT count(*) FROM orders CROSS JOIN range(0, 1000000000000, 1, 1) AS r WHERE r.id + orders.id < 0"


@pytest.mark.parametrize(
    "endless",
    [
        ENDLESS,
        "INSERT INTO endless SELECT id FROM range(0, 1000000000000, 1, 1)",
    ],
    ids=["read", "write"],
)
def test_a_cancelled_statement_ends_and_leaves_the_others_alone(
    session: SparkSession, connection: Any, cursor: hive.Cursor, bridge: Bridge, endless: str
) -> None:
    # One task: the other statements need a core of the two that tests have.
    session.sql(
        "CREATE TABLE IF NOT EXISTS endless (k BIGINT NOT NULL) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')"
    )
    statement = connection.createStatement()
    ended: list[str] = []

    def work() -> None:
        try:
            statement.execute(endless)
        except Py4JJavaError as error:
            ended.append(str(error.java_exception.getMessage()))

    thread = threading.Thread(target=work)
    thread.start()
    tracker = session.sparkContext.statusTracker()
    wait_until(lambda: bool(tracker.getActiveJobsIds()))
    assert run(cursor, "SELECT count(*) FROM orders") == [(1,)]
    statement.cancel()
    thread.join(60)
    assert not thread.is_alive() and len(ended) == 1
    wait_until(lambda: not tracker.getActiveJobsIds())
    assert run(cursor, "SELECT count(*) FROM endless$snapshots") == [(0,)]
    assert query(connection, "SELECT count(*) FROM orders") == [(1,)]
    session.sql("DROP TABLE endless")


def test_a_cancelled_call_ends_between_two_tasks_on_the_driver(
    session: SparkSession, connection: Any, cursor: hive.Cursor, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[int] = []

    def slowly(n: int) -> None:
        done.append(n)
        time.sleep(0.01)

    def endless(procedure: Procedure, context: Context, _: object) -> list[object]:
        return list(context.executor.map(slowly, range(100_000)))

    monkeypatch.setattr(type(procedures()["clear_consumers"]), "call", endless)
    statement = connection.createStatement()

    def work() -> None:
        with pytest.raises(Py4JJavaError):
            statement.execute("CALL sys.clear_consumers('orders')")

    ended = threading.Thread(target=work)
    ended.start()
    wait_until(lambda: len(done) > 10)
    assert [work.what for work in running()] == ["CALL sys.clear_consumers orders"]
    assert run(cursor, "SELECT count(*) FROM orders") == [(1,)]
    statement.cancel()
    ended.join(60)
    wait_until(lambda: not running())
    assert len(done) < 10_000 and query(connection, "SELECT count(*) FROM orders") == [(1,)]


@pytest.mark.smoke
def test_connections_that_are_closed_leave_nothing_behind(server: ThriftServer, bridge: Bridge) -> None:
    def connect_once() -> None:
        with jdbc(bridge.jvm, server.url) as connection:
            assert query(connection, "SELECT count(*) FROM orders") == [(1,)]
            rows_of(connection.getMetaData().getColumns(None, "default", "%", "%"))

    def proxies() -> int:
        gc.collect()
        bridge.jvm.cls("java.lang.System").gc()
        return len(bridge.jvm.gateway.gateway_property.pool)

    def be_refused() -> None:
        url = server.url.replace("/default", "/nowhere")
        with pytest.raises(Py4JJavaError, match="nowhere"), jdbc(bridge.jvm, url):
            pass

    connect_once()
    sessions, before = len(bridge._sessions), proxies()
    for _ in range(5):
        connect_once()
        be_refused()
    assert len(bridge._sessions) == sessions
    # A session has a dozen Python objects in the JVM; they go with it, once the JVM has found that nobody uses them.
    wait_until(lambda: proxies() <= before + 12)


@pytest.mark.smoke
def test_a_bi_tool_explores(cursor: hive.Cursor) -> None:
    assert [row[0] for row in run(cursor, "SHOW SCHEMAS")] == ["default", "other"]
    assert [row[1] for row in run(cursor, "SHOW TABLES IN `other`")] == ["log"]
    assert ("id", "int", "its number") in [row[:3] for row in run(cursor, "DESCRIBE default.orders")]
    assert run(cursor, "SHOW CREATE TABLE orders")[0][0].startswith("CREATE TABLE")
    asked = (
        "SELECT date_trunc('month', `day`) AS `day`, `buyer` AS `buyer`, sum(`price`) AS `SUM(price)`"
        " FROM `default`.`orders` WHERE `day` >= '2024-01-01' AND `buyer` LIKE '%s'"
        " GROUP BY date_trunc('month', `day`), `buyer` ORDER BY `SUM(price)` DESC LIMIT 1000"
    )
    cursor.execute(asked % "%sa")
    assert [column[0].split(".")[-1] for column in cursor.description] == ["day", "buyer", "SUM(price)"]
    assert [row[1] for row in cursor.fetchall()] == ["Åsa"]
    cursor.execute("SELECT count(*) FROM orders WHERE buyer = %(who)s", {"who": "x' OR '1'='1"})
    assert cursor.fetchall() == [(0,)]


def test_other_transports_and_options_are_hives_own(session: SparkSession, bridge: Bridge) -> None:
    server = ThriftServer(session, {HOST: "127.0.0.1", HTTP_PORT: "0", TRANSPORT: "http"})
    try:
        with jdbc(bridge.jvm, server.url) as connection:
            assert query(connection, "SELECT count(*) FROM orders") == [(1,)]
    finally:
        server.stop()
    with pytest.raises(InvalidInputError, match=r"'port' is not an option of the Thrift server"):
        ThriftServer(session, {"port": "0"})


def test_a_port_that_is_taken_is_said(server: ThriftServer, session: SparkSession) -> None:
    with pytest.raises(SetupError, match="did not start"):
        ThriftServer(session, {HOST: "127.0.0.1", PORT: str(server.port)})


def test_many_connections_read_write_compact_and_expire_at_once(server: ThriftServer, session: SparkSession) -> None:
    outcome = Soak(session, server, seconds=4, workers=5, rounds=1).run()
    assert outcome.wrong == []
    assert outcome.done["upsert"] + outcome.done["read"] > 0
    assert outcome.before is not None and outcome.after is not None
    assert outcome.after.sessions == outcome.before.sessions
