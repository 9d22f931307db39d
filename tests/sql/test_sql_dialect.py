"""The sqlglot dialect reads whole table definitions and writes them as Spark's."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark

from paimon_sql.sql.paimon import Paimon


def test_a_definition_of_flinks_is_written_as_sparks() -> None:
    text = (
        "CREATE TABLE IF NOT EXISTS db.t (a BIGINT NOT NULL COMMENT 'x', b TIMESTAMP(3), c ROW<d BYTES>,"
        " e MULTISET<INT>, f INT DEFAULT 1) PARTITIONED BY (a) WITH ('bucket' = '1')"
    )
    assert sqlglot.transpile(text, read=Paimon, write=Spark) == [
        "CREATE TABLE IF NOT EXISTS db.t (a BIGINT NOT NULL COMMENT 'x', b TIMESTAMP_NTZ, c STRUCT<`d`: BINARY>,"
        " e MAP<INT, INT>, f INT DEFAULT 1) PARTITIONED BY (a) TBLPROPERTIES ('bucket'='1')"
    ]


def test_nodes_know_their_place_in_the_text() -> None:
    text = "(a INT PRIMARY /* ! */ KEY NOT ENFORCED, b TIMESTAMP(3) NULL, CONSTRAINT k PRIMARY KEY (`a`, b))"
    schema = sqlglot.parse_one(text, into=exp.Schema, dialect=Paimon)

    def place(node: exp.Expr) -> str:
        return text[node.meta["start"] : node.meta["end"] + 1]

    a, b, key = schema.expressions
    assert [place(n) for n in (a, b, key)] == [
        "a INT PRIMARY /* ! */ KEY NOT ENFORCED",
        "b TIMESTAMP(3) NULL",
        "CONSTRAINT k PRIMARY KEY (`a`, b)",
    ]
    assert place(b.args["kind"]) == "TIMESTAMP(3)"
    assert [place(c) for c in (*a.constraints, *b.constraints)] == ["PRIMARY /* ! */ KEY NOT ENFORCED", "NULL"]
    assert [part.name for part in key.expressions] == ["a", "b"]


@pytest.mark.parametrize(
    "query",
    ["SELECT a, CAST(b AS TIMESTAMP) FROM t WHERE c = 'x'", "SELECT * FROM t VERSION AS OF 1", "SELECT x -> x + 1"],
)
def test_queries_are_those_of_spark(query: str) -> None:
    assert sqlglot.parse_one(query, dialect=Paimon).sql(Spark) == sqlglot.parse_one(query, dialect=Spark).sql(Spark)


def test_a_doubled_quote_stands_for_one() -> None:
    assert sqlglot.parse_one("SELECT 'it''s', \"a'\", r'x\\'", dialect=Paimon).expressions[0].name == "it's"


def test_system_tables_are_names() -> None:
    assert sqlglot.parse_one("SELECT * FROM db.t$files", dialect=Paimon).find(exp.Table).name == "t$files"  # type: ignore[union-attr]
