"""Superset itself, over its REST API: databases, SQL Lab, datasets and charts on the tables of a Thrift server.

It needs older versions of libraries than this project, so it is installed into an environment of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from paimon_sql.spark.jvm.compat import HAS_VIEWS
from paimon_sql.spark.thrift.server import ThriftServer
from tests.environments import environment
from tests.sqlalchemy_dialect.conftest import ENDLESS
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.version_info >= (3, 13), reason="Superset 6.1 is for Python up to 3.12")

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("superset_program.py")


class Superset:
    """A running Superset."""

    def __init__(self, folder: Path) -> None:
        # The entry points of the package, by which Superset finds the dialect and its specification.
        metadata = [sys.executable, "-c", "import setuptools; setuptools.setup()", "-q", "egg_info", "-e", str(folder)]
        subprocess.run(metadata, cwd=ROOT, check=True, capture_output=True)
        self._said = folder / "stderr.txt"
        with self._said.open("w") as stderr:
            self._process = subprocess.Popen(
                [str(environment("superset")), "-W", "ignore", str(PROGRAM)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"},
                text=True,
            )
        self._sent = 0
        self._answers: dict[int, tuple[int, Any]] = {}

    def send(self, method: str, path: str, body: object = None) -> int:
        """Send a request; return its number."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"method": method, "path": path, "body": body}) + "\n")
        self._process.stdin.flush()
        self._sent += 1
        return self._sent - 1

    def answer(self, number: int) -> tuple[int, Any]:
        """The status and the body of the answer to a request."""
        assert self._process.stdout is not None
        while number not in self._answers:
            line = self._process.stdout.readline()
            assert line, self._said.read_text()[-5000:]
            answered, status, found = json.loads(line)
            self._answers[answered] = status, found
        return self._answers.pop(number)

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """The status and the body of an answer."""
        return self.answer(self.send(method, path, body))

    def get(self, path: str) -> Any:
        """The answer to a question, which must succeed."""
        status, found = self.ask("get", path)
        assert status == 200, found
        return found

    def post(self, path: str, body: object) -> Any:
        """The answer to a command, which must succeed."""
        status, found = self.ask("post", path, body)
        assert status in (200, 201), found
        return found

    def close(self) -> None:
        """End it, whatever it still does."""
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="module")
def superset(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Superset]:
    """Superset with an empty database of its own."""
    started = Superset(tmp_path_factory.mktemp("superset"))
    yield started
    started.close()


@pytest.fixture(scope="module")
def lake(superset: Superset, server: ThriftServer, session: SparkSession) -> int:
    """The number of the database that a user adds in Superset; a table and a view are there."""
    session.sql(
        "CREATE TABLE sales (id BIGINT NOT NULL, day DATE COMMENT 'of the sale', shop STRING, amount DECIMAL(10, 2),"
        " at TIMESTAMP) COMMENT 'all sales' TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')"
    )
    session.sql(
        "INSERT INTO sales VALUES (1, DATE'2024-05-01', 'Paris', 10.5, TIMESTAMP'2024-05-01 10:00:00'),"
        " (2, DATE'2024-05-02', 'Oslo', 20, NULL), (3, DATE'2024-06-01', 'Oslo', 1, NULL)"
    )
    if HAS_VIEWS:
        session.sql("CREATE VIEW shops AS SELECT DISTINCT shop FROM sales")
    database = {"database_name": "lake", "sqlalchemy_uri": f"paimon://me@{server.host}:{server.port}/default"}
    assert superset.post("database/test_connection/", database) == {"message": "OK"}
    return int(superset.post("database/", {**database, "expose_in_sqllab": True, "allow_dml": True})["id"])


@pytest.fixture
def sales(superset: Superset, lake: int) -> int:
    """The number of the dataset of the table."""
    found = superset.get("dataset/")["result"]
    if not found:
        found = [superset.post("dataset/", {"database": lake, "schema": "default", "table_name": "sales"})]
    return int(found[0]["id"])


def run(superset: Superset, lake: int, sql: str, schema: str = "default") -> Any:
    """The rows of a statement in SQL Lab."""
    return superset.post("sqllab/execute/", {"database_id": lake, "sql": sql, "schema": schema})["data"]


def chart(superset: Superset, dataset: int, **query: object) -> Any:
    """The rows of a chart."""
    total = {"expressionType": "SIMPLE", "column": {"column_name": "amount"}, "aggregate": "SUM", "label": "total"}
    asked = {"metrics": [total], "row_limit": 100, **query}
    body = {"datasource": {"id": dataset, "type": "table"}, "queries": [asked], "result_format": "json"}
    (result,) = superset.post("chart/data", body)["result"]
    return result["data"]


def test_databases_tables_and_views_are_listed(superset: Superset, lake: int) -> None:
    assert "default" in superset.get(f"database/{lake}/schemas/")["result"]
    found = superset.get(f"database/{lake}/tables/?q=(schema_name:default)")["result"]
    views = [("shops", "view")] if HAS_VIEWS else []
    assert [(each["value"], each["type"]) for each in found] == [("sales", "table"), *views]


def test_a_table_is_shown_with_its_columns_and_comments(superset: Superset, lake: int) -> None:
    found = superset.get(f"database/{lake}/table_metadata/?name=sales&schema=default")
    assert found["comment"] == "all sales"
    assert [(each["name"], each["longType"], each["comment"]) for each in found["columns"]] == [
        ("id", "BIGINT", None),
        ("day", "DATE", "of the sale"),
        ("shop", "VARCHAR", None),
        ("amount", "DECIMAL(10, 2)", None),
        ("at", "TIMESTAMP", None),
    ]
    preview = run(superset, lake, found["selectStar"])
    assert sorted(each["id"] for each in preview) == [1, 2, 3]


