"""Stories that once had wrong answers, made small by the runner: they stay, whatever the random ones come upon."""

from __future__ import annotations

from tests.spark.answers.story import Change, Check, Query, Statement, Step, Story


def _story(*steps: str | Step) -> Story:
    return Story(tuple(Statement(step) if isinstance(step, str) else step for step in steps))


def _ask(*queries: str, source: str = "t", hidden: tuple[str, ...] = ()) -> Check:
    return Check(source, hidden, tuple(map(Query, queries)))


def _coarse_times(file_format: str) -> Story:
    return _story(
        "CREATE TABLE t (id INT, at TIMESTAMP(3), day TIMESTAMP(0), p TIMESTAMP(3)) PARTITIONED BY (p)"
        f" TBLPROPERTIES ('file.format' = '{file_format}', 'metadata.stats-mode' = 'full')",
        "INSERT INTO t SELECT 1, x, x, x FROM VALUES (TIMESTAMP_NTZ '1969-12-31 23:59:58.999999') AS v(x)",
        "INSERT INTO t SELECT 2, x, x, x FROM VALUES (TIMESTAMP_NTZ '2024-11-03 01:30:00.123456') AS v(x)",
        _ask(
            *(
                f"SELECT id FROM {{source}} WHERE {name} {operator} {value}"
                for name in ("at", "day", "p")
                for operator in ("=", ">")
                for value in ("TIMESTAMP_NTZ '2024-11-03 01:30:00.123'",)
            ),
            "SELECT min(at), max(at), max(day) FROM {source}",
            "SELECT p, count(*) FROM {source} GROUP BY p",
        ),
    )


def _null_partition(kind: str, value: str, engine: str) -> Story:
    """New rows whose columns cannot be NULL, of keys whose old partition is that of NULL."""
    new = f"SELECT CAST(id AS INT), {value} AS c, 'a' AS p, {value} AS q FROM range(4)"
    # Other engines leave rows where they are.
    becomes = {
        "deduplicate": new,
        "partial-update": f"{new} WHERE id <> 1 UNION ALL SELECT 1, {value}, 'a', NULL",
    }
    return _story(
        f"CREATE TABLE t (k INT, c {kind}, p STRING, q {kind}) PARTITIONED BY (p, q)"
        f" TBLPROPERTIES ('primary-key' = 'k,p', 'bucket' = '-1', 'merge-engine' = '{engine}')",
        f"INSERT INTO t VALUES (1, NULL, 'a', NULL), (2, {value}, 'a', {value})",
        Change(f"INSERT INTO t {new}", becomes[engine]),
        _ask("SELECT * FROM {source}", "SELECT q, count(*) FROM {source} GROUP BY q"),
    )


