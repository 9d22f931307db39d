"""Cases that several tests look at: statements with what they become, and statements that must stay as they are.

In ``cases/*.txt`` a case is two lines, the text and ``=>`` with what it becomes; ``␤`` stands for a line break.
"""

from __future__ import annotations

from pathlib import Path

from paimon_sql.sql.carried_statements import Statement
from paimon_sql.sql.text.secrets import secret_store
from tests.sql.statement_classes import s

FOLDER = Path(__file__).parent / "cases"
REWRITES = ("system_tables", "hints", "functions", "create_table", "alter_table", "call", "session")


def pairs(name: str) -> list[tuple[str, str]]:
    """The texts of a file with what they become."""
    lines = [line.replace("␤", "\n") for line in _lines(name)]
    return [(before, after.removeprefix("=> ")) for before, after in zip(lines[::2], lines[1::2], strict=True)]


def plain() -> list[str]:
    """Plain Spark SQL, a statement a line, and texts that hold no statement."""
    texts = [*_lines("plain"), *_lines("spark_grammar")]
    return ["", ";", " \n ", *(line.replace("␤", "\n") for line in texts)]


def _lines(name: str) -> list[str]:
    lines = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").split("\n")
    return [line for line in lines if line and not line.startswith("# ")]


T = ("paimon", "db", "t")
CSV = {"TYPE": "CSV"}
_MADE = (
    "CREATE MATERIALIZED TABLE t (a, `b c` COMMENT 'x', CONSTRAINT k PRIMARY KEY (a) NOT ENFORCED) COMMENT 'c'"
    " PARTITIONED BY (`b c`) WITH ('bucket' = '1') FRESHNESS = INTERVAL '3' MINUTES REFRESH_MODE = FULL AS "
)
_LATER = "CREATE OR ALTER MATERIALIZED TABLE db.t FRESHNESS = INTERVAL 1 DAY\nAS "
_AGAIN = "alter materialized table t as "


def _behind(before: str, query: str) -> str:
    """A query with blanks for all that stands before it."""
    return "".join(c if c == "\n" else " " for c in before) + query


