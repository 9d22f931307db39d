"""Tags, branches, partitions, catalogs, COPY INTO: statements of ours, and how they are carried."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from paimon_sql.errors import InvalidInputError
from paimon_sql.sql.carried_statements import Statement, call_sql, decode, encode
from paimon_sql.sql.functions import called_names, with_placeholders
from paimon_sql.sql.paimon import Paimon
from paimon_sql.sql.rewrite import RewriteContext, rewrite
from tests.sql.sql_cases import STATEMENTS, T
from tests.sql.statement_classes import s


def literals(text: str) -> list[str]:
    """The values of the strings in a text."""
    return [t.text for t in Paimon().tokenize(text) if t.token_type is TokenType.STRING]


@pytest.mark.parametrize(("text", "statement"), STATEMENTS)
def test_statements_are_read(text: str, statement: Statement, carried: Callable[[str], Statement]) -> None:
    assert carried(text) == statement


@pytest.mark.parametrize("text", [text for text, _ in STATEMENTS])
def test_a_carried_statement_comes_back_from_its_call(text: str, context: RewriteContext) -> None:
    rewritten = rewrite(text, context)
    (literal,) = literals(rewritten.sql)
    assert (decode(literal),) == rewritten.statements


def test_the_call_goes_to_the_tables_catalog_or_to_one_of_ours(sql: Callable[[str], str]) -> None:
    assert sql("SHOW TAGS dialect_cat.x.t").startswith("CALL dialect_cat.sys.`__execute`(statement => '{")
    assert sql("DROP CATALOG c").startswith("CALL paimon.sys.`__execute`(")
    assert rewrite("DROP CATALOG c", RewriteContext("spark_catalog", "x", frozenset({"b", "a"}))).sql.startswith(
        "CALL a.sys."
    )
    assert rewrite("DROP CATALOG c", RewriteContext("spark_catalog", "x", frozenset())).sql == "DROP CATALOG c"
    assert call_sql("my cat", s.ShowTags(T)).startswith("CALL `my cat`.sys.")


def test_a_hint_at_the_end_goes_with_its_statement(context: RewriteContext) -> None:
    for text in (
        "DELETE FROM t /*+ OPTIONS('a' = 'b') */",
        "ALTER MATERIALIZED TABLE t AS TABLE x /*+ OPTIONS('a'='b') */",
    ):
        assert rewrite(f"{text};", context).sql.endswith("}');")


def test_a_tables_name_leads_where_spark_would_find_it() -> None:
    context = RewriteContext("paimon", "db", frozenset({"paimon", "p2"}), frozenset({"spark_catalog", "hive"}))
    assert context.table(("t",)) == ("paimon", "db", "t")
    assert context.table(("x", "t")) == ("paimon", "x", "t")
    assert context.table(("p2", "t")) == ("p2", "t")
    assert context.table(("p2", "x", "t")) == ("p2", "x", "t")
    assert context.table(("hive", "t")) is None
    assert context.table(("else", "x", "t")) is None
    assert context.table(None) is None
    assert RewriteContext("hive", "db", frozenset({"paimon"})).table(("t",)) is None


def test_every_statement_class_can_be_carried() -> None:
    seen = {type(statement) for _, statement in STATEMENTS}
    seen |= {
        s.DeleteFrom,
        s.Update,
        s.MergeInto,
        s.EvolvingInsert,
        s.ExplainChange,
        s.CreateTableLike,
        s.AddColumns,
        s.DropPartitions,
        s.RepairPartitions,
        s.DescribePartition,
        s.ModifyColumns,
    }
    classes = {each for each in vars(s).values() if issubclass(each, s.Statement)}
    assert seen == {each for each in classes if not each.__subclasses__()}


awkward = st.text(st.sampled_from("ab'\"\\%$\n\t{}:?;`-é序\x00") | st.characters(codec="utf-8"), max_size=12)


@given(awkward, awkward, awkward, st.dictionaries(awkward, awkward, max_size=3))
def test_any_text_survives_the_call(name: str, where: str, value: str, options: dict[str, str]) -> None:
    delete = s.DeleteFrom(("paimon", name), where=where, options=options)
    update = s.Update(("paimon", name), (s.Assignment((name, value), where),), ctes=value)
    merge = s.MergeInto(
        ("paimon", name), where, value, (s.MergeClause("MATCHED", "UPDATE", where, update.assignments),)
    )
    for statement in (delete, update, merge):
        text = encode(statement)
        assert decode(text) == statement
        assert not set(text) & set("'\\$\n")
        assert literals(call_sql("c", statement)) == [text]


def test_options_are_never_taken_for_parts_of_the_statement() -> None:
    statement = s.CreateCatalog("c", {"is": "DropCatalog", "map": "x", "name": "d"})
    assert decode(encode(statement)) == statement


def test_the_carried_text_is_json_for_people_to_read() -> None:
    body = json.loads(unquote(encode(s.DeleteFrom(T, where="a = 'x'"))))
    assert body == {"is": "DeleteFrom", "table": ["paimon", "db", "t"], "where": "a = 'x'"}


def test_a_text_that_carries_no_statement_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="is not an encoded statement"):
        decode('{"is":"Assignment","column":["a"],"value":"1"}')


def test_a_default_is_left_out_and_another_value_is_kept() -> None:
    optional = {f.name for f in fields(s.CreateTag)} - {"table", "tag"}
    assert not optional & set(json.loads(unquote(encode(s.CreateTag(T, "a")))))
    assert "if_not_exists" in json.loads(unquote(encode(s.CreateTag(T, "a", if_not_exists=True))))


@pytest.mark.parametrize(
    "kind", ["CREATE TEMPORARY FUNCTION f() RETURN 1", "DROP TEMPORARY FUNCTION f", "DESC FUNCTION f"]
)
def test_functions_of_a_session_stay_sparks(kind: str, sql: Callable[[str], str]) -> None:
    assert sql(kind) == kind


def test_calls_are_found_and_stood_in_for() -> None:
    text = "f(x, g(1)) + a.`h`() + abs(x) + (SELECT count(*) FROM t WHERE x IN (1)) -- f(1)"
    assert called_names(text) == [("f",), ("g",), ("a", "h"), ("abs",), ("count",), ("IN",)]
    kinds = {("f",): "INT", ("a", "h"): "STRING"}
    null = "CAST(NULL AS INT)"
    assert with_placeholders(text, kinds.get) == text.replace(
        "f(x, g(1))", f"IF(struct(x, g(1)) IS NULL, {null}, {null})"
    ).replace("a.`h`()", "CAST(NULL AS STRING)")


def test_of_a_shared_catalog_only_paimons_tables_are_ours() -> None:
    shared = frozenset({"spark_catalog"})
    context = RewriteContext(
        *("spark_catalog", "db", shared),
        shared_catalogs=shared,
        default_provider="parquet",
        is_foreign_table=lambda table: table[-1] != "p",
    )
    for text in ("DELETE FROM {}", "UPDATE db.{} SET a = 1", "ALTER TABLE {} SET ('a' = 'b')", "SHOW TAGS {}"):
        assert rewrite(text.format("o"), context).sql == text.format("o")
        assert rewrite(text.format("p"), context).sql != text.format("p")
    assert rewrite("DELETE FROM SPARK_CATALOG.db.p", context).sql.startswith("CALL spark_catalog.sys")
    made = "CREATE TABLE new (a INT, PRIMARY KEY (a) NOT ENFORCED)"
    assert rewrite(made, context).sql == made
    assert "'primary-key'" in rewrite(f"{made} USING paimon", context).sql
    assert "'primary-key'" in rewrite(made, replace(context, default_provider="paimon")).sql
    for text in ("CREATE TABLE new LIKE o", "CREATE TABLE new LIKE p USING csv", "CREATE FUNCTION f AS 'a.B'"):
        assert rewrite(text, context).sql == text
    assert rewrite("CREATE TABLE new LIKE p", context).sql.startswith("CALL spark_catalog.sys")