def test_sql_lab_runs_our_statements(superset: Superset, lake: int) -> None:
    run(superset, lake, "CREATE DATABASE lab")
    options = (
        "'primary-key' = 'id', 'bucket' = '1', 'merge-engine' = 'aggregation', 'fields.n.aggregate-function' = 'sum'"
    )
    run(superset, lake, f"CREATE TABLE `of ours` (id INT NOT NULL, n INT) TBLPROPERTIES ({options})", "lab")
    for _ in range(2):
        run(superset, lake, "INSERT INTO `of ours` VALUES (1, 2), (2, 3)", "lab")
    assert run(superset, lake, "SELECT * FROM `of ours` ORDER BY id", "lab") == [{"id": 1, "n": 4}, {"id": 2, "n": 6}]
    (compacted,) = run(superset, lake, "CALL sys.compact(`table` => 'lab.of ours')", "lab")
    assert compacted["result"]
    found = run(superset, lake, "SELECT snapshot_id, commit_kind FROM `of ours$snapshots` ORDER BY snapshot_id", "lab")
    assert [each["commit_kind"] for each in found] == ["APPEND", "APPEND", "COMPACT"]
    before = run(superset, lake, "SELECT n FROM `of ours` VERSION AS OF 1 WHERE id = 1", "lab")
    assert before == [{"n": 2}]
    table = "`of ours` /*+ OPTIONS('scan.snapshot-id' = '1') */"
    for query in (
        f"SELECT s.n FROM {table} AS s WHERE s.id = 1",
        f"WITH found AS (SELECT id, n FROM {table} LIMIT 9) SELECT n FROM found WHERE id = 1",
        f"SELECT (SELECT max(n) FROM {table} WHERE id = 1) AS n",
        f"SELECT a.n FROM {table} a JOIN {table} b ON a.id = b.id AND a.n = b.n WHERE a.id = 1",
    ):
        assert run(superset, lake, query, "lab") == [{"n": 2}], query
    assert run(superset, lake, """SELECT parse_json('{"a": {"b": 5}}'):a.b::INT AS b""") == [{"b": 5}]
    run(superset, lake, "UPDATE sales SET shop = 'Rome' WHERE id = 1")
    assert run(superset, lake, "SELECT shop FROM sales WHERE id = 1") == [{"shop": "Rome"}]
    run(superset, lake, "UPDATE sales SET shop = 'Paris' WHERE id = 1")


def test_an_error_is_one_message(superset: Superset, lake: int) -> None:
    body = {"database_id": lake, "sql": "SELECT nosuch FROM sales", "schema": "default"}
    status, found = superset.ask("post", "sqllab/execute/", body)
    assert status >= 400
    (error,) = found["errors"]
    assert error["message"].startswith("paimon error: [UNRESOLVED_COLUMN.WITH_SUGGESTION]")
    assert error["extra"]["engine_name"] == "Apache Paimon"
    assert "\tat " not in error["message"]


def test_a_statement_is_stopped_on_the_server(superset: Superset, lake: int, session: SparkSession) -> None:
    tracker = session.sparkContext.statusTracker()
    body = {"database_id": lake, "sql": ENDLESS, "schema": "default", "client_id": "endless"}
    running = superset.send("post", "sqllab/execute/", body)
    wait_until(lambda: bool(tracker.getActiveJobsIds()))
    # Superset refuses until it has written down by what the statement is stopped.
    wait_until(lambda: superset.ask("post", "query/stop", {"client_id": "endless"}) == (200, {"result": "OK"}), 20)
    wait_until(lambda: not tracker.getActiveJobsIds())
    _, found = superset.answer(running)
    # Superset looks whether it has been stopped when the error comes, and may note that only then.
    assert found.get("status") == "stopped" or "The statement was cancelled." in found["errors"][0]["message"]


def test_a_chart_groups_and_filters(superset: Superset, sales: int) -> None:
    above = {"col": "amount", "op": ">", "val": 2}
    found = chart(superset, sales, columns=["shop"], filters=[above], orderby=[["shop", True]])
    assert found == [{"shop": "Oslo", "total": 20.0}, {"shop": "Paris", "total": 10.5}]


@pytest.mark.parametrize(("grain", "totals"), [("P1M", [30.5, 1.0]), ("P1D", [10.5, 20.0, 1.0]), ("P1Y", [31.5])])
def test_a_chart_has_an_axis_of_time(superset: Superset, sales: int, grain: str, totals: list[float]) -> None:
    axis = {
        "timeGrain": grain,
        "columnType": "BASE_AXIS",
        "sqlExpression": "day",
        "label": "day",
        "expressionType": "SQL",
    }
    found = chart(superset, sales, columns=[axis], orderby=[["day", True]])
    assert [each["total"] for each in found] == totals


@pytest.mark.parametrize(("column", "total"), [("day", 30.5), ("at", 10.5)])
def test_a_chart_is_bounded_in_time(superset: Superset, sales: int, column: str, total: float) -> None:
    bounds = {"col": column, "op": "TEMPORAL_RANGE", "val": "2024-05-01 : 2024-06-01"}
    assert chart(superset, sales, columns=[], filters=[bounds]) == [{"total": total}]