STATEMENTS: list[tuple[str, Statement]] = [
    ("ALTER TABLE t CREATE TAG `a-b`", s.CreateTag(T, "a-b")),
    ("ALTER TABLE t CREATE TAG a AS OF VERSION 1 RETAIN 7 DAYS", s.CreateTag(T, "a", "CREATE", 1, "7 d")),
    ("ALTER TABLE t CREATE TAG IF NOT EXISTS a RETAIN 12 HOURS", s.CreateTag(T, "a", "CREATE", None, "12 h", True)),
    ("ALTER TABLE t CREATE OR REPLACE TAG a RETAIN 5 minutes", s.CreateTag(T, "a", "CREATE OR REPLACE", None, "5 min")),
    ("ALTER TABLE t REPLACE TAG a AS OF VERSION 2", s.CreateTag(T, "a", "REPLACE", 2)),
    ("ALTER TABLE t DELETE TAG `a,b`;", s.DeleteTag(T, "a,b")),
    ("ALTER TABLE t DELETE TAG IF EXISTS a", s.DeleteTag(T, "a", True)),
    ("ALTER TABLE t RENAME TAG a TO `b c`", s.RenameTag(T, "a", "b c")),
    ("SHOW TAGS dialect_cat.x.t", s.ShowTags(("dialect_cat", "x", "t"))),
    ("ALTER TABLE t CREATE BRANCH b", s.CreateBranch(T, "b")),
    ("ALTER TABLE t CREATE BRANCH IF NOT EXISTS b AS OF TAG `g 1`", s.CreateBranch(T, "b", "g 1", True)),
    ("ALTER TABLE t CREATE BRANCH b AS OF VERSION 3", s.CreateBranch(T, "b", None, False, 3)),
    ("ALTER TABLE t CREATE BRANCH b AS OF VERSION 'g 1'", s.CreateBranch(T, "b", "g 1")),
    ("ALTER TABLE t DROP BRANCH IF EXISTS b", s.DeleteBranch(T, "b", True)),
    ("ALTER TABLE t DELETE BRANCH `a,b`", s.DeleteBranch(T, "a,b")),
    ("ALTER TABLE t RENAME BRANCH a TO b", s.RenameBranch(T, "a", "b")),
    ("SHOW BRANCHES IN t", s.ShowBranches(T)),
    ("ANALYZE TABLE t COMPUTE STATISTICS", s.AnalyzeTable(T)),
    ("ANALYZE TABLE t PARTITION (a) COMPUTE STATISTICS NOSCAN", s.AnalyzeTable(T, (("a", None),), noscan=True)),
    ("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS a, `b c`", s.AnalyzeTable(T, columns=("a", "b c"))),
    ("ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS", s.AnalyzeTable(T, all_columns=True)),
    (
        "CREATE CATALOG c WITH ('type' = 'paimon', 'n' = 5)",
        s.CreateCatalog("c", {"type": "paimon", "n": secret_store().store("5")}),
    ),
    (
        "CREATE CATALOG IF NOT EXISTS `c d` COMMENT 'x' WITH ('a'='b')",
        s.CreateCatalog("c d", {"a": secret_store().store("b")}, True, "x"),
    ),
    ("DROP CATALOG IF EXISTS c", s.DropCatalog("c", True)),
    ("CREATE FUNCTION f(x INT) RETURN x + 1", s.CreateFunction(("paimon", "db", "f"), "(x INT) RETURN x + 1")),
    (
        "create or replace function paimon.db.f() RETURN SELECT count(*) FROM t$files",
        s.CreateFunction(("paimon", "db", "f"), "() RETURN SELECT count(*) FROM `t$files`", replace=True),
    ),
    (
        "CREATE FUNCTION IF NOT EXISTS db.`f` AS 'a.B' LANGUAGE JAVA USING JAR 'x.jar'",
        s.CreateFunction(("paimon", "db", "f"), "AS 'a.B'  USING JAR 'x.jar'", if_not_exists=True),
    ),
    ("DROP FUNCTION IF EXISTS f", s.DropFunction(("paimon", "db", "f"), if_exists=True)),
    ("DESC FUNCTION EXTENDED `sys`.bucket", s.DescribeFunction(("paimon", "sys", "bucket"), True)),
    (
        _MADE + "SELECT a, b AS `b c` FROM t$files;",
        s.CreateMaterializedTable(
            T,
            _behind(_MADE, "SELECT a, b AS `b c` FROM `t$files`"),
            ("a", "b c"),
            {"b c": "x"},
            ("a",),
            "c",
            ("b c",),
            {"bucket": "1"},
            ("3", "MINUTE"),
            "FULL",
        ),
    ),
    (
        _LATER + "SELECT 1",
        s.CreateMaterializedTable(T, _behind(_LATER, "SELECT 1"), freshness=("1", "DAY"), or_alter=True),
    ),
    (_AGAIN + "(SELECT 2)", s.ChangeMaterializedQuery(T, _behind(_AGAIN, "(SELECT 2)"))),
    ("ALTER MATERIALIZED TABLE t SUSPEND", s.SuspendMaterializedTable(T)),
    ("ALTER MATERIALIZED TABLE t RESUME WITH ('a' = 'b')", s.ResumeMaterializedTable(T, {"a": "b"})),
    ("ALTER MATERIALIZED TABLE t REFRESH", s.RefreshMaterializedTable(T)),
    (
        "ALTER MATERIALIZED TABLE t REFRESH PARTITION (d = DATE '2024-01-01', h = -3)",
        s.RefreshMaterializedTable(T, {"d": "2024-01-01", "h": "-3"}),
    ),
    ("DROP MATERIALIZED TABLE IF EXISTS t", s.DropMaterializedTable(T, True)),
    ("SHOW MATERIALIZED TABLES", s.ShowMaterializedTables(("paimon", "db"))),
    (
        "SHOW MATERIALIZED TABLES IN dialect_cat.x LIKE 'a%'",
        s.ShowMaterializedTables(("dialect_cat", "x"), "a%"),
    ),
    ("SHOW CREATE MATERIALIZED TABLE t", s.ShowCreateMaterializedTable(T)),
    ("COPY INTO t FROM '/p' FILE_FORMAT = (TYPE = CSV)", s.CopyIntoTable(T, "/p", CSV)),
    (
        "COPY INTO t (a, `b c`) FROM '/p' FILE_FORMAT = (type = 'CSV', SKIP_HEADER = 1, NULL_IF = ('', '\\\\N', 'x'))"
        " PATTERN = '.*\\.csv' FORCE = TRUE ON_ERROR = SKIP_FILE",
        s.CopyIntoTable(
            T,
            "/p",
            {"TYPE": "CSV", "SKIP_HEADER": "1", "NULL_IF": ("", "\\N", "x")},
            ("a", "b c"),
            ".*\\.csv",
            True,
            "SKIP_FILE",
        ),
    ),
    ("COPY INTO '/p' FROM t$ro FILE_FORMAT = (TYPE = CSV)", s.CopyIntoLocation("/p", "`t$ro`", False, CSV)),
    (
        "COPY INTO '/p' FROM (SELECT (1)) FILE_FORMAT = (TYPE = CSV) OVERWRITE = TRUE",
        s.CopyIntoLocation("/p", "SELECT (1)", True, CSV, True),
    ),
    (
        "COPY INTO t FROM \"/p\" FILE_FORMAT = (TYPE = json, multi_line = true, NULL_IF = 'it''s', COMPRESSION = None)"
        ' ON_ERROR = CONTINUE FORCE = FALSE PATTERN = "a\\d"',
        s.CopyIntoTable(
            T,
            "/p",
            {"TYPE": "JSON", "MULTI_LINE": "TRUE", "NULL_IF": ("it's",), "COMPRESSION": "NONE"},
            pattern="a\\d",
            on_error="CONTINUE",
        ),
    ),
    (
        "COPY INTO '/p' FROM (VALUES (1)) FILE_FORMAT = (TYPE = CSV, FIELD_DELIMITER = '\\t', QUOTE = '')",
        s.CopyIntoLocation("/p", "VALUES (1)", True, {"TYPE": "CSV", "FIELD_DELIMITER": "\t", "QUOTE": ""}, False),
    ),
]
"""Statements of ours: the text and what it is read into."""
