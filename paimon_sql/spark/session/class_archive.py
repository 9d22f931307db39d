"""An archive of the classes that Spark loads, from which its JVM starts in half the time.

Source: Java 17, "Class Data Sharing", dynamic archives. A JVM that does not fit an archive starts without it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from paimon_sql.errors import SetupError

_STATEMENTS = (
    "CREATE TABLE plain (k INT, v STRING, d DECIMAL(10, 2), p STRING) PARTITIONED BY (p)",
    "INSERT INTO plain SELECT id, concat('v', id), id / 3, if(id % 2 = 0, 'x', 'y') FROM range(50)",
    "SELECT p, count(*), sum(d), max(v) FROM plain WHERE k > 3 GROUP BY p ORDER BY p",
    "DELETE FROM plain WHERE k % 7 = 0",
    "CREATE TABLE keyed (k INT, v STRING, s STRUCT<a: INT, b: ARRAY<STRING>>, PRIMARY KEY (k) NOT ENFORCED)"
    " TBLPROPERTIES ('bucket' = '2', 'write-only' = 'true')",
    "INSERT INTO keyed VALUES (1, 'a', struct(1, array('x'))), (2, 'b', NULL)",
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
"""What most sessions do, so that the archive has their classes."""
_SILENT = "-Xlog:cds*=off"


@dataclass(frozen=True)
class ClassArchive:
    """The archive of a PySpark and a Java.

    Attributes:
        directory: where it is.
        name: its file's name without the size, which follows.
    """

    directory: Path
    name: str

    def options(self) -> str:
        """The options by which a JVM starts from it; none if it was not written."""
        # A JVM crashes on an archive that is not complete.
        whole = (path for path in self._files() if path == self._path(path.stat().st_size))
        return next((f'"-XX:SharedArchiveFile={path}" {_SILENT}' for path in whole), "")

    def replace(self, written: Path) -> Path:
        """Move a written archive here; return its path."""
        self.remove()
        return written.replace(self._path(written.stat().st_size))

    def remove(self) -> None:
        """Delete it, if it is there."""
        for path in self._files():
            path.unlink(missing_ok=True)

    def _path(self, size: int) -> Path:
        return self.directory / f"{self.name}.{size}.jsa"

    def _files(self) -> Iterator[Path]:
        return self.directory.glob(f"{self.name}.*.jsa")


def archive_of(java: str) -> ClassArchive:
    """The archive of this PySpark and a Java, in the user's cache directory.

    Args:
        java: the executable.
    """
    # Unlike Path.home, this leaves a user without a home alone.
    cache = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))  # noqa: PTH111
    of = f"{Path(pyspark.__file__).resolve()} {pyspark.__version__} {Path(java).resolve()}"
    return ClassArchive(cache / "paimon-sql", f"spark-classes-{hashlib.sha256(of.encode()).hexdigest()[:16]}")


def recording_options(path: Path) -> str:
    """The options by which a JVM writes its classes to an archive when it ends."""
    return f'"-XX:ArchiveClassesAtExit={path}" {_SILENT}'


def record(spark: SparkSession) -> None:
    """Run statements of most kinds in an empty warehouse, then end the JVM, which writes the archive.

    Raises:
        SetupError: it did not write the archive.
    """
    for statement in _STATEMENTS:
        spark.sql(statement).collect()
    with tempfile.TemporaryDirectory() as checkpoint:
        stream = spark.readStream.table("keyed").writeStream.option("checkpointLocation", checkpoint)
        stream.trigger(availableNow=True).toTable("followed").awaitTermination()
    java = spark.sparkContext._gateway.proc
    spark.stop()
    java.stdin.close()
    if java.wait() != 0:
        raise SetupError("The JVM could not write the archive of its classes.", remedy="Check the disk's space.")
