"""Each side reads what the other has compressed, in every format with every codec that Java has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from .java import JavaPaimon

BOTH = [
    *(("parquet", codec) for codec in ("none", "snappy", "gzip", "lz4", "lz4_raw", "zstd")),
    *(("orc", codec) for codec in ("none", "snappy", "zlib", "lz4", "zstd")),
    *(("avro", codec) for codec in ("null", "snappy", "deflate", "zstd", "bzip2")),
]
"""Java's bundle lacks what it takes to compress Avro with xz."""
READ_ALONE = [("orc", "lzo")]
"""What Java alone writes."""


def rows_of(spark: SparkSession, name: str) -> list[list[Any]]:
    return [list(row) for row in spark.sql(f"SELECT * FROM {name} ORDER BY k").collect()]


@pytest.mark.parametrize(("file_format", "codec"), [*BOTH, *READ_ALONE])
def test_each_side_reads_what_the_other_has_compressed(
    spark: SparkSession, java: JavaPaimon, warehouse: Path, file_format: str, codec: str
) -> None:
    name = f"default.codec_{file_format}_{codec}"
    spark.sql(
        f"CREATE TABLE {name} (k INT, s STRING) TBLPROPERTIES ('file.format' = '{file_format}',"
        f" 'file.compression' = '{codec}', 'write-only' = 'true')"
    )
    theirs = [[i, f"{i} " + "a text that repeats itself " * (i % 5)] for i in range(0, 3000, 2)]
    java.write(warehouse, name, theirs)
    assert rows_of(spark, name) == theirs
    expected = theirs
    if (file_format, codec) in BOTH:
        spark.sql(
            f"INSERT INTO {name} SELECT CAST(id AS INT), concat(id, repeat(' what is repeated', CAST(id % 5 AS INT)))"
            " FROM range(1, 3000, 2, 1)"
        )
        expected = rows_of(spark, name)
        assert len(expected) == 3000
        assert sorted(java.read(warehouse, name)) == expected
    files = sorted((warehouse / "default.db" / name.split(".")[1]).rglob(f"data-*.{file_format}"))
    assert len(files) == (2 if (file_format, codec) in BOTH else 1)
    plain = codec in ("none", "null")
    assert all(path.stat().st_size > 40_000 for path in files) is plain
