"""``paimon-sql thriftserver`` with a real Spark: it says where it listens, serves, and ends cleanly."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import time
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest
from pyhive import hive
from pyhive.exc import OperationalError
from rich.console import Console
from typer.testing import CliRunner

from paimon_sql.errors import SetupError
from paimon_sql.shell.app import app
from paimon_sql.shell.engine.report import Report
from paimon_sql.shell.subcommands import servers
from paimon_sql.shell.subcommands.servers import thrift_server, with_metrics
from tests.command import COMMAND
from tests.span_collector import collecting
from tests.web import free_port

SERVER = [*COMMAND, "thriftserver"]
ARGUMENTS = [
    "--port",
    "0",
    "--master",
    "local[2]",
    "-c",
    "spark.ui.enabled=false",
    "-c",
    "hive.server2.authentication=NOSASL",
]


def test_the_server_says_where_it_listens_logs_statements_and_ends_by_a_signal(tmp_path: Path) -> None:
    with subprocess.Popen([*SERVER, *ARGUMENTS, "-w", str(tmp_path)], stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        said = next(line for line in server.stderr if line.startswith("Listening"))
        found = re.search(r"jdbc:hive2://127\.0\.0\.1:(\d+)/default", said)
        assert found is not None
        with closing(hive.connect("127.0.0.1", int(found[1]), username="me", auth="NOSASL")) as connection:
            cursor = connection.cursor()
            cursor.execute("CREATE TABLE t AS SELECT 1 AS x")
            cursor.execute("SELECT x FROM t")
            assert cursor.fetchall() == [(1,)]
            with pytest.raises(OperationalError):
                cursor.execute("SELECT nosuch FROM t")
        server.send_signal(signal.SIGTERM)
        rest = server.stderr.read()
    assert server.returncode == 0
    first, *lines, last = rest.splitlines()
    assert (first, last) == ("Ctrl-C stops the server.", "The server has stopped.")
    found_lines = [dict(re.findall(r"(\w+)=(\"[^\"]*\"|\S+)", line)) for line in lines]
    assert [(f["logger"], f["level"], f.get("state") or f.get("kind")) for f in found_lines] == [
        ("paimon_sql.statements", "info", "finished"),
        ("paimon_sql.commits", "info", "APPEND"),
        ("paimon_sql.statements", "info", "finished"),
        ("paimon_sql.statements", "info", "finished"),
        ("paimon_sql.statements", "warning", "failed"),
    ]
    use, _, _, query, failed = found_lines
    assert use["sql"] == '"USE `default`"'  # by PyHive itself
    assert (query["user"], query["rows"], query["sql"]) == ("me", "1", '"SELECT x FROM t"')
    assert query["session"] == failed["session"] and "UNRESOLVED_COLUMN" in failed["error"]
    assert (tmp_path / "default.db" / "t").is_dir()


def test_all_lines_of_a_server_are_json_if_asked(tmp_path: Path) -> None:
    arguments = [*ARGUMENTS, "-w", str(tmp_path), "--log-format", "json"]
    with subprocess.Popen([*SERVER, *arguments], stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        first = json.loads(server.stderr.readline())
        port = re.findall(r"127\.0\.0\.1:(\d+)", first["message"])
        connection = hive.connect("127.0.0.1", int(port[0]), auth="NOSASL")
        connection.cursor().execute("SELECT 1")
        server.send_signal(signal.SIGTERM)
        rest = [json.loads(line) for line in server.stderr.read().splitlines()]
    connection._transport.close()  # it was open when the server stopped, which logs nothing
    assert first["logger"] == "paimon_sql.server" and first["level"] == "info"
    assert [line["message"] for line in rest if "message" in line] == ["The server has stopped."]
    assert [line["rows"] for line in rest if line["logger"] == "paimon_sql.statements"] == [0, 1]


def test_spans_of_statements_and_of_what_they_do_are_sent_to_a_collector(tmp_path: Path) -> None:
    arguments = [*SERVER, *ARGUMENTS, "-w", str(tmp_path), "--traces"]
    with collecting() as collector:
        environment = os.environ | collector.environment
        with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, env=environment) as server:
            assert server.stderr is not None
            said = next(line for line in server.stderr if line.startswith("Listening"))
            port = re.findall(r"127\.0\.0\.1:(\d+)", said)[0]
            with closing(hive.connect("127.0.0.1", int(port), auth="NOSASL")) as connection:
                cursor = connection.cursor()
                cursor.execute("CREATE TABLE t AS SELECT 1 AS x", async_=True)
                while cursor.poll().operationState < 2:
                    time.sleep(0.1)
                cursor.execute("SELECT sum(x) FROM t WHERE x > 0")
                with pytest.raises(OperationalError):
                    cursor.execute("SELECT nosuch FROM t")
            server.send_signal(signal.SIGTERM)
            server.stderr.read()
    found = collector.edges()
    assert ("commit paimon.default.t", "CREATE") in found and ("scan paimon.default.t", "SELECT") in found
    assert ("CREATE", None) in found
    assert [span.status.code for span in collector.spans if span.name == "SELECT"] == [0, 2]


def test_the_address_is_told_as_the_transport_needs_it() -> None:
    _, options = thrift_server("h", 1, {"hive.server2.thrift.port": "2"}, http=False)
    assert options == {
        "hive.server2.thrift.bind.host": "h",
        "hive.server2.thrift.port": "2",
        "hive.server2.transport.mode": "binary",
    }
    _, options = thrift_server("h", 1, {}, http=True)
    assert options["hive.server2.thrift.http.port"] == "1"


def test_wrong_arguments_are_refused() -> None:
    assert CliRunner().invoke(app, ["thriftserver", "-p", "99999"]).exit_code == 2
    assert CliRunner().invoke(app, ["thriftserver", "-c", "hive.server2"]).exit_code == 2
    assert CliRunner().invoke(app, ["thriftserver", "--log-level", "loud"]).exit_code == 2
    assert CliRunner().invoke(app, ["thriftserver", "--log-format", "xml"]).exit_code == 2


def test_metrics_are_served_while_the_server_runs() -> None:
    port, out, asked = free_port(), io.StringIO(), list[int]()

    def work() -> None:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            asked.append(answer.status)
        with pytest.raises(SetupError, match=f"Metrics cannot be served at 127.0.0.1:{port}"):
            with_metrics(lambda: None, "127.0.0.1", port, report)

    report = Report(Console(file=out, width=200))
    with_metrics(work, "127.0.0.1", port, report)
    assert asked == [200] and f"Metrics are at http://127.0.0.1:{port}/metrics" in out.getvalue()


def test_a_library_that_is_missing_for_metrics_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "is_installed", lambda name: False)
    with pytest.raises(SetupError, match="prometheus-client is not installed"):
        with_metrics(lambda: None, "127.0.0.1", 1, Report(Console(file=io.StringIO())))
