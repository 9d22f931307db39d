"""``paimon-sql thriftserver`` with a real Spark: it says where it listens, serves, and ends cleanly."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from pyhive import hive
from typer.testing import CliRunner

from paimon_sql.shell.main import app
from paimon_sql.shell.setup import address

COMMAND = [sys.executable, "-c", "from paimon_sql.shell.main import main; main()", "thriftserver"]
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


def test_the_server_says_where_it_listens_and_ends_by_a_signal(tmp_path: Path) -> None:
    with subprocess.Popen([*COMMAND, *ARGUMENTS, "-w", str(tmp_path)], stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        said = next(line for line in server.stderr if line.startswith("Listening"))
        found = re.search(r"jdbc:hive2://127\.0\.0\.1:(\d+)/default", said)
        assert found is not None
        with closing(hive.connect("127.0.0.1", int(found[1]), auth="NOSASL")) as connection:
            cursor = connection.cursor()
            cursor.execute("CREATE TABLE t AS SELECT 1 AS x")
            cursor.execute("SELECT x FROM t")
            assert cursor.fetchall() == [(1,)]
        server.send_signal(signal.SIGTERM)
        rest = server.stderr.read()
    assert server.returncode == 0
    assert rest == "Ctrl-C stops the server.\nThe server has stopped.\n"
    assert (tmp_path / "default.db" / "t").is_dir()


def test_the_address_is_told_as_the_transport_needs_it() -> None:
    assert address("h", 1, http=False) == {
        "hive.server2.thrift.bind.host": "h",
        "hive.server2.thrift.port": "1",
        "hive.server2.transport.mode": "binary",
    }
    assert address("h", 1, http=True)["hive.server2.thrift.http.port"] == "1"


def test_wrong_arguments_are_refused() -> None:
    assert CliRunner().invoke(app, ["thriftserver", "-p", "99999"]).exit_code == 2
    assert CliRunner().invoke(app, ["thriftserver", "-c", "hive.server2"]).exit_code == 2
