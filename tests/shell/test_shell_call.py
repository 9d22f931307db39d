"""``paimon-sql call``: procedures from the command line, without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext
from typer.testing import CliRunner

from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import PaimonError
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.procedures import procedures
from paimon_sql.shell.app import app
from paimon_sql.shell.subcommands.call import parse_call
from tests.storage.small_tables import COLUMNS, insert

Run = Callable[..., Any]


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    catalog = FileSystemCatalog("paimon", {"warehouse": str(tmp_path)})
    catalog.create_database("db", {})
    catalog.create_table(Identifier("db", "t"), new_schema(COLUMNS))
    for i in range(3):
        insert(catalog.table(Identifier("db", "t")), (i, "v", "p"))
    return tmp_path


@pytest.fixture
def run(warehouse: Path) -> Run:
    def invoke(*words: str) -> Any:
        running = SparkContext._active_spark_context
        answer = CliRunner().invoke(app, ["-w", str(warehouse), "--format", "json", "call", *words])
        assert SparkContext._active_spark_context is running, "no Spark is to be started"
        return answer

    return invoke


def test_a_call_answers_with_the_rows_of_the_procedure(run: Run) -> None:
    answer = run("sys.expire_snapshots", "--table", "db.t", "--retain_max", "2", "--retain_min=1")
    assert answer.exit_code == 0
    row = json.loads(answer.stdout)
    assert (row["deleted_snapshots_count"], row["earliest_snapshot"], row["latest_snapshot"]) == (1, 2, 3)


def test_arguments_behind_the_procedure_win(run: Run, warehouse: Path) -> None:
    answer = run("create_tag", "--format", "csv", "--table", "db.t", "--tag", "one", "--snapshot", "1")
    assert answer.stdout.splitlines()[0].startswith("result,snapshot_id,record_count")
    assert answer.stdout.splitlines()[1].startswith("true,1,1,")
    assert run("create_tag", "--warehouse", str(warehouse / "none"), "--table", "db.t", "--tag", "x").exit_code == 1


def test_flinks_way_of_writing_is_known(run: Run) -> None:
    assert (
        run("create-tag", "--database", "db", "--table", "t", "--tag_name", "one", "--snapshot_id", "1").exit_code == 0
    )
    answer = run("rollback_to", "--database", "db", "--table", "t", "--version", "one", "--dry-run")
    assert json.loads(answer.stdout)["note"].startswith("dry run")
    answer = run("reset_consumer", "--table", "db.t", "--consumer_id", "c", "--next_snapshot", "2")
    assert (answer.exit_code, json.loads(answer.stdout)["result"]) == (0, True)


def test_partitions_may_be_given_one_by_one() -> None:
    called = parse_call("compact", ["--table", "t", "--partition", "dt=1,h=2", "--partition", "dt=3"])
    assert called.arguments["partitions"] == "dt=1,h=2;dt=3"
    assert parse_call("expire_snapshots", ["--table", "t", "--dry_run", "--retain_max", "-1"]).arguments["dry_run"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["compakt"], "Did you mean compact"),
        (["compact", "--table"], "needs a value"),
        (["compact", "t"], "'t' is not an argument"),
        (["compact", "--tabel", "t"], "no argument --tabel"),
        (["compact", "--table", "t", "--table", "u"], "specified twice"),
        (["expire_snapshots", "--table", "t", "--retain_max", "many"], "an integer"),
        (["expire_snapshots"], "needs table"),
    ],
)
def test_words_that_make_no_call_are_refused(words: list[str], said: str) -> None:
    with pytest.raises(PaimonError, match=said):
        parse_call(words[0], words[1:])


def test_an_error_is_one_message_and_a_status(run: Run) -> None:
    answer = run("compact", "--table", "db.absent")
    assert answer.exit_code == 1
    assert answer.stderr.startswith("Error: Table paimon.db.absent does not exist.")
    assert "Traceback" not in answer.stderr


def test_help_tells_what_can_be_called_and_what_it_takes(run: Run) -> None:
    assert all(name in run("--help").stdout for name in procedures())
    assert run().stdout == run("-h").stdout
    assert "--retain_max INT" in run("expire_snapshots", "--help").stdout
