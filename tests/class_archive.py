"""Archives the classes that Spark loads, for the JVMs of tests (JDK 17, "Class Data Sharing").

``python -m tests.class_archive`` writes the archive into the virtual environment, whose PySpark it belongs to; without
it tests are slower, and nothing else.
"""

from __future__ import annotations

import os
import tempfile

import paimon_sql
from tests import java_flags

_STATEMENTS = (
    "CREATE TABLE plain (k INT, v STRING, d DECIMAL(10, 2), p STRING) PARTITIONED BY (p)",
    "INSERT INTO plain SELECT id, concat('v', id), id / 3, if(id % 2 = 0, 'x', 'y') FROM range(50)",
    "SELECT p, count(*), sum(d), max(v) FROM plain WHERE k > 3 GROUP BY p ORDER BY p",
    "DELETE FROM plain WHERE k % 7 = 0",
    "CREATE TABLE keyed (k INT, v STRING, s STRUCT<a: INT, b: ARRAY<STRING>>, PRIMARY KEY (k) NOT ENFORCED)"
    " TBLPROPERTIES ('bucket' = '2', 'write-only' = 'true')",
    "INSERT INTO keyed VALUES (1, 'a', struct(1, array('x'))), (2, 'b', NULL)",
    "INSERT INTO keyed VALUES (2, 'c', NULL)",
    "UPDATE keyed SET v = upper(v) WHERE k = 1",
    "MERGE INTO keyed USING (SELECT k, v FROM plain) AS s ON keyed.k = s.k"
    " WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, s.v)",
    "SELECT a.k, b.v, row_number() OVER (PARTITION BY a.p ORDER BY a.k) FROM plain a JOIN keyed b ON a.k = b.k",
    "SELECT s.a, explode(s.b) FROM keyed",
    "CALL sys.compact(table => 'keyed')",
    "SELECT * FROM keyed VERSION AS OF 1",
    "SELECT * FROM `keyed$snapshots`",
    "ALTER TABLE plain ADD COLUMN more TIMESTAMP",
    "CREATE TABLE copied AS SELECT * FROM plain",
    "SHOW TABLES",
    "DESCRIBE EXTENDED keyed",
)


def main() -> None:
    """Write the archive: it holds what a few statements of each kind load."""
    java_flags.CLASS_ARCHIVE.unlink(missing_ok=True)
    os.environ["JAVA_TOOL_OPTIONS"] = java_flags.QUICK
    os.environ["SPARK_SUBMIT_OPTS"] = f"-XX:ArchiveClassesAtExit={java_flags.CLASS_ARCHIVE} {java_flags.SILENT}"
    with tempfile.TemporaryDirectory() as folder:
        settings = {"spark.master": "local[2]", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
        spark = paimon_sql.connect(f"{folder}/warehouse", **settings)
        for statement in _STATEMENTS:
            spark.sql(statement).collect()
        stream = spark.readStream.table("keyed").writeStream.option("checkpointLocation", f"{folder}/checkpoint")
        stream.trigger(availableNow=True).toTable("followed").awaitTermination()
        java = spark.sparkContext._gateway.proc
        spark.stop()
        java.stdin.close()
        java.wait()
    assert java_flags.CLASS_ARCHIVE.is_file()


if __name__ == "__main__":
    main()
