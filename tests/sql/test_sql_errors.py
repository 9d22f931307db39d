"""A malformed construct is refused with the place where it went wrong."""

from __future__ import annotations

import pytest

from paimon_sql.errors import PaimonError
from paimon_sql.sql.errors import SqlSyntaxError
from paimon_sql.sql.rewrite import RewriteContext, rewrite


def failure(text: str, context: RewriteContext) -> SqlSyntaxError:
    with pytest.raises(SqlSyntaxError) as caught:
        rewrite(text, context)
    return caught.value


def test_the_error_tells_line_and_column_and_underlines_the_place(context: RewriteContext) -> None:
    error = failure("CREATE TABLE t (\n  a INT,\n\tb INT PRIMARY KEY ENFORCED\n) WITH ('k' = 'v')", context)
    assert (error.line, error.column) == (3, 8)
    assert error.highlight() == "\tb INT PRIMARY KEY ENFORCED\n\t      ^^^^^^^^^^^^^^^^^^^^"
    assert "ENFORCED" in str(error) and "(line 3, column 8)" in str(error)
    assert isinstance(error, PaimonError) and isinstance(error, ValueError)


def test_a_place_at_the_end_of_the_text_is_underlined_behind_it() -> None:
    error = SqlSyntaxError("More is expected.", text="SELECT", start=6, end=6)
    assert error.highlight() == "SELECT\n      ^"


def test_a_place_over_several_lines_is_underlined_in_its_first() -> None:
    error = SqlSyntaxError("Wrong.", text="ab\ncd\nef", start=4, end=8)
    assert (error.line, error.column) == (2, 2)
    assert error.highlight() == "cd\n ^"


