"""EXPLAIN of an invalid statement fails, as the statement would."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException

from tests.spark.conftest import Sql


@pytest.mark.smoke
@pytest.mark.parametrize("mode", ["", "EXTENDED", "FORMATTED", "COST"])
def test_explain_of_an_invalid_query_fails(sql: Sql, mode: str) -> None:
    sql("CREATE TABLE t (id INT)")
    with pytest.raises(AnalysisException, match="nosuch"):
        sql(f"EXPLAIN {mode} SELECT nosuch FROM t")
    with pytest.raises(AnalysisException, match="missing"):
        sql(f"EXPLAIN {mode} SELECT * FROM missing")
    ((text,),) = sql(f"EXPLAIN {mode} SELECT id FROM t WHERE id > 1")
    assert "== Physical Plan ==" in str(text)


def test_explain_runs_nothing(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT)")
    sql("INSERT INTO t VALUES (1)")
    ((text,),) = sql("EXPLAIN CALL sys.create_tag(table => 't', tag => 'x')")
    assert "Call paimon.sys.create_tag" in str(text)
    sql("EXPLAIN INSERT INTO t VALUES (2)")
    sql("EXPLAIN CREATE TABLE made AS SELECT 1 AS x")
    assert sql("SHOW TAGS t") == []
    assert (sql("SELECT count(*) FROM t"), sql("SHOW TABLES LIKE 'made'")) == ([(1,)], [])


def test_explain_of_what_our_scans_refuse_fails(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT)")
    with pytest.raises(Exception, match=r"no option 'scan.snapshotid'"):
        sql("EXPLAIN SELECT * FROM t /*+ OPTIONS('scan.snapshotid' = '1') */")
    with pytest.raises(Exception, match="does not exist"):
        sql("EXPLAIN SELECT * FROM t VERSION AS OF 7")
    ((text,),) = sql("EXPLAIN INSERT INTO t VALUES (1)")
    assert "AppendData" in str(text) or "Physical Plan" in str(text)
    ((told,),) = sql("EXPLAIN SELECT 'Error occurred during query planning' AS x")
    assert "Physical Plan" in str(told)
