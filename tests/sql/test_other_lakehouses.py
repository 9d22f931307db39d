"""Statements of other lakehouses are refused with what Paimon has instead."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import sqlglot

from paimon_sql.procedures import procedures
from paimon_sql.sql.errors import SqlSyntaxError
from paimon_sql.sql.rewrite import RewriteContext, rewrite
from paimon_sql.sql.translate import as_spark, format_sql
from paimon_sql.system_tables import system_tables

STATEMENTS = {
    "VACUUM t RETAIN 168 HOURS DRY RUN": "CALL sys.expire_snapshots(table => 't')",
    "vacuum db.t": "CALL sys.remove_orphan_files(table => 'db.t')",
    "OPTIMIZE t": "Write CALL sys.compact(table => 't').",
    "OPTIMIZE t FULL": "CALL sys.compact(table => 't')",
    "OPTIMIZE TABLE t WHERE dt > '1' ZORDER BY (a, b)": "order_strategy => 'zorder', order_by => 'a,b'",
    "OPTIMIZE t ZORDER BY a": "order_by => 'a'",
    "REORG TABLE t APPLY (PURGE)": "CALL sys.compact(table => 't', compact_strategy => 'full')",
    "DESCRIBE HISTORY t": "SELECT * FROM t$snapshots",
    "DESC HISTORY `my db`.t LIMIT 1": "SELECT * FROM `my db`.t$snapshots",
    "DESCRIBE DETAIL t": "SELECT * FROM t$summary",
    "RESTORE TABLE t TO VERSION AS OF 3": "CALL sys.rollback(table => 't', version => '3')",
    "RESTORE t TO TIMESTAMP AS OF '2024-01-01'": "CALL sys.rollback_to_timestamp(table => 't'",
    "RESTORE t": "CALL sys.rollback(table => 't', version => '<snapshot or tag>')",
    "FSCK REPAIR TABLE t": "CALL sys.remove_unexisting_files(table => 't', dry_run => true)",
    "ALTER TABLE t EXECUTE optimize": "CALL sys.compact(table => 't')",
    "ALTER TABLE t EXECUTE expire_snapshots(retention_threshold => '7d')": "CALL sys.expire_snapshots(table => 't')",
    "ALTER TABLE t EXECUTE something": "SHOW PROCEDURES IN sys",
    "CREATE TABLE t SHALLOW CLONE db.s VERSION AS OF 1": "CALL sys.copy(source_table => 'db.s', target_table => 't')",
    "CREATE OR REPLACE TABLE t CLONE s": "CALL sys.copy(source_table => 's', target_table => 't')",
}


@pytest.mark.parametrize("text", STATEMENTS)
def test_the_error_points_to_what_paimon_has(text: str, context: RewriteContext) -> None:
    with pytest.raises(SqlSyntaxError, match=r"^Paimon has no [A-Z ]+\. ") as caught:
        rewrite(text, context)
    assert STATEMENTS[text] in str(caught.value)
    marked = text[caught.value.start : caught.value.end]
    assert marked.upper() in f"{caught.value}" and marked.split()[0].upper() != "TABLE"


def test_what_the_errors_name_exists() -> None:
    named = ") ".join(STATEMENTS.values())
    for procedure, arguments in re.findall(r"sys\.(\w+)\(([^)]*)", named):
        known = {a.name for a in procedures()[procedure].arguments}
        assert known >= set(re.findall(r"(\w+) =>", arguments))
    assert set(re.findall(r"\$(\w+)", named)) <= set(system_tables())


@pytest.mark.parametrize(
    "text",
    [
        "VACUUM hive.db.t",
        "VACUUM delta.`/a/path/x`.y.z.w",
        "OPTIMIZE hive.db.t",
        "DESCRIBE HISTORY hive.db.t",
        "VACUUM 'a path'",
        "DESCRIBE HISTORY",
        "DESCRIBE history.t",
        "ALTER TABLE hive.db.t EXECUTE optimize",
    ],
)
def test_statements_about_other_tables_stay(text: str, context: RewriteContext) -> None:
    assert rewrite(text, replace(context, other_catalogs=frozenset({"hive", "delta"}))).sql == text


def test_a_column_of_a_table_that_is_called_history_is_described(context: RewriteContext) -> None:
    known = replace(context, has_table=lambda name: name == ("paimon", "db", "HISTORY"))
    assert rewrite("DESCRIBE HISTORY id", known).sql == "DESCRIBE HISTORY id"
    with pytest.raises(SqlSyntaxError):
        rewrite("DESCRIBE DETAIL id", known)


def test_the_dialect_reads_them_with_their_table() -> None:
    tree = sqlglot.parse_one("VACUUM db.t RETAIN 1 HOURS", read="paimon")
    assert (type(tree).__name__, [each.sql() for each in tree.expressions]) == ("OtherLakehouse", ["db.t"])
    assert tree.sql("paimon") == format_sql("VACUUM db.t RETAIN 1 HOURS") == "VACUUM db.t RETAIN 1 HOURS"
    with pytest.raises(SqlSyntaxError):
        as_spark("VACUUM db.t")
