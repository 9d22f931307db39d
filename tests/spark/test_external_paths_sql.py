"""New data files in directories outside of the table's own, as ``data-file.external-paths.strategy`` says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Sql = Callable[[str], list[tuple[Any, ...]]]

STRATEGIES = ("round-robin", "entropy-inject", "weight-robin", "specific-fs")


def made(sql: Sql, tmp_path: Path, strategy: str, more: str) -> list[Path]:
    roots = [tmp_path / "one", tmp_path / "two"]
    named = ",".join(f"file://{root}" for root in roots)
    sql(
        "CREATE TABLE t (a INT, b STRING, p STRING) PARTITIONED BY (p) TBLPROPERTIES ("
        f"'data-file.external-paths' = '{named}', 'data-file.external-paths.strategy' = '{strategy}',"
        f" 'data-file.external-paths.specific-fs' = 'file', 'data-file.external-paths.weights' = '1,3', {more})"
    )
    return roots


def held(roots: list[Path]) -> list[Path]:
    return [path for root in roots for path in root.rglob("*") if path.is_file()]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("keyed", [False, True])
def test_files_are_written_read_changed_and_removed_elsewhere(
    sql: Sql, tmp_path: Path, strategy: str, keyed: bool
) -> None:
    more = "'primary-key' = 'a,p', 'bucket' = '2', 'changelog-producer' = 'lookup'" if keyed else "'bucket' = '-1'"
    roots = made(sql, tmp_path, strategy, f"{more}, 'snapshot.num-retained.min' = '1'")
    for i in range(3):
        sql(f"INSERT INTO t VALUES ({i}, 'x', 'p'), ({i}, 'y', 'ü=')")
    paths = {str(path) for (path,) in sql("SELECT file_path FROM t$files")}
    assert paths and all(any(f"{root}/p=" in path for root in roots) for path in paths)
    assert held(roots)
    sql("UPDATE t SET b = 'z' WHERE a = 1")
    sql("DELETE FROM t WHERE a = 2 AND p = 'p'")
    sql("CALL sys.compact(table => 't')")
    expected = [(0, "x", "p"), (0, "y", "ü="), (1, "z", "p"), (1, "z", "ü="), (2, "y", "ü=")]
    assert sql("SELECT * FROM t ORDER BY a, p") == expected
    sql("CALL sys.expire_snapshots(table => 't', retain_max => 1, retain_min => 1)")
    live = {Path(str(path).removeprefix("file:")).resolve() for (path,) in sql("SELECT file_path FROM t$files")}
    kept = {path.resolve() for path in held(roots) if path.name.startswith("data-")}
    assert {path for path in kept if "changelog" not in path.name} == live
    assert sql("SELECT * FROM t ORDER BY a, p") == expected


def test_what_cannot_be_chosen_among_is_refused(sql: Sql, tmp_path: Path) -> None:
    key = "data-file.external-paths"
    head = f"CREATE TABLE u (a INT) TBLPROPERTIES ('{key}' = {{}}, '{key}.strategy' = {{}})"
    for roots, more, told in (
        ("'/plain'", "'round-robin'", "has no scheme"),
        ("'file:///a'", "'specific-fs', 'data-file.external-paths.specific-fs' = 's3'", "specific-fs"),
        ("'file:///a'", "'weight-robin', 'data-file.external-paths.weights' = '1,2'", "1 whole numbers above 0"),
    ):
        with pytest.raises(Exception, match=told):
            sql(head.format(roots, more))
    sql(head.format(f"'file://{tmp_path}/x'", "'none'"))
    sql("INSERT INTO u VALUES (1)")
    assert not (tmp_path / "x").exists()


def test_few_rows_at_a_time_are_the_same_rows(sql: Sql) -> None:
    sql("CREATE TABLE t (a BIGINT, b STRING) TBLPROPERTIES ('file.format' = 'orc', 'read.batch-size' = '7')")
    sql("INSERT INTO t SELECT id, concat('v', id) FROM range(100)")
    assert sql("SELECT count(DISTINCT a, b), sum(a) FROM t WHERE a >= 0") == [(100, 4950)]
