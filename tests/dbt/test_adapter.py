"""The dbt adapter: dbt's official suites against a Thrift server, and the example project by each connection method.

dbt runs in an environment of its own, where Spark is not installed. ``PAIMON_TEST_DBT=all`` runs all of the three
longest suites, which take two to four minutes each.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import paimon_sql
from paimon_sql.spark.jvm.compat import HAS_VIEWS
from tests.command import COMMAND
from tests.environments import environment

pytestmark = pytest.mark.skipif(not HAS_VIEWS, reason="Spark asks catalogs for views since 4.2")

ROOT = Path(__file__).resolve().parents[2]
SUITES = Path(__file__).with_name("suites")
EXAMPLE = ROOT / "sql_examples" / "dbt"
PLUGINS = ["-p", "dbt.tests.fixtures.project", "-p", "tests.dbt.suites.profile"]
"""The second overrides a fixture of the first."""
DBT = "from dbt.cli.main import cli; cli()"
DBT_WITH_SPARK = f"import sys; sys.path.append({sysconfig.get_path('purelib')!r}); {DBT}"
"""Spark is that of this environment, which follows dbt's own on the path."""

SELECTED = {
    "contracts": "TestTableColumns or TestDefinition or TestIncrementalRollback",
    "basic": "AdapterMethods or TestIncremental or SnapshotCheckCols or BasicSeeds",
    "incremental": "PredicatesMerge or OnSchemaChange or Microbatch or MultiUniqueKey",
}
"""What runs of the longest suites otherwise."""

Address = dict[str, str]


@pytest.fixture(scope="module")
def python() -> Path:
    """The interpreter of dbt's environment."""
    return environment("dbt")


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The server's warehouse."""
    return tmp_path_factory.mktemp("lake")


@contextmanager
def running(kind: str, warehouse: Path, log: Path, address: str) -> Iterator[re.Match[str]]:
    """A running server and its address, found by a pattern; its log goes to a file: a pipe that nobody reads would stop
    it.
    """
    settings = ["-c", "spark.ui.enabled=false", "-c", "spark.master=local[2]", "-c", "spark.sql.shuffle.partitions=2"]
    command = [*COMMAND, kind, "-w", str(warehouse), "-p", "0", *settings]
    with log.open("w") as said, subprocess.Popen(command, stderr=said) as process:
        while (found := re.search(address, log.read_text())) is None:
            assert process.poll() is None, f"the server did not start: {log.read_text()}"
            time.sleep(0.1)
        yield found
        process.terminate()


@pytest.fixture(scope="module")
def server(warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    """The host and port of a Thrift server."""
    log = tmp_path_factory.mktemp("server") / "log"
    with running("thriftserver", warehouse, log, r"jdbc:hive2://([^:]+):(\d+)/") as found:
        yield {"PAIMON_DBT_HOST": found[1], "PAIMON_DBT_PORT": found[2], "SHOP_HOST": found[1], "SHOP_PORT": found[2]}


def run(command: list[str], folder: Path, variables: Mapping[str, str]) -> str:
    """Run a command of dbt's environment and return its output; it must succeed."""
    own = {"PYTHONPATH": str(ROOT), "DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "PYTEST_ADDOPTS": ""}
    environ = {**os.environ, **own, **variables}
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-20000:]}{done.stderr[-5000:]}"
    return done.stdout


@pytest.mark.parametrize("suite", ["basic", "contracts", "documentation", "incremental", "materialized", "paimon"])
def test_an_official_suite_passes(python: Path, server: Address, tmp_path: Path, suite: str) -> None:
    settings = ["-c", str(SUITES / "pytest.ini"), f"--confcutdir={SUITES}", f"--rootdir={tmp_path}", *PLUGINS]
    selected = [] if os.environ.get("PAIMON_TEST_DBT") == "all" else ["-k", SELECTED.get(suite, "")]
    command = [str(python), "-m", "pytest", "-q", *settings, *selected, f"--basetemp={tmp_path / 'made'}"]
    *_, closing_line = run([*command, str(SUITES / f"{suite}.py")], tmp_path, server).splitlines()
    assert re.match(r"\d+ passed", closing_line)