@pytest.mark.parametrize(
    ("text", "words", "underlined"),
    [
        # hints
        ("SELECT * FROM t /*+ OPTIONS('a') */", "'a' needs one value", ")"),
        ("SELECT * FROM t /*+ OPTIONS(a b) */", "'a' needs one value", "b"),
        ("SELECT * FROM t /*+ OPTIONS('a' '1') */", "'a' of the hint has no '='", "'a' '1'"),
        ("SELECT * FROM t /*+ OPTIONS('a'='b', c.d 1) */", "'c.d' of the hint has no '='", "c.d 1"),
        ("SELECT * FROM t /*+ OPTIONS('a' = 'b' 'c') */", "'a' needs one value", "'c'"),
        ("SELECT * FROM t /*+ OPTIONS('a' = 'b',) */", "missing", None),
        ("SELECT * FROM t /*+ OPTIONS('a' = -1) */", "'a' needs one value", "-1"),
        ("SELECT * FROM t /*+ OPTIONS('a' = 5L) */", "'a' needs one value", "5L"),
        ("SELECT * FROM t /*+ OPTIONS(= 'b') */", "key in quotes", "="),
        ("SELECT * FROM t /*+ OPTIONS('a' = 'b' */", "no closing parenthesis", None),
        ("SELECT * FROM t /*+ OPTIONS('a'='b'), BROADCAST(t) */", "only hint", None),
        ("SELECT * FROM t AS x /*+ OPTIONS('a'='b') */", "name of a table", "/*+ OPTIONS('a'='b') */"),
        ("SELECT * FROM t x /*+ OPTIONS('a'='b') */", "name of a table", None),
        ("SELECT /*+ OPTIONS('a'='b') */ * FROM t", "must follow a table", None),
        ("SELECT * FROM (SELECT 1) /*+ OPTIONS('a'='b') */", "must follow a table", None),
        ("/*+ OPTIONS('a'='b') */ SELECT 1", "must follow a table", None),
        ("DESCRIBE TABLE t /*+ OPTIONS('a'='b') */", "read or written", None),
        ("WITH c AS (SELECT 1) SELECT * FROM c /*+ OPTIONS('a'='b') */", "common table expression", None),
        # table functions
        ("SELECT * FROM paimon_incremental_query('t', 1)", "a start and an end", "paimon_incremental_query"),
        ("SELECT * FROM paimon_incremental_query('t', 1, 1 + 1)", "literals", None),
        ("SELECT * FROM paimon_incremental_query(t, 1, 2)", "literals", None),
        ("SELECT * FROM paimon_incremental_query('a b', 1, 2)", "literals", None),
        ("SELECT * FROM paimon_incremental_to_auto_tag('t')", "a tag", None),
        # table definitions
        ("CREATE TABLE t (a INT, PRIMARY KEY NOT ENFORCED)", "names of its columns", "PRIMARY KEY"),
        ("CREATE TABLE t (a INT PRIMARY KEY ENFORCED)", "cannot be ENFORCED", "PRIMARY KEY ENFORCED"),
        ("CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED, PRIMARY KEY (a) NOT ENFORCED)", "one primary key", None),
        ("CREATE TABLE t (`a,b` INT PRIMARY KEY NOT ENFORCED)", "comma", None),
        ("CREATE TABLE t (a INT PRIMARY KEY) WITH ('primary-key' = 'a')", "specified twice", "'primary-key' = 'a'"),
        ("CREATE TABLE t (a INT) PARTITIONED BY (a) WITH ('partition' = 'a')", "specified twice", "'partition' = 'a'"),
        ("CREATE TABLE t (a TIMESTAMP(3), WATERMARK FOR a)", "needs a column and an expression", "WATERMARK FOR a"),
        ("CREATE TABLE t (a INT, b AS) WITH ('k' = 'v')", "needs an expression", "AS"),
        ("CREATE TABLE t (a INT, b AS a + 1, PRIMARY KEY (B) NOT ENFORCED)", "not stored", "b AS a + 1"),
        ("CREATE TABLE t (a INT, b INT METADATA) PARTITIONED BY (`b`)", "not stored", "b INT METADATA"),
        ("CREATE TABLE t (a INT, b AS 1) WITH ('partition' = 'b')", "not stored", "b AS 1"),
        ("CREATE TABLE t (a INT METADATA VIRTUAL)", "needs a column that is stored", "a INT METADATA VIRTUAL"),
        ("CREATE TEMPORARY TABLE t (a INT) WITH ('k' = 'v')", "no temporary tables", "TEMPORARY"),
        ("CREATE TEMP TABLE t AS SELECT 1 AS a", "no temporary tables", "TEMP"),
        ("ALTER TABLE t ADD (b AS a + 1)", "Computed columns cannot be added", "AS a + 1"),
        ("ALTER TABLE t ADD b INT METADATA", "METADATA columns cannot be added", "METADATA"),
        # statement sets
        ("EXECUTE STATEMENT SET BEGIN SELECT 1; END", "consists of INSERT", "SELECT"),
        ("EXECUTE STATEMENT SET BEGIN END", "consists of INSERT", "END"),
        ("EXECUTE STATEMENT SET BEGIN INSERT INTO t VALUES (1)", "consists of INSERT", None),
        ("BEGIN STATEMENT SET; INSERT INTO t VALUES (1); DROP TABLE t; END", "consists of INSERT", "DROP"),
        ("EXPLAIN STATEMENT SET BEGIN INSERT INTO t VALUES (1); END", "EXPLAIN takes one statement", "STATEMENT"),
        ("CREATE TABLE t (a DECIMAL(50, 2)) WITH ('k' = 'v')", "between 1 and 38", "DECIMAL(50, 2)"),
        ("CREATE TABLE t (a TIMESTAMP(10)) WITH ('k' = 'v')", "between 0 and 9", "TIMESTAMP(10)"),
        ("CREATE TABLE t (a TIME WITH TIME ZONE) WITH ()", "WITH TIME ZONE is not supp", "TIME WITH TIME ZONE"),
        ("CREATE TABLE t (a INT,) WITH ('k' = 'v')", "Expected the name of a column", ")"),
        ("CREATE TABLE t (a INT) WITH ('k')", "'k' needs one value", None),
        ("CREATE TABLE t (b INT) LIKE s", "cannot define columns", "LIKE"),
        ("CREATE TABLE t LIKE s ROW FORMAT SERDE 'x'", "Expected the end", "ROW"),
        ("ALTER TABLE t ADD (PRIMARY KEY (a) NOT ENFORCED)", "cannot change", None),
        ("ALTER TABLE t ADD (a INT PRIMARY KEY NOT ENFORCED)", "cannot change", None),
        ("ALTER TABLE t DROP PRIMARY KEY", "cannot change", "PRIMARY"),
        ("ALTER TABLE t MODIFY WATERMARK FOR a AS a", "WATERMARK", None),
        ("ALTER TABLE t MODIFY a", "type of column", "a"),
        ("ALTER TABLE t MODIFY a INTERVAL YEAR", "type of column", None),
        ("ALTER TABLE t ADD (a INT) b", "Expected the end", "b"),
        # tags, catalogs, files
        ("ALTER TABLE t CREATE TAG", "name of a tag", None),
        ("ALTER TABLE t CREATE TAG a AS OF VERSION x", "ID of a snapshot", "x"),
        ("ALTER TABLE t CREATE TAG a RETAIN 5", "RETAIN needs a time", "5"),
        ("ALTER TABLE t CREATE TAG a RETAIN 5 YEARS", "RETAIN needs a time", "5"),
        ("ALTER TABLE t CREATE TAG a b", "Expected the end", "b"),
        ("ALTER TABLE t RENAME TAG a", "TO and the new name", None),
        ("ALTER TABLE t CREATE BRANCH b RETAIN 5 DAYS", "no time to live", "RETAIN"),
        ("ALTER TABLE t CREATE OR REPLACE BRANCH b", "cannot be replaced", "CREATE"),
        ("SHOW TAGS t x", "Expected the end", "x"),
        ("CREATE CATALOG c", "options in parentheses", None),
        ("CREATE CATALOG WITH ('a' = 'b')", "options in parentheses", None),
        ("DROP CATALOG IF EXISTS a b", "Expected the end", "b"),
        ("COPY INTO t FROM 'x'", "format of the files", None),
        ("COPY INTO t FROM s FILE_FORMAT = (TYPE = CSV)", "path in quotes", "s"),
        ("COPY INTO t FROM 'x' FILE_FORMAT = (CSV)", "a name and a value", None),
        ("COPY INTO t FROM 'x' FILE_FORMAT = (TYPE = CSV) FORCE", "FORCE needs = and TRUE or FALSE", None),
        ("COPY INTO 'x' FILE_FORMAT = (TYPE = CSV)", "needs FROM", "FILE_FORMAT"),
        ("COPY INTO 'x' FROM t FILE_FORMAT = (TYPE = CSV) FORCE = TRUE", "OVERWRITE", "FORCE"),
        ("COPY INTO t FROM 'x' FILE_FORMAT = ()", "needs TYPE", "FILE_FORMAT"),
        ("COPY INTO t FROM 'x' FILE_FORMAT = (SKIP_HEADER = 1)", "needs TYPE", "FILE_FORMAT"),
        ("COPY INTO t FROM 'x' FILE_FORMAT = (TYPE = CSV,)", "a name and a value", None),
        ("COPY INTO t FROM 'x' FILE_FORMAT = (TYPE =)", "needs a value", None),
        ("COPY INTO t FROM 'x' FILE_FORMAT = (TYPE = XML)", "CSV, JSON or PARQUET", "XML"),
        ("COPY INTO t FROM 'x' FILE_FORMAT = (TYPE = (CSV))", "CSV, JSON or PARQUET", "(CSV)"),
        ("COPY INTO t FROM 'x' FILE_FORMAT = (TYPE = CSV, type = JSON)", "TYPE twice", "type"),
        ("COPY INTO t FROM 'x' FILE_FORMAT = (TYPE = CSV, MODE = 'x')", "no option MODE for reading CSV", "MODE"),
        ("COPY INTO t FROM 'x' FILE_FORMAT = (TYPE = CSV, HEADER = TRUE)", "no option HEADER", "HEADER"),
        ("COPY INTO t FROM 'x' FILE_FORMAT = (TYPE = JSON, QUOTE = 'x')", "no option QUOTE", "QUOTE"),
        ("COPY INTO t FROM 'x' FILE_FORMAT = (TYPE = PARQUET, NULL_IF = 'x')", "no option NULL_IF", "NULL_IF"),
        ("COPY INTO t FROM 'x' FILE_FORMAT = (TYPE = CSV, SKIP_HEADER = 2)", "0 or 1, not '2'", "2"),
        ("COPY INTO t FROM 'x' FILE_FORMAT = (TYPE = CSV, QUOTE = 'ab')", "one character", "'ab'"),
        ("COPY INTO t FROM 'x' FILE_FORMAT = (TYPE = CSV, FIELD_DELIMITER = '')", "non-empty", "''"),
        ("COPY INTO t FROM 'x' FILE_FORMAT = (TYPE = CSV, COMPRESSION = ZIP)", "GZIP", "ZIP"),
        ("COPY INTO t FROM 'x' FILE_FORMAT = (TYPE = JSON, MULTI_LINE = 1)", "TRUE or FALSE", "1"),
        ("COPY INTO t FROM 'x' FILE_FORMAT = (TYPE = CSV, NULL_IF = ())", "several in parentheses", "()"),
        ("COPY INTO t FROM 'x' FILE_FORMAT = (TYPE = CSV QUOTE = 'x')", "one value", "QUOTE"),
        ("COPY INTO t FROM ' ' FILE_FORMAT = (TYPE = CSV)", "path in quotes", "' '"),
        ("COPY INTO t () FROM 'x' FILE_FORMAT = (TYPE = CSV)", "is empty", "()"),
        ("COPY INTO t (a, b INT) FROM 'x' FILE_FORMAT = (TYPE = CSV)", "only names", "INT"),
        ("COPY INTO t FROM 'x' FILE_FORMAT = (TYPE = CSV) ON_ERROR = SKIP", "SKIP_FILE", "SKIP"),
        ("COPY INTO t FROM 'x' FILE_FORMAT = (TYPE = CSV) PATTERN = x", "string in quotes", "x"),
        ("COPY INTO t FROM 'x' FILE_FORMAT = (TYPE = CSV) FORCE = TRUE FORCE = TRUE", "is specified twice", "FORCE"),
        ("COPY INTO t FROM 'x' FILE_FORMAT = (TYPE = CSV) OVERWRITE = TRUE", "Expected the end", "OVERWRITE"),
        ("COPY INTO 'x' FROM t FILE_FORMAT = (TYPE = CSV, SKIP_HEADER = 1)", "for writing CSV", "SKIP_HEADER"),
        ("COPY INTO 'x' FROM () FILE_FORMAT = (TYPE = CSV)", "needs a query", "()"),
        ("COPY INTO 'x' FROM (DROP TABLE t) FILE_FORMAT = (TYPE = CSV)", "only reads", "DROP"),
    ],
)  # fmt: skip
def test_malformed_constructs_are_refused(
    text: str, words: str, underlined: str | None, context: RewriteContext
) -> None:
    error = failure(text, context)
    assert words in str(error)
    assert text == error.text
    if underlined is not None:
        assert text[error.start :].startswith(underlined)
