"""``scan.ignore-lost-files`` and ``scan.ignore-corrupt-files``: queries pass over files, and nothing else does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Sql = Callable[[str], list[tuple[Any, ...]]]

KINDS = {
    "append": "'bucket' = '-1'",
    "orc": "'bucket' = '-1', 'file.format' = 'orc'",
    "avro": "'bucket' = '-1', 'file.format' = 'avro'",
    "merged": "'primary-key' = 'a', 'bucket' = '1', 'write-only' = 'true'",
    "vectors": "'primary-key' = 'a', 'bucket' = '1', 'deletion-vectors.enabled' = 'true'",
    "tracked": "'bucket' = '-1', 'row-tracking.enabled' = 'true'",
}
LOST, DAMAGED = "scan.ignore-lost-files", "scan.ignore-corrupt-files"


def files_of(sql: Sql, where: str) -> list[Path]:
    return [Path(str(path)) for (path,) in sql(f"SELECT file_path FROM t$files WHERE {where}")]


def made(sql: Sql, kind: str) -> Path:
    """A table of two commits, and the file of the first of them."""
    sql(f"CREATE TABLE t (a INT, b STRING) TBLPROPERTIES ({KINDS[kind]})")
    sql("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    (first,) = files_of(sql, "true")
    sql("INSERT INTO t VALUES (3, 'z')")
    assert first in files_of(sql, "true")
    return first


@pytest.mark.parametrize("kind", KINDS)
def test_queries_pass_over_files_that_are_gone_if_they_may(sql: Sql, kind: str) -> None:
    made(sql, kind).unlink()
    hint = f"/*+ OPTIONS('{LOST}' = 'true') */"
    for query, answer in (
        (f"SELECT * FROM t {hint}", [(3, "z")]),
        (f"SELECT count(*) FROM t {hint}", [(1,)]),
        (f"SELECT max(a), min(b) FROM t {hint}", [(3, "z")]),
        (f"SELECT b FROM t {hint} WHERE a = 1", []),
        (f"SELECT a FROM t {hint} WHERE b >= 'x' LIMIT 2", [(3,)]),
        (f"SELECT a FROM t {hint} ORDER BY a LIMIT 1", [(3,)]),
        (f"SELECT __paimon_bucket IS NULL FROM t {hint}", [(False,)]),
    ):
        assert sql(query) == answer, query
    with pytest.raises(Exception, match=r"data-|does not exist|FILE_NOT_EXIST|not there|gone"):
        sql("SELECT * FROM t")
    with pytest.raises(Exception, match="data-"):
        sql(f"SELECT * FROM t /*+ OPTIONS('{DAMAGED}' = 'true') */")


@pytest.mark.parametrize("kind", KINDS)
def test_queries_pass_over_files_that_cannot_be_read_if_they_may(sql: Sql, kind: str) -> None:
    file = made(sql, kind)
    file.write_bytes(b"\x00" * file.stat().st_size)
    sql(f"ALTER TABLE t SET TBLPROPERTIES ('{DAMAGED}' = 'true')")
    assert sql("SELECT * FROM t") == [(3, "z")]
    assert sql("SELECT count(*), count(b) FROM t") == [(1, 1)]
    with pytest.raises(Exception, match="data-"):
        sql(f"SELECT * FROM t /*+ OPTIONS('{DAMAGED}' = 'false', '{LOST}' = 'true') */")


@pytest.mark.parametrize("kind", ["append", "merged"])
def test_whoever_rewrites_files_never_makes_a_loss_last(sql: Sql, kind: str) -> None:
    file = made(sql, kind)
    held = file.read_bytes()
    sql(f"ALTER TABLE t SET TBLPROPERTIES ('{LOST}' = 'true', '{DAMAGED}' = 'true')")
    file.unlink()
    compacts = ["CALL sys.compact(table => 't')"] if kind == "merged" else []
    for statement in (*compacts, "UPDATE t SET b = 'q' WHERE b > 'a'"):
        with pytest.raises(Exception, match="data-"):
            sql(statement)
    file.write_bytes(held)
    assert sql("SELECT * FROM t ORDER BY a") == [(1, "x"), (2, "y"), (3, "z")]
