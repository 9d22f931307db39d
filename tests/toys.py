"""Uses a toy of each kind through SQL; prints the last answer of each by name, as JSON.

The toys are the files that ``CONTRIBUTING.md`` shows. They are in a directory of their own, which its ``sitecustomize``
adds to the packages in every process, workers included.
"""

from __future__ import annotations

import json
import sys

import paimon_sql

_KEYED = "'primary-key' = 'k', 'bucket' = '1'"
_EVOLVING = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true', 'deletion-vectors.enabled' = 'true'"
SITE = """import importlib, os
root = os.path.dirname(__file__)
for place in {places!r}:
    package = "paimon_sql." + place.replace("/", ".")
    importlib.import_module(package).__path__.append(os.path.join(root, place))
"""
"""The source of ``sitecustomize``; ``places`` are the directories of the toys, lower packages first."""
TOYS: dict[str, tuple[str, ...]] = {
    "a merge engine": (
        f"CREATE TABLE best (k INT, v INT) TBLPROPERTIES ({_KEYED}, 'merge-engine' = 'greatest')",
        "INSERT INTO best VALUES (1, 5), (1, 4), (2, 1)",
        "INSERT INTO best VALUES (1, 3), (2, 7)",
        "CALL sys.compact(table => 'best')",
        "INSERT INTO best VALUES (2, 6)",
        "SELECT * FROM best ORDER BY k",
    ),
    "an aggregate function": (
        f"CREATE TABLE sums (k INT, v STRING) TBLPROPERTIES ({_KEYED}, 'merge-engine' = 'aggregation',"
        " 'fields.v.aggregate-function' = 'longest')",
        "INSERT INTO sums VALUES (1, 'abc'), (2, 'x')",
        "INSERT INTO sums VALUES (1, 'de'), (2, NULL), (3, NULL)",
        "SELECT * FROM sums ORDER BY k",
    ),
    "a changelog producer": (
        f"CREATE TABLE grows (k INT, v INT) TBLPROPERTIES ({_KEYED}, 'changelog-producer' = 'additions')",
        "INSERT INTO grows VALUES (1, 1), (2, 2)",
        "DELETE FROM grows WHERE k = 1",
        "INSERT INTO grows VALUES (2, 3)",
        "SELECT rowkind, k, v FROM grows$audit_log /*+ OPTIONS('incremental-between' = '0,3') */ ORDER BY v",
    ),
    "a bucket mode": (
        "CREATE TABLE digits (k BIGINT, v INT) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '-3')",
        "INSERT INTO digits SELECT id, count(*) FROM range(50) GROUP BY id",
        "INSERT INTO digits VALUES (11, 4), (23, 5)",
        "SELECT __paimon_bucket, count(*), sum(v) FROM digits WHERE k IN (11, 21, 23) GROUP BY 1 ORDER BY 1",
    ),
    "a file format": (
        "CREATE TABLE plain (k INT, v STRING) TBLPROPERTIES ('file.format' = 'arrow')",
        "INSERT INTO plain VALUES (1, 'a'), (2, NULL)",
        "ALTER TABLE plain ADD COLUMN n INT",
        "INSERT INTO plain VALUES (3, 'c', 4)",
        "SELECT *, __paimon_file_path LIKE '%.arrow' FROM plain ORDER BY k",
    ),
    "a clustering order": (
        "CREATE TABLE sorted (v STRING) TBLPROPERTIES ('clustering.columns' = 'v', 'clustering.strategy' = 'length')",
        "INSERT INTO sorted VALUES ('ccc'), ('a'), ('bb')",
        "SELECT v FROM sorted",
    ),
    "a file index": (
        "CREATE TABLE names (name STRING) TBLPROPERTIES ('file-index.first-letter.columns' = 'name')",
        "INSERT INTO names VALUES ('ann'), ('zoe')",
        "EXPLAIN SELECT * FROM names WHERE name = 'cay'",
    ),
    "a global index": (
        f"CREATE TABLE found (id INT, name STRING) TBLPROPERTIES ({_EVOLVING})",
        "INSERT INTO found VALUES (1, 'ann'), (2, 'bob'), (3, NULL), (4, 'bob')",
        "CALL sys.create_global_index(table => 'found', index_column => 'name', index_type => 'plain-list')",
        "SELECT id, (SELECT first(index_type) FROM found$table_indexes) FROM found WHERE name = 'bob' ORDER BY id",
    ),
    "a catalog": (
        "CREATE CATALOG scratch WITH ('metastore' = 'scratch')",
        "CREATE TABLE scratch.default.t AS SELECT 1 AS a",
        "SELECT * FROM scratch.default.t",
    ),
    "a procedure": ("CALL sys.record_count(table => 'digits')",),
    "a system table": ("SELECT * FROM digits$primary_key",),
}
"""The statements that use a toy of each kind."""


def main(warehouse: str) -> None:
    """Run the statements of all toys in one session."""
    spark = paimon_sql.connect(
        warehouse, **{"spark.master": "local[2]", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
    )
    answers = {}
    for kind, statements in TOYS.items():
        *before, last = statements
        for statement in before:
            spark.sql(statement).collect()
        answers[kind] = [list(row) for row in spark.sql(last).collect()]
    spark.stop()
    print(json.dumps(answers))


if __name__ == "__main__":
    main(sys.argv[1])
