"""Every compression of every format is read, whoever wrote it, and written where a table asks for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from paimon_sql.format.bytes.codecs import decompress_lzo
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.storage.file_formats.registry import file_format
from paimon_sql.storage.file_io import LocalFileIO
from tests.storage.file_reads import read_rows

Sql = Callable[[str], list[tuple[Any, ...]]]
FIELDS = [
    t.DataField(0, "a", t.BigIntType()),
    t.DataField(1, "s", t.string_type()),
    t.DataField(2, "z", t.LocalZonedTimestampType()),
    t.DataField(3, "l", t.ArrayType(True, t.BigIntType())),
]
COLUMNS = (
    "id AS a",
    "if(id % 9 = 0, NULL, concat('value ', id % 7, repeat('ab', CAST(id % 50 AS INT)))) AS s",
    "timestamp_micros(id * 1000003) AS z",
    "array(id, NULL) AS l",
)
ROWS = ", ".join(COLUMNS)
OF_JAVA = [
    *(("orc", codec) for codec in ("none", "snappy", "zlib", "lz4", "lzo", "zstd")),
    *(("parquet", codec) for codec in ("none", "snappy", "gzip", "lz4", "lz4_raw", "zstd")),
]
WRITTEN = [
    *(("orc", codec) for codec in ("none", "snappy", "zlib", "lz4", "zstd")),
    *(("parquet", codec) for codec in ("none", "snappy", "gzip", "lz4", "lz4_raw", "zstd")),
    *(("avro", codec) for codec in ("none", "snappy", "deflate", "zstd", "bzip2", "xz")),
]


def read_files(folder: Path, name: str) -> pa.Table:
    kind, columns, paths = file_format(name), [f.name for f in FIELDS], sorted(folder.glob(f"*.{name}"))
    files = [read_rows(kind, LocalFileIO(), str(path), None, FIELDS, columns) for path in paths]
    return pa.Table.from_batches([batch for batches in files for batch in batches], arrow_schema(FIELDS))


@pytest.mark.parametrize(("name", "codec"), OF_JAVA)
def test_files_that_java_compressed_are_read(spark: SparkSession, tmp_path: Path, name: str, codec: str) -> None:
    for rows in (0, 5, 20_000):
        frame = spark.range(0, rows, 1, 1).selectExpr(*COLUMNS)
        for compression in ("none", codec):
            frame.write.format(name).option("compression", compression).save(str(tmp_path / f"{compression}{rows}"))
            if codec == "none":
                break
        found = read_files(tmp_path / f"{codec}{rows}", name)
        assert found.equals(read_files(tmp_path / f"none{rows}", name))
        assert found.drop(["z"]).equals(frame.drop("z").toArrow().cast(found.drop(["z"]).schema))


@pytest.mark.parametrize(("name", "codec"), WRITTEN)
def test_tables_are_written_with_the_compression_that_they_ask_for(sql: Sql, name: str, codec: str) -> None:
    sql(
        "CREATE TABLE t (a BIGINT, s STRING, z TIMESTAMP, l ARRAY<BIGINT>)"
        f" TBLPROPERTIES ('file.format' = '{name}', 'file.compression' = '{codec}')"
    )
    sql(f"INSERT INTO t SELECT {ROWS} FROM range(0, 5000, 1, 1)")
    sql("INSERT INTO t VALUES (5000, NULL, NULL, NULL)")
    rows = f"SELECT {ROWS} FROM range(0, 5000, 1, 1) UNION ALL SELECT 5000, NULL, NULL, NULL"
    assert sql("SELECT count(*), sum(hash(a, s, z, l)) FROM t") == sql(
        f"SELECT count(*), sum(hash(a, s, z, l)) FROM ({rows})"
    )
    assert sql("SELECT s, z, l FROM t WHERE a = 4999") == sql(
        f"SELECT s, z, l FROM (SELECT {ROWS} FROM range(0, 5000, 1, 1)) WHERE a = 4999"
    )


def test_brotli_is_refused_which_the_jvm_cannot_unpack(sql: Sql) -> None:
    sql("CREATE TABLE t (a INT) TBLPROPERTIES ('file.compression' = 'brotli')")
    with pytest.raises(Exception, match="Unsupported compression 'brotli' of parquet files"):
        sql("INSERT INTO t VALUES (1)")


@pytest.mark.parametrize("data", [b"", b"\x12", b"\x15ab", b"\x00\x00\x00", b"\x20\x05\x00", b"\x12a\x40\x09"])
def test_a_broken_lzo_block_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="LZO block"):
        decompress_lzo(data, 1000)


def test_an_lzo_block_holds_no_more_than_it_may() -> None:
    # One literal, a match of 2 + 31 + 3 * 255 + 1 bytes that repeats it, and the end.
    block = b"\x12a\x20\x00\x00\x00\x01\x00\x00\x11\x00\x00"
    assert decompress_lzo(block, 800) == b"a" * 800
    with pytest.raises(ValueError, match="more than 799 bytes"):
        decompress_lzo(block, 799)
