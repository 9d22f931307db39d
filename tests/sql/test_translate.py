"""Files of statements in another spelling, and laid out anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from paimon_sql.shell.app import app
from paimon_sql.sql.context import RewriteContext
from paimon_sql.sql.rewrite import rewrite
from paimon_sql.sql.translate import as_flink, as_spark, format_sql

FLINKS = "CREATE TABLE t (a INT, b TIMESTAMP(3), PRIMARY KEY (a) NOT ENFORCED) WITH ('bucket' = '2')"
SPARKS = (
    "CREATE TABLE t (a INT, b TIMESTAMP_NTZ)"
    " TBLPROPERTIES ('bucket' = '2', 'primary-key' = 'a', 'paimon-sql.type.b' = 'TIMESTAMP(3)')"
)


def test_flinks_statements_become_sparks_word_for_word() -> None:
    assert as_spark(FLINKS) == SPARKS
    assert as_spark("select  a -- why\nfrom t$files") == "select  a -- why\nfrom `t$files`"
    for text in ("DELETE FROM t WHERE a = 1", "ALTER TABLE cat.db.t CREATE TAG x", "SELECT 1", "nonsense"):
        assert as_spark(text) == text
    assert as_spark("CALL cat.sys.rollback_to('t', 2)") == "CALL cat.sys.rollback(table => 't', snapshot => 2)"


def test_what_spark_lacks_is_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    columns = "a INT, b AS a + 1, c TIMESTAMP(3), WATERMARK FOR c AS c - INTERVAL '5' SECOND"
    assert as_spark(f"CREATE TABLE t ({columns}) WITH ('k' = 'v')") == (
        "CREATE TABLE t (a INT, c TIMESTAMP_NTZ) TBLPROPERTIES ('k' = 'v', 'paimon-sql.type.c' = 'TIMESTAMP(3)')"
    )
    assert "leaves out the computed column b, WATERMARK FOR c" in caplog.text
    flinks = as_flink(f"CREATE TABLE t ({columns}, d STRING METADATA FROM 'x' VIRTUAL) WITH ('k' = 'v')")
    for line in ("b AS a + 1", "WATERMARK FOR c AS c - INTERVAL '5' SECOND", "d STRING METADATA FROM 'x' VIRTUAL"):
        assert line in flinks


def test_sparks_definitions_become_flinks() -> None:
    text = "CREATE TABLE t (a INT, b TIMESTAMP) USING paimon TBLPROPERTIES ('primary-key' = 'a', 'bucket' = '1')"
    assert as_flink(text) == (
        "CREATE TABLE t (\n  a INT,\n  b TIMESTAMP(6) WITH LOCAL TIME ZONE,\n  PRIMARY KEY (a) NOT ENFORCED\n)\n"
        "WITH (\n  'bucket'='1'\n)"
    )
    assert as_flink("ALTER TABLE t UNSET TBLPROPERTIES ('a')") == "ALTER TABLE t RESET ('a')"
    assert as_flink("ALTER TABLE t ADD COLUMNS (a INT, b INT)") == "ALTER TABLE t ADD (a INT, b INT)"
    assert as_flink("ALTER TABLE t RENAME COLUMN a TO b") == "ALTER TABLE t RENAME a TO b"
    for text in ("select  1", "DELETE FROM t  WHERE a = 1", "not ( sql"):
        assert as_flink(text) == text


def test_a_layout_keeps_the_comments_and_the_spelling() -> None:
    assert format_sql("select a, -- why\n b from t /*+ OPTIONS('a'='b') */ x where a>1") == (
        "SELECT\n  a, /* why */\n  b\nFROM t /*+ OPTIONS('a' = 'b') */ AS x\nWHERE\n  a > 1"
    )
    assert "WITH (" in format_sql(FLINKS)
    laid_out = format_sql("create table t (a int) using paimon tblproperties ('k' = 'v')")
    assert laid_out == "CREATE TABLE t (\n  a INT\n)\nUSING PAIMON\nTBLPROPERTIES (\n  'k'='v'\n)"
    for text in ("nonsense (", "ALTER TABLE t /* which */ CREATE TAG x", "SET a = b  c", "BEGIN SELECT 1; END"):
        assert format_sql(text) == text


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (("transpile",), f"-- first\n{SPARKS}; -- here\nsource other.sql\n\nSELECT 1\n"),
        (("transpile", "--to", "spark"), f"-- first\n{SPARKS}; -- here\nsource other.sql\n\nSELECT 1\n"),
        (
            ("format",),
            "-- first\nCREATE TABLE t (\n  a INT,\n  b TIMESTAMP(3),\n  PRIMARY KEY (a) NOT ENFORCED\n)\nWITH (\n"
            "  'bucket'='2'\n); -- here\nsource other.sql\n\nSELECT\n  1\n",
        ),
    ],
)
def test_files_are_translated_statement_by_statement(arguments: tuple[str, ...], printed: str, tmp_path: Path) -> None:
    file = tmp_path / "a.sql"
    file.write_text(f"-- first\n{FLINKS}; -- here\nsource other.sql\n\nSELECT 1\n")
    done = CliRunner().invoke(app, [*arguments, str(file)])
    assert (done.exit_code, done.stdout) == (0, printed)
    piped = CliRunner().invoke(app, [*arguments, "-"], input=file.read_text())
    assert (piped.exit_code, piped.stdout) == (0, printed)


def test_files_are_changed_only_if_asked_and_all_can_be_read(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.sql", tmp_path / "bad.sql"
    good.write_text("select 1")
    bad.write_text("SELECT 1;\nALTER TABLE t\n  DELETE TAG a b")
    failed = CliRunner().invoke(app, ["format", "--write", str(good), str(bad)])
    assert failed.exit_code == 1
    assert "Expected the end of the statement" in failed.stderr
    assert f"{bad}:3" in failed.stderr
    assert good.read_text() == "select 1"
    done = CliRunner().invoke(app, ["format", "--write", str(good)])
    assert (done.exit_code, done.stdout, good.read_text()) == (0, "", "SELECT\n  1")
    assert CliRunner().invoke(app, ["transpile", "--to", "hive", str(good)]).exit_code == 2


def test_explain_rewrite_tells_what_becomes_of_a_statement() -> None:
    context = RewriteContext("paimon", "db", frozenset({"paimon"}))
    usage = rewrite("-- why\nexplain rewrite SELECT * FROM t$files", context)
    assert usage.sql == (
        "SELECT * FROM VALUES ('parsed by Spark', 'SELECT * FROM `t$files`') AS rewritten(step, statement)"
    )
    assert not usage.statements
    usage = rewrite("EXPLAIN REWRITE DELETE FROM t WHERE a = 'x'", context)
    assert "('parsed by Spark', 'DELETE FROM t WHERE a = \\'x\\'')" in usage.sql
    assert "('executed by paimon-sql', 'DeleteFrom(" in usage.sql
    assert "parsed by Spark" not in rewrite("EXPLAIN REWRITE ALTER TABLE t CREATE TAG x", context).sql
