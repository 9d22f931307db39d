"""What can be proven here for macOS and Windows: names of files, missing modules of POSIX, files that are open."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path, PureWindowsPath

import pytest

from paimon_sql.catalog.warehouse import absolute_warehouse
from paimon_sql.storage.file_io.paths import has_drive, join, local_path, name_of, parent_of, scheme_of
from tests.windows import is_refused

ROOT = Path(__file__).resolve().parents[1]
_IMPORTS = """
import importlib, pkgutil
import duckdb, fastavro, numpy, pandas, polars, pyarrow.parquet, pyspark.sql, sqlglot
import prompt_toolkit, rich.console, typer
from tests.windows import pretend
pretend()
import paimon_sql
for package in ("format", "storage", "catalog", "procedures", "system_tables", "report", "api", "observability", "sql",
                "shell", "spark"):
    root = importlib.import_module(f"paimon_sql.{package}")
    for found in pkgutil.walk_packages(root.__path__, f"{root.__name__}."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
print("imported")
"""
_WORK = """
import sys
from pathlib import Path
import fastavro, numpy, pandas, pyarrow as pa, pyarrow.compute as pc, pyarrow.parquet, sqlglot
from tests.windows import pretend
pretend()
import paimon_sql
warehouse = Path(sys.argv[1])
catalog = paimon_sql.open_catalog(warehouse)
catalog.create_database("d")
schema = pa.schema([("id", pa.int64()), ("day", pa.string()), ("v", pa.float64())])
made = [{"id": i, "day": f"2026-11-0{i % 3 + 1} 10:00?", "v": 0.5 * i} for i in range(20)]
for name, keys, options in [
    ("keyed", ["id", "day"], {"bucket": "2"}),
    ("vectors", ["id", "day"], {"bucket": "1", "deletion-vectors.enabled": "true", "changelog-producer": "lookup"}),
    ("plain", [], {"file.format": "orc"}),
]:
    table = catalog.create_table(f"d.{name}", schema, primary_key=keys, partition_by=["day"], options=options)
    table.append(made[:10]); table.append(pa.Table.from_pylist(made[10:], schema))
    assert table.update({"v": lambda rows: pc.add(rows["v"], 1)}, "id < 5") == 5
    assert table.delete("id >= 15") == 5
    table.call("create_tag", tag="t1"); table.call("create_branch", branch="b")
    table.branch("b").append(made[:1])
    assert [n for n, _ in table.follow(consumer="c", wait=0)][0] == 1
    table.call("compact")
    table = table.alter(add={"more": pa.string()}, options={"snapshot.num-retained.min": "1"})
    assert table.scan("v > 2", limit=3).to_arrow().num_rows == 3
    table.call("delete_tag", tag="t1"); table.call("expire_snapshots", retain_max=1, retain_min=1)
    table.call("remove_orphan_files", dry_run=True)
    assert table.scan().count() == 15 and sum(table.to_arrow()["v"].to_pylist()) == 5 + sum(r["v"] for r in made[:15])
catalog.rename_table("d.keyed", "d.other")
assert catalog.table("d.other").scan().count() == 15
catalog.drop_table("d.vectors")
assert catalog.tables("d") == ["other", "plain"]
print("worked")
"""


def tracked() -> list[str]:
    """The files of the repository."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    return [name for name in listed.stdout.decode().split("\0") if name]


def run(program: str, *arguments: str) -> str:
    """Run a program of Python in a process of its own; return what it printed."""
    ended = subprocess.run([sys.executable, "-c", program, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def test_no_file_has_a_name_that_windows_refuses() -> None:
    assert [name for name in tracked() if any(is_refused(part) for part in name.split("/"))] == []
    assert is_refused("a:b") and is_refused("nul.txt") and is_refused("end.") and not is_refused("console.py")


def test_no_two_files_differ_by_case_only() -> None:
    places = {name[:end] for name in tracked() for end in (*(i for i, c in enumerate(name) if c == "/"), len(name))}
    assert [place for place, number in Counter(map(str.lower, places)).items() if number > 1] == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Windows is pretended by means of /proc.")
def test_all_modules_are_imported_without_those_of_posix() -> None:
    assert run(_IMPORTS) == "imported"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Windows is pretended by means of /proc.")
def test_tables_are_written_and_read_where_windows_refuses(tmp_path: Path) -> None:
    assert run(_WORK, str(tmp_path / "warehouse")) == "worked"
    made = [path.relative_to(tmp_path) for path in tmp_path.rglob("*")]
    assert made and [path for path in made if any(is_refused(part) for part in path.parts)] == []


def test_a_drive_is_no_scheme() -> None:
    for path in ("C:/warehouse/d.db/t", str(PureWindowsPath("C:/warehouse"))):
        assert has_drive(path) and scheme_of(path) == "file" and local_path(path) == path
    assert scheme_of("s3:/bucket") == "s3" and not has_drive("s3:/bucket") and not has_drive("/C:/warehouse")
    assert local_path("file:///C:/w/t", with_drives=True) == "C:/w/t"
    assert local_path("file:/C:/w", with_drives=True) == "C:/w"
    assert local_path("file:///C:/w", with_drives=False) == "/C:/w"
    assert local_path("file:///w", with_drives=True) == local_path("/w", with_drives=True) == "/w"
    assert join("C:/w", "d.db", "t") == "C:/w/d.db/t"
    assert (parent_of("C:/w/t"), name_of("C:/w/t")) == ("C:/w", "t")


def test_warehouses_are_absolute_directories_or_uris(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute_warehouse("w") == absolute_warehouse(Path("w")) == f"{tmp_path}/w"
    assert absolute_warehouse("s3://bucket/w") == "s3://bucket/w"
