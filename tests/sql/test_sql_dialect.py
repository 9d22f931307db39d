"""Paimon's dialect of sqlglot: what it reads it writes, for itself and for Spark."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp
from sqlglot.dialects.spark import Spark

from paimon_sql.errors import SetupError
from paimon_sql.sql import dialect
from paimon_sql.sql.carried_statements import Statement
from paimon_sql.sql.context import RewriteContext
from paimon_sql.sql.dialect.nodes import Travel, Verbatim
from paimon_sql.sql.errors import SqlSyntaxError
from paimon_sql.sql.paimon import Paimon
from paimon_sql.sql.rewrite import rewrite
from paimon_sql.sql.statements.base import DECLARED
from paimon_sql.sql.statements.call import Call
from paimon_sql.sql.statements.tables.create_table import CreateTable
from paimon_sql.sql.statements.tags import CreateTag
from tests.sql.grammar_texts import NAMES, OPTIONS, STRINGS, TABLES, listed, texts_of
from tests.sql.sql_cases import REWRITES, STATEMENTS, pairs

TYPES = st.sampled_from(
    [
        "INT",
        "BYTES",
        "TIMESTAMP(3)",
        "TIMESTAMP",
        "TIMESTAMP_LTZ(3)",
        "TIME",
        "CHAR(3)",
        "DECIMAL(10, 2)",
        "MULTISET<STRING>",
        "VARIANT",
        "BLOB",
        "INT ARRAY",
        "ROW<a INT 'x', b ARRAY<INT NOT NULL>>",
        "MAP<STRING, BIGINT>",
        "VECTOR<FLOAT, 3>",
    ]
)
COLUMNS = st.builds(
    "{} {}{}{}".format,
    NAMES,
    TYPES,
    st.sampled_from(["", " NOT NULL", " NULL"]),
    st.sampled_from(["", " COMMENT 'x'", " DEFAULT 1"]),
)
KEYS = st.sampled_from(["", ", PRIMARY KEY (a) NOT ENFORCED", ", CONSTRAINT k PRIMARY KEY (a, `c d`) NOT ENFORCED"])
CLAUSES = st.sampled_from(["", " PARTITIONED BY (a)", " COMMENT 'it''s'", " COMMENT 'x' PARTITIONED BY (a, b)"])
STYLES = st.one_of(st.just(""), OPTIONS.map(" WITH {}".format), OPTIONS.map(" USING paimon TBLPROPERTIES {}".format))
TABLE_TEXTS = st.builds(
    "CREATE {}TABLE {}{} ({}{}){}{}{}".format,
    st.sampled_from(["", "OR REPLACE "]),
    st.sampled_from(["", "IF NOT EXISTS "]),
    TABLES,
    listed(COLUMNS),
    KEYS,
    CLAUSES,
    STYLES,
    st.sampled_from(["", " AS SELECT 1 AS a"]),
)
ALTERATIONS = st.builds(
    "ALTER TABLE {} {}".format,
    TABLES,
    st.one_of(
        OPTIONS.map("SET {}".format),
        OPTIONS.map("SET TBLPROPERTIES {}".format),
        STRINGS.map("RESET ({})".format),
        COLUMNS.map("ADD {}".format),
        listed(COLUMNS).map("MODIFY ({})".format),
        NAMES.map("DROP {}".format),
        st.builds("RENAME {} TO {}".format, NAMES, NAMES),
    ),
)
CALLS = st.builds(
    "CALL sys.{}({})".format,
    st.sampled_from(["compact", "`rollback_to`", "create_tag"]),
    st.lists(
        st.one_of(STRINGS, st.builds("{} => {}".format, NAMES, st.sampled_from(["1", "'x'", "map('a', 'b')", "-1L"]))),
        max_size=3,
    ).map(", ".join),
)
HINTS = OPTIONS.map("/*+ OPTIONS{} */".format)
READS = st.builds(
    "SELECT * FROM {}{} {} {} WHERE a > 1".format,
    TABLES.map(lambda name: name if name.endswith("`") else f"{name}$files"),
    st.just(""),
    HINTS,
    st.sampled_from(["", "VERSION AS OF 3", "FOR SYSTEM_TIME AS OF '2024-01-01' AS x", "AS x"]),
)
CHANGES = st.builds(
    "{} {} {}".format,
    st.sampled_from(["DELETE FROM t", "UPDATE t SET a = 1, b = DEFAULT", "INSERT INTO t SELECT * FROM u"]),
    st.just(""),
    st.sampled_from(["", "WHERE a IN (SELECT a FROM t$files)"]),
)
TEXTS = st.one_of(
    TABLE_TEXTS,
    ALTERATIONS,
    CALLS,
    READS,
    CHANGES,
    *(texts_of(grammar) for each in DECLARED for grammar in each.GRAMMARS),
)


def tree_of(text: str) -> exp.Expr:
    return sqlglot.parse_one(text, read=Paimon)


@given(TEXTS)
def test_what_is_read_written_and_read_again_is_the_same_tree(text: str) -> None:
    try:
        tree = tree_of(text)
    except sqlglot.ParseError:
        return  # refused, as a name twice in one list
    written = tree.sql(Paimon)
    assert tree_of(written) == tree, written
    assert tree_of(tree.sql(Paimon, pretty=True)) == tree


@given(TEXTS)
def test_a_rewritten_statement_is_not_rewritten_again(text: str) -> None:
    context = RewriteContext("paimon", "db", frozenset({"paimon", "cat"}))
    try:
        rewritten = rewrite(text, context)
    except SqlSyntaxError:
        return
    assert rewrite(rewritten.sql, context).sql == rewritten.sql


@pytest.mark.parametrize("statement", DECLARED, ids=lambda each: each.__name__)
def test_each_declared_statement_is_a_tree_of_its_own(statement: type[Statement]) -> None:
    @given(st.one_of(*map(texts_of, statement.GRAMMARS)))
    def check(text: str) -> None:
        try:
            tree = tree_of(text)
        except sqlglot.ParseError:
            return
        assert isinstance(tree, statement.NODE)
        assert tree_of(tree.sql(Paimon)) == tree

    check()


@pytest.mark.parametrize(
    "text", [text for name in REWRITES for text, _ in pairs(name)] + [text for text, _ in STATEMENTS]
)
def test_each_known_statement_is_written_as_it_is_read(text: str) -> None:
    written = sqlglot.transpile(text, read=Paimon, write=Paimon)
    assert sqlglot.transpile(written[0], read=Paimon, write=Paimon) == written


def test_a_definition_of_flinks_is_written_as_sparks() -> None:
    text = (
        "CREATE TABLE IF NOT EXISTS db.t (a BIGINT NOT NULL COMMENT 'x', b TIMESTAMP(3), c ROW<d BYTES>,"
        " f INT DEFAULT 1, PRIMARY KEY (a) NOT ENFORCED) PARTITIONED BY (a) WITH ('bucket' = '1')"
    )
    assert sqlglot.transpile(text, read="paimon", write="spark") == [
        "CREATE TABLE IF NOT EXISTS db.t (a BIGINT NOT NULL COMMENT 'x', b TIMESTAMP_NTZ, c STRUCT<`d`: BINARY>,"
        " f INT DEFAULT 1) PARTITIONED BY (a)"
        " TBLPROPERTIES ('bucket'='1', 'primary-key' = 'a', 'paimon-sql.type.b' = 'TIMESTAMP(3)')"
    ]


def test_a_definition_of_sparks_is_written_as_flinks() -> None:
    text = (
        "CREATE TABLE t (a INT, b TIMESTAMP, c BINARY) USING paimon PARTITIONED BY (a)"
        " TBLPROPERTIES ('primary-key' = 'a,b', 'bucket' = '1')"
    )
    assert sqlglot.transpile(text, read="paimon", write="paimon") == [
        "CREATE TABLE t (a INT, b TIMESTAMP(6) WITH LOCAL TIME ZONE, c BYTES, PRIMARY KEY (a, b) NOT ENFORCED)"
        " PARTITIONED BY (a) WITH ('bucket'='1')"
    ]


@pytest.mark.parametrize(
    ("text", "sparks"),
    [
        ("ALTER TABLE t ADD (a BYTES NULL)", "ALTER TABLE t ADD COLUMN a BINARY"),
        ("ALTER TABLE t UNSET TBLPROPERTIES ('a')", "ALTER TABLE t UNSET TBLPROPERTIES ('a')"),
        ("CALL sys.rollback_to('t', 2)", "CALL sys.rollback(table => 't', snapshot => 2)"),
        ("SELECT * FROM t$files f", "SELECT * FROM `t$files` AS f"),
        (
            "SELECT * FROM t /*+ OPTIONS('a'='b') */ FOR SYSTEM_TIME AS OF '2024-01-01' x",
            "SELECT * FROM t TIMESTAMP AS OF '2024-01-01' WITH ('a' = 'b') AS x",
        ),
        (
            "SELECT * FROM paimon_incremental_query('db.t', 1, 3) /*+ OPTIONS('a'='b') */",
            "SELECT * FROM db.t WITH ('incremental-between' = '1,3', 'a' = 'b')",
        ),
        (
            "ALTER TABLE t CREATE TAG IF NOT EXISTS x RETAIN 7 days",
            "ALTER TABLE t CREATE TAG IF NOT EXISTS x RETAIN 7 DAYS",
        ),
        ("USE CATALOG c", "SET CATALOG c"),
    ],
)
def test_statements_of_ours_are_written_for_spark(text: str, sparks: str) -> None:
    assert sqlglot.transpile(text, read="paimon", write="spark") == [sparks]


def test_statements_are_nodes_of_their_own() -> None:
    tag = tree_of("ALTER TABLE db.t CREATE TAG x AS OF VERSION 3")
    assert isinstance(tag, CreateTag.NODE)
    assert (tag.args["table"].sql(), tag.args["tag"].name, tag.args["snapshot"].name) == ("db.t", "x", "3")
    call = tree_of("CALL sys.compact(table => 'db.t', `where` => 'a > 1')")
    assert isinstance(call, Call)
    assert [each.this.name for each in call.expressions] == ["table", "where"]
    table = tree_of("CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED) WITH ('bucket' = '1')")
    assert isinstance(table, CreateTable)
    assert table.find(exp.PrimaryKeyColumnConstraint) is not None
    travel = tree_of("SELECT * FROM t /*+ OPTIONS('a' = 'b') */ VERSION AS OF 3").find(Travel)
    assert travel is not None
    assert travel.args["options"][0].values == {"a": "b"}


def test_lineage_sees_tables_behind_hints() -> None:
    tree = tree_of("INSERT INTO x SELECT a FROM t$files /*+ OPTIONS('a'='b') */ f JOIN db.u VERSION AS OF 1 ON true")
    assert sorted(table.name for table in tree.find_all(exp.Table)) == ["t$files", "u", "x"]


def test_what_sqlglot_cannot_read_stays_text() -> None:
    text = "SELECT * FROM t TABLESAMPLE (BUCKET 4 OUT OF 10) LATERAL VIEW OUTER (((nonsense"
    tree = tree_of(text)
    assert isinstance(tree, Verbatim)
    assert tree.sql(Paimon) == text


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("SELECT 1; SELECT 2", ["SELECT 1", "SELECT 2"]),
        ("SELECT 1; SELECT (2; 3); SELECT 4", ["SELECT 1", "SELECT (2; 3)", "SELECT 4"]),
        ("SELECT 1; SELECT a[(2; 3); 4] FROM t", ["SELECT 1", "SELECT a[(2; 3); 4] FROM t"]),
        ("SELECT (1; SELECT 2", ["SELECT (1", "SELECT 2"]),
    ],
)
def test_a_semicolon_inside_of_brackets_ends_no_statement(text: str, statements: list[str]) -> None:
    read = [tree for tree in sqlglot.parse(text, read="paimon") if tree is not None]
    assert [tree.sql("paimon") for tree in read] == statements


def test_what_is_malformed_is_refused() -> None:
    with pytest.raises(sqlglot.ParseError, match="Expected the end of the statement"):
        tree_of("ALTER TABLE t DELETE TAG a b")


def test_sqlglot_finds_the_dialect_by_itself() -> None:
    program = (
        "import json, sqlglot;"
        "print(json.dumps(sqlglot.transpile('ALTER TABLE t SET (\\'a\\' = \\'b\\')', read='paimon', write='spark')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ["ALTER TABLE t SET TBLPROPERTIES ('a' = 'b')"]


def test_compiled_modules_of_sqlglot_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise TypeError("interpreted classes cannot inherit from compiled")

    monkeypatch.setattr(dialect._Probe, "__init__", refuse)
    with pytest.raises(SetupError, match="pip uninstall sqlglotc"):
        dialect.check_sqlglot()


def test_nodes_know_their_place_in_the_text() -> None:
    columns = "a INT PRIMARY /* ! */ KEY NOT ENFORCED, b TIMESTAMP(3) NULL, CONSTRAINT k PRIMARY KEY (`a`, b)"
    text = f"CREATE TABLE t ({columns})"
    schema = tree_of(text).this

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
    assert tree_of(query).sql(Spark) == sqlglot.parse_one(query, dialect=Spark).sql(Spark)


def test_a_doubled_quote_stands_for_one() -> None:
    assert tree_of("SELECT 'it''s', \"a'\", r'x\\'").expressions[0].name == "it's"
