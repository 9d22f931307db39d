"""``paimon-sql connect-server`` with a real Spark: it says where it listens, asks for the token, and ends cleanly."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from paimon_sql.shell.app import app
from paimon_sql.shell.subcommands.servers import connect_server
from tests.command import COMMAND
from tests.span_collector import collecting
from tests.spark.connect_client import ClientError, client, without_java

SERVER = [*COMMAND, "connect-server"]
ARGUMENTS = ["--port", "0", "--master", "local[2]", "-c", "spark.ui.enabled=false", "--token", "open sesame"]


def test_the_server_says_where_it_listens_sends_spans_and_ends_by_a_signal(tmp_path: Path) -> None:
    command = [*SERVER, *ARGUMENTS, "-w", str(tmp_path), "--traces"]
    with (
        collecting() as collector,
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | collector.environment) as server,
    ):
        assert server.stderr is not None
        said = next(line for line in server.stderr if line.startswith("Listening"))
        found = re.search(r"sc://localhost:\d+", said)
        assert found is not None and "sesame" not in said
        with client(Path(sys.executable), without_java()) as asking:
            with pytest.raises(ClientError, match="cannot be used") as refused:
                asking.run(f"import paimon_sql\npaimon_sql.connect(remote='{found[0]}')")
            assert refused.value.kind == "SetupError"
            with pytest.raises(ClientError, match="cannot be used"):
                asking.run(f"paimon_sql.connect(remote='{found[0]}/;token=wrong')")
            code = f"""
            spark = paimon_sql.connect(remote="{found[0]}/;token=open sesame")
            spark.sql("CREATE TABLE t AS SELECT 1 AS x")
            [row[0] for row in spark.sql("SELECT x FROM t").collect()]
            """
            assert asking.run(code) == [1]
        server.send_signal(signal.SIGTERM)
        rest = server.stderr.read()
    assert server.returncode == 0
    first, *lines, last = rest.splitlines()
    assert (first, last) == ("Ctrl-C stops the server.", "The server has stopped.")
    assert all("logger=paimon_sql.commits" in line or "logger=paimon_sql.statements" in line for line in lines)
    assert "CREATE TABLE t AS SELECT 1 AS x" in rest and "sesame" not in rest
    assert (tmp_path / "default.db" / "t").is_dir()
    edges = collector.edges()
    assert {("CREATE", None), ("SELECT", None)} <= edges
    assert {("commit paimon.default.t", "CREATE"), ("scan paimon.default.t", "SELECT")} <= edges


def test_settings_win_over_the_address() -> None:
    _, options = connect_server("h", 1, {"spark.connect.grpc.binding.port": "2"}, token="secret")
    assert options == {
        "spark.connect.grpc.binding.address": "h",
        "spark.connect.grpc.binding.port": "2",
        "spark.connect.authenticate.token": "secret",
    }


def test_wrong_arguments_are_refused() -> None:
    assert CliRunner().invoke(app, ["connect-server", "-p", "99999"]).exit_code == 2