FOUND = {
    "a global aggregate of which nothing is used": _story(
        "CREATE TABLE t (a INT, p STRING) PARTITIONED BY (p)",
        "INSERT INTO t VALUES (1, 'x'), (2, 'y')",
        _ask(
            "SELECT count(*) FROM (SELECT max(a) x FROM {source})",
            "SELECT EXISTS (SELECT count(*) FROM {source} WHERE p = 'z')",
            "SELECT 1 FROM {source} WHERE a > 5 HAVING true",
        ),
    ),
    "a constant that looks like a column": _story(
        "CREATE TABLE t (`1` INT, `true` BOOLEAN)",
        "INSERT INTO t VALUES (7, false)",
        _ask("SELECT max(1), min(true), count(`1`) FROM {source}"),
    ),
    "both zeros in partitions": _story(
        "CREATE TABLE t (a INT, p DOUBLE) PARTITIONED BY (p)",
        "INSERT INTO t VALUES (1, DOUBLE('-0.0')), (2, DOUBLE('0.0')), (3, DOUBLE('NaN'))",
        _ask(
            "SELECT p, count(*) FROM {source} GROUP BY p",
            "SELECT p, max(a) FROM {source} WHERE p = 0 GROUP BY p",
            "SELECT DISTINCT p FROM {source}",
        ),
    ),
    "times coarser than their values, ORC": _coarse_times("orc"),
    "times coarser than their values, Parquet": _coarse_times("parquet"),
    "hidden columns beside partitions of CHAR": _story(
        "CREATE TABLE t (a INT, p CHAR(3)) PARTITIONED BY (p)",
        "INSERT INTO t VALUES (1, 'x'), (2, 'y')",
        _ask("SELECT a, p FROM {source} WHERE __paimon_row_index = 0", hidden=("__paimon_row_index",)),
        Change("DELETE FROM t WHERE a = 1", "SELECT * FROM {source} WHERE a <> 1"),
    ),
    "keys with some of the partition columns": _story(
        "CREATE TABLE t (k INT, p STRING, q STRING, n INT) PARTITIONED BY (p, q)"
        " TBLPROPERTIES ('primary-key' = 'k,p', 'bucket' = '-1', 'deletion-vectors.enabled' = 'true')",
        "INSERT INTO t VALUES (1, 'a', 'x', 1), (1, 'b', 'x', 2)",
        Change(
            "INSERT INTO t VALUES (1, 'a', 'y', 3)",
            "SELECT * FROM {source} WHERE p <> 'a' UNION ALL SELECT 1, 'a', 'y', 3",
        ),
        Change(
            "INSERT OVERWRITE t PARTITION (p = 'b') SELECT 1, 'z', 4",
            "SELECT * FROM {source} WHERE p <> 'b' UNION ALL SELECT 1, 'b', 'z', 4",
        ),
        Change(
            "INSERT OVERWRITE t PARTITION (p = 'a', q = 'v') SELECT 1, 5",
            "SELECT * FROM {source} WHERE p <> 'a' UNION ALL SELECT 1, 'a', 'v', 5",
        ),
        _ask("SELECT * FROM {source}", "SELECT k, p, count(*) FROM {source} GROUP BY k, p"),
    ),
    **{
        f"keys that leave the partition of NULL, {kind}, {engine}": _null_partition(kind, value, engine)
        for kind, value, engine in (
            ("STRING", "'z'", "deduplicate"),
            ("INT", "7", "deduplicate"),
            ("DATE", "DATE '2024-01-01'", "partial-update"),
        )
    },
    "an update that would leave its row in its partition": _story(
        "CREATE TABLE t (k INT, p STRING, n INT) PARTITIONED BY (p)"
        " TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '-1', 'merge-engine' = 'partial-update')",
        "INSERT INTO t VALUES (1, 'a', 1)",
        Change("UPDATE t SET p = 'b' WHERE k = 1", "SELECT k, IF(k = 1, 'b', p) p, n FROM {source}"),
        _ask("SELECT * FROM {source}", "SELECT p, count(*) FROM {source} GROUP BY p"),
    ),
    "the first rows of a system table, without columns": _story(
        "CREATE TABLE t (a INT, p STRING) PARTITIONED BY (p)",
        _ask("SELECT count(*) FROM (SELECT 1 FROM {source} LIMIT 3)", source="`t$partitions`"),
        "INSERT INTO t VALUES (1, 'x'), (2, 'y')",
        _ask(
            "SELECT count(*) FROM (SELECT 1 FROM {source} LIMIT 3)",
            "SELECT count(*) FROM (SELECT 1 FROM {source} LIMIT 1)",
            "SELECT EXISTS (SELECT 1 FROM {source} LIMIT 3 OFFSET 2)",
            source="`t$partitions`",
        ),
    ),
    "costs of columns by which Spark cannot estimate": _story(
        "CREATE TABLE t (a INT, d DOUBLE, f FLOAT, at TIMESTAMP_NTZ)",
        "INSERT INTO t VALUES (1, DOUBLE('-Infinity'), FLOAT('NaN'), TIMESTAMP_NTZ '2024-01-01 00:00:00'),"
        " (2, 1.5, 2, TIMESTAMP_NTZ '2024-01-02 00:00:00'), (3, NULL, 7, NULL)",
        "SET spark.sql.cbo.enabled = true",
        "ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS",
        _ask(
            "SELECT a, count(*) FROM {source} WHERE a IN (SELECT a FROM {source} WHERE d <= 2 AND f > 2) GROUP BY a",
            "SELECT x.a FROM {source} x JOIN {source} y USING (d, f) WHERE x.d BETWEEN DOUBLE('Infinity') AND 2",
            "SELECT x.a FROM {source} x JOIN {source} y USING (at)"
            " WHERE x.at IN (TIMESTAMP_NTZ '2024-01-01 00:00:00', TIMESTAMP_NTZ '2024-01-03 00:00:00')",
        ),
    ),
}
"""The stories by what went wrong."""