class Shop:
    """The example project, in a folder of its own."""

    def __init__(self, folder: Path, command: list[str], target: str, variables: Mapping[str, str]) -> None:
        self.folder = shutil.copytree(EXAMPLE, folder)
        self._command, self._target, self._variables = command, target, variables

    def dbt(self, *arguments: str) -> str:
        """Run dbt, which must succeed."""
        command = [*self._command, "--quiet", *arguments, "--target", self._target]
        return run(command, self.folder, {**self._variables, "DBT_PROFILES_DIR": str(self.folder)})

    def change(self, *rows: str) -> None:
        """Replace orders of the file by number, or add them."""
        file = self.folder / "seeds" / "raw_orders.csv"
        head, *present = file.read_text().splitlines()
        orders = {row.split(",")[0]: row for row in (*present, *rows)}
        file.write_text("\n".join([head, *orders.values(), ""]))


def rows(warehouse: Path, table: str, at: str | None = None) -> list[dict[str, Any]]:
    """The rows of a table, read without Spark."""
    found = paimon_sql.open_catalog(warehouse).table(table)
    found = found if at is None else found.at(at)
    return sorted(found.scan().to_arrow().to_pylist(), key=lambda row: str(list(row.values())))


def check_the_example(shop: Shop, warehouse: Path) -> None:
    """Build the project, change its file, and build it again."""
    shop.dbt("build")
    assert [(row["id"], row["state"]) for row in rows(warehouse, "shop.orders")] == [
        (1, "paid"),
        (2, "new"),
        (3, "paid"),
    ]
    shop.change("2,bob,80.00,paid,2026-11-03 12:00:00", "4,eve,5.00,new,2026-11-03 12:30:00")
    customers = shop.folder / "seeds" / "raw_customers.csv"
    customers.write_text(customers.read_text().replace("Bergen", "Oslo") + "eve,Narvik\n")
    shop.dbt("build")
    states = {row["id"]: row["state"] for row in rows(warehouse, "shop.orders")}
    assert states == {1: "paid", 2: "paid", 3: "paid", 4: "new"}
    assert {row["customer"]: str(row["amount"]) for row in rows(warehouse, "shop.revenue")} == {
        "ada": "20.00",
        "bob": "80.00",
    }
    history = rows(warehouse, "shop.customers_history")
    assert sorted((row["name"], row["city"], row["dbt_valid_to"] is None) for row in history) == [
        ("ada", "Oslo", True),
        ("bob", "Bergen", False),
        ("bob", "Oslo", True),
        ("eve", "Narvik", True),
    ]


def test_the_example_runs_in_a_session(python: Path, tmp_path: Path) -> None:
    variables = {"SHOP_WAREHOUSE": str(tmp_path / "lake"), "PYSPARK_PYTHON": sys.executable}
    check_the_example(
        Shop(tmp_path / "shop", [str(python), "-c", DBT_WITH_SPARK], "local", variables), tmp_path / "lake"
    )


def test_the_example_runs_by_spark_connect(python: Path, tmp_path: Path) -> None:
    with running("connect-server", tmp_path / "lake", tmp_path / "log", r"sc://[^:]+:\d+") as found:
        shop = Shop(tmp_path / "shop", [str(python), "-c", DBT_WITH_SPARK], "connect", {"SHOP_REMOTE": found[0]})
        check_the_example(shop, tmp_path / "lake")


def test_the_example_runs_by_a_server(python: Path, server: Address, warehouse: Path, tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop", [str(python), "-c", DBT], "server", server)
    check_the_example(shop, warehouse)
    assert paimon_sql.open_catalog(warehouse).table("shop.orders").tags()

    # Write, audit, publish: the tables change when the branch is published.
    shop.change("5,ada,1.25,paid,2026-11-04 09:00:00")
    shop.dbt("build", "--vars", "branch: audit")
    assert len(rows(warehouse, "shop.orders")) == 4
    shop.dbt("run-operation", "publish_branch", "--args", "branch: audit")
    assert len(rows(warehouse, "shop.orders")) == 5
    revenue = {row["customer"]: str(row["amount"]) for row in rows(warehouse, "shop.revenue")}
    assert revenue == {"ada": "21.25", "bob": "80.00"}


def test_the_seeds_of_the_example_are_tables_of_rows() -> None:
    with (EXAMPLE / "seeds" / "raw_orders.csv").open() as file:
        assert len(list(csv.reader(file))) == 4
