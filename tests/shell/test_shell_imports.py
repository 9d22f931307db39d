"""What a command imports: most calls of procedures are shorter than imports that they do not need."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.format.schema.schema import new_schema
from tests.storage.small_tables import COLUMNS, insert

PROGRAM = """
import atexit, json, sys
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
from paimon_sql.shell.main import main
main()
"""
SPARK = {"pyspark", "py4j", "sqlglot"}
HEAVY = SPARK | {"pandas", "prompt_toolkit", "boto3", "pyarrow.dataset", "pyarrow.fs", "rich.progress"}
"""Libraries that take long to import, and that a call on a local disk does not need."""
MOST_MODULES = 215
"""The most modules of ours that a call imports which only reads metadata."""
CALLS = (
    ("expire_snapshots", "--retain_max", "1", "--retain_min", "1", "--dry_run"),
    ("expire_snapshots", "--retain_max", "1", "--retain_min", "1"),
    ("create_tag", "--tag", "one"),
    ("create_branch", "--branch", "b"),
    ("remove_orphan_files",),
    ("rollback", "--version", "2"),
)


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    catalog = FileSystemCatalog("paimon", {"warehouse": str(tmp_path)})
    catalog.create_database("db", {})
    catalog.create_table(Identifier("db", "t"), new_schema(COLUMNS))
    for i in range(3):
        insert(catalog.table(Identifier("db", "t")), (i, "v", "p"))
    return str(tmp_path)


def modules_of(*arguments: str, status: int = 0) -> set[str]:
    """The modules that a command has imported when it ends."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=False)
    *said, modules = done.stderr.splitlines()
    assert done.returncode == status, said
    return set(json.loads(modules))


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_a_call_imports_what_it_needs(warehouse: str, call: tuple[str, ...]) -> None:
    found = modules_of("call", *call, "--table", "db.t", "-w", warehouse)
    assert not found & (HEAVY | {"typer"})
    assert len([name for name in found if name.startswith("paimon_sql")]) < MOST_MODULES


def test_a_call_behind_other_options_imports_no_spark_either(warehouse: str) -> None:
    assert not modules_of("-w", warehouse, "call", "create_tag", "--table", "db.t", "--tag", "one") & HEAVY


def test_a_call_that_fails_imports_no_spark_either(warehouse: str) -> None:
    assert not modules_of("call", "create_tag", "--table", "db.none", "--tag", "x", "-w", warehouse, status=1) & HEAVY


def test_the_help_of_a_procedure_imports_no_other_one() -> None:
    found = modules_of("call", "create_tag", "--help")
    assert [name for name in found if name.startswith("paimon_sql.procedures.tags.")] == [
        "paimon_sql.procedures.tags.create_tag"
    ]
    assert not found & HEAVY


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_what_needs_no_table_imports_nothing_of_tables(argument: str) -> None:
    assert not modules_of(argument) & (HEAVY | {"pyarrow", "numpy", "paimon_sql.catalog.catalog"})


def test_statements_import_no_prompt(tmp_path: Path) -> None:
    found = modules_of("-f", str(tmp_path / "none.sql"), status=2)
    assert "paimon_sql.shell.runner" in found
    assert not found & {"pandas", "prompt_toolkit", "rich.progress"}


def test_translations_import_no_spark(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("SELECT 1")
    assert not modules_of("format", str(tmp_path / "a.sql")) & {"pyspark", "py4j", "pandas"}


def test_sessions_import_no_shell_and_no_pandas() -> None:
    program = "import sys, paimon_sql; paimon_sql.connect; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"pandas", "typer", "rich", "prompt_toolkit"} & set(found)


def test_the_layouts_of_tables_import_no_pandas() -> None:
    program = (
        "import sys; from paimon_sql.storage.table.layout import layouts; layouts(); sys.exit('pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_only_pyarrow_does_without_pandas() -> None:
    program = """if True:
        import pyarrow as pa, sys
        from paimon_sql.shell.subcommands.without_pandas import do_without_pandas
        do_without_pandas()
        assert pa.array(["a", None]).to_pylist() == ["a", None] and not pa.lib._pandas_api.have_pandas
        assert "pandas" not in sys.modules
        import pandas
        do_without_pandas()
    """
    subprocess.run([sys.executable, "-c", program], check=True)
