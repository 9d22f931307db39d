"""Time travel to a state whose rows were compacted later says which rows the answer lacks."""

from __future__ import annotations

import logging

import pytest

from tests.spark.conftest import Sql

KEYED = "CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1', {})"


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [r.getMessage() for r in caplog.records if "not in the answer" in r.getMessage()]
    caplog.clear()
    return found


def test_rows_that_wait_for_a_compaction_are_told_of(sql: Sql, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    sql(KEYED.format("'deletion-vectors.enabled' = 'true'"))
    sql("INSERT INTO t VALUES (1, 'a')")
    assert sql("SELECT id FROM t") == [(1,)]
    assert warnings(caplog) == []
    assert sql("SELECT id FROM t VERSION AS OF 1") == []
    (warning,) = warnings(caplog)
    assert "the rows of 1 of the files of snapshot 1 are not in the answer" in warning
    assert "Set 'deletion-vectors.merge-on-read' to see them" in warning
    hint = "/*+ OPTIONS('scan.snapshot-id' = '1', 'deletion-vectors.merge-on-read' = 'true') */"
    assert sql(f"SELECT id FROM t {hint}") == [(1,)]
    assert sql("SELECT id FROM t VERSION AS OF 2") == [(1,)]
    assert sql("SELECT id FROM t$ro VERSION AS OF 1") == []
    assert warnings(caplog) == []


def test_first_rows_wait_too(sql: Sql, caplog: pytest.LogCaptureFixture) -> None:
    sql(KEYED.format("'merge-engine' = 'first-row', 'changelog-producer' = 'lookup'"))
    sql("INSERT INTO t VALUES (1, 'a')")
    assert sql("SELECT count(*) FROM t VERSION AS OF 1") == [(0,)]
    assert [w.rpartition(". ")[2] for w in warnings(caplog)] == ["Read a later snapshot."]


def test_tables_that_merge_on_read_lack_nothing(sql: Sql, caplog: pytest.LogCaptureFixture) -> None:
    sql(KEYED.format("'k' = 'v'"))
    sql("INSERT INTO t VALUES (1, 'a')")
    assert sql("SELECT id FROM t VERSION AS OF 1") == [(1,)]
    assert warnings(caplog) == []
