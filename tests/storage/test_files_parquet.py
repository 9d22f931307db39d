"""What is particular to Parquet: layout, dictionaries, row groups, statistics, INT96."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_sql.errors import ConstraintViolationError, CorruptFileError, InvalidOptionError, MissingFileError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.storage.file_formats.base import ColumnRange, FileRead
from paimon_sql.storage.file_formats.registry import file_format
from paimon_sql.storage.file_io import LocalFileIO
from tests.storage.file_reads import read_rows

IO = LocalFileIO()
PARQUET = file_format("parquet")
FIELDS = [t.DataField(0, "k", t.IntType(False)), t.DataField(1, "s", t.string_type())]


def batch(first: int, count: int) -> pa.RecordBatch:
    keys = pa.array(range(first, first + count), pa.int32())
    return pa.RecordBatch.from_arrays(
        [keys, pa.array([f"v{i % 3}" for i in range(count)])], schema=arrow_schema(FIELDS)
    )


def write(path: Path, batches: list[pa.RecordBatch], options: dict[str, str] | None = None) -> pq.FileMetaData:
    writer = PARQUET.open_writer(IO, str(path), FIELDS, options or {})
    for one in batches:
        writer.write(one)
    writer.close()
    return pq.ParquetFile(path).metadata


def test_a_row_group_is_closed_at_the_block_size(tmp_path: Path) -> None:
    metadata = write(tmp_path / "f.parquet", [batch(i * 1000, 1000) for i in range(10)], {"file.block-size": "20 kb"})
    assert metadata.num_row_groups > 2
    assert metadata.num_rows == 10_000


def test_small_batches_share_a_row_group(tmp_path: Path) -> None:
    assert write(tmp_path / "f.parquet", [batch(i, 1) for i in range(500)]).num_row_groups == 1


def test_a_dictionary_is_kept_for_values_that_repeat(tmp_path: Path) -> None:
    group = write(tmp_path / "f.parquet", [batch(0, 10_000)]).row_group(0)
    assert not group.column(0).has_dictionary_page
    assert group.column(1).has_dictionary_page
    options = {"parquet.enable.dictionary": "false"}
    assert not write(tmp_path / "g.parquet", [batch(0, 1000)], options).row_group(0).column(1).has_dictionary_page


@pytest.mark.parametrize(
    ("compression", "codec"), [("zstd", "ZSTD"), ("snappy", "SNAPPY"), ("none", "UNCOMPRESSED"), ("LZ4", "LZ4")]
)
def test_the_compression_is_the_tables(tmp_path: Path, compression: str, codec: str) -> None:
    metadata = write(tmp_path / "f.parquet", [batch(0, 10)], {"file.compression": compression})
    assert metadata.row_group(0).column(0).compression == codec


def test_bloom_filters_are_written_for_the_columns_named(tmp_path: Path) -> None:
    options = {"parquet.bloom.filter.enabled#k": "true", "parquet.bloom.filter.expected.ndv#k": "100"}
    group = write(tmp_path / "f.parquet", [batch(0, 100)], options).row_group(0)
    assert group.column(0).bloom_filter_offset is not None
    assert group.column(1).bloom_filter_offset is None


def test_an_unknown_compression_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidOptionError, match="Unsupported compression 'lzo' of parquet files") as error:
        write(tmp_path / "f.parquet", [], {"file.compression": "lzo"})
    assert error.value.key == "file.compression"
    assert not (tmp_path / "f.parquet").exists()


def test_the_size_so_far_grows_and_ends_near_the_files(tmp_path: Path) -> None:
    writer = PARQUET.open_writer(IO, str(tmp_path / "f.parquet"), FIELDS, {"file.block-size": "64 kb"})
    sizes = []
    for i in range(50):
        writer.write(batch(i * 1000, 1000))
        sizes.append(writer.bytes_written)
    assert sizes[-1] > sizes[10] > 0
    assert writer.close() == pytest.approx(sizes[-1], rel=0.3)


def test_an_aborted_file_is_gone(tmp_path: Path) -> None:
    writer = PARQUET.open_writer(IO, str(tmp_path / "f.parquet"), FIELDS, {})
    writer.write(batch(0, 10))
    writer.abort()
    assert list(tmp_path.iterdir()) == []


def test_a_null_in_a_column_that_takes_none_is_refused(tmp_path: Path) -> None:
    writer = PARQUET.open_writer(IO, str(tmp_path / "f.parquet"), FIELDS, {})
    writer.write(pa.record_batch({"k": pa.array([None], pa.int32()), "s": pa.array(["x"])}))
    with pytest.raises(ConstraintViolationError):
        writer.close()


class _Keys:
    """Wants the row groups that can hold a key of at least ``least``."""

    columns = ("k",)

    def __init__(self, least: int) -> None:
        self.least = least

    def may_match(self, row_count: int, columns: Mapping[str, ColumnRange]) -> bool:
        assert columns["k"].null_count == 0
        high = columns["k"].high
        assert isinstance(high, int)
        return high >= self.least


def test_row_groups_that_cannot_match_are_passed_over_and_positions_stay(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    write(path, [batch(i * 1000, 1000) for i in range(10)], {"file.block-size": "1 kb"})
    read = list(PARQUET.batches(IO, FileRead(str(path), FIELDS, ["k"], predicate=_Keys(7500))))
    assert [at for at, _ in read] == [7000, 8000, 9000]
    assert read[0][1].column(0)[0].as_py() == 7000


NS = [t.DataField(0, "n", t.TimestampType(True, 9)), t.DataField(1, "u", t.TimestampType(True, 6))]
SPAN = [-(2**63), -1, 0, None, 2**63 - 1]


def test_nanoseconds_are_int96_beside_other_timestamps(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    writer = PARQUET.open_writer(IO, str(path), NS, {})
    columns = [pa.array(SPAN, pa.timestamp("ns")), pa.array([0] * 5, pa.timestamp("us"))]
    writer.write(pa.RecordBatch.from_arrays(columns, schema=arrow_schema(NS)))
    writer.close()
    schema = pq.ParquetFile(path).schema
    assert [schema.column(i).physical_type for i in range(2)] == ["INT96", "INT64"]
    (read,) = read_rows(PARQUET, IO, str(path), None, NS, ["n"])
    assert read.column(0).view(pa.int64()).to_pylist() == SPAN
    # What other readers make of INT96, as far as they can express it.
    assert pq.read_table(path)["n"].combine_chunks().view(pa.int64()).to_pylist() == SPAN


def test_int96_of_any_year_is_read_into_microseconds(tmp_path: Path) -> None:
    times = [dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999), None]
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table({"u": pa.array(times, pa.timestamp("us"))}), path, use_deprecated_int96_timestamps=True)
    (read,) = read_rows(PARQUET, IO, str(path), None, NS[1:], ["u"])
    assert read.column(0).to_pylist() == times


def test_int96_beyond_nanoseconds_is_an_error_and_no_other_time(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    times = pa.array([dt.datetime(9999, 12, 31)], pa.timestamp("us"))
    pq.write_table(pa.table({"n": times}), path, use_deprecated_int96_timestamps=True)
    with pytest.raises(CorruptFileError, match=r"'n'.*TIMESTAMP\(9\).*2262-04-11"):
        list(read_rows(PARQUET, IO, str(path), None, NS[:1], ["n"]))


def test_other_writers_layouts_are_read(tmp_path: Path) -> None:
    """Old lists, text without a mark, narrower integers, times in milliseconds: what migrated files hold."""
    path = tmp_path / "f.parquet"
    table = pa.table(
        {
            "l": pa.array([[1, None], None], pa.large_list(pa.int32())),
            "s": pa.array([b"x", None], pa.binary()),
            "i": pa.array([1, None], pa.int32()),
            "u": pa.array([1, None], pa.timestamp("ms")),
        }
    )
    pq.write_table(table, path, use_compliant_nested_type=False, store_schema=False)
    fields = [
        t.DataField(0, "l", t.ArrayType(True, t.BigIntType())),
        t.DataField(1, "s", t.string_type()),
        t.DataField(2, "i", t.BigIntType()),
        t.DataField(3, "u", t.TimestampType()),
    ]
    (read,) = read_rows(PARQUET, IO, str(path), None, fields, ["l", "s", "i", "u"])
    assert read.schema.equals(arrow_schema(fields))
    at = dt.datetime(1970, 1, 1, 0, 0, 0, 1000)
    assert read.to_pylist()[0] == {"l": [1, None], "s": "x", "i": 1, "u": at}


def test_a_column_of_another_type_is_named(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    write(path, [batch(0, 1)])
    with pytest.raises(CorruptFileError, match="column 's' holds string and cannot be read as DATE"):
        list(read_rows(PARQUET, IO, str(path), None, [t.DataField(1, "s", t.DateType())], ["s"]))


def test_a_damaged_or_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    path.write_bytes(b"PAR1 but no more")
    with pytest.raises(CorruptFileError, match=r"f\.parquet: cannot be read as Parquet"):
        list(read_rows(PARQUET, IO, str(path), None, FIELDS, ["k"]))
    with pytest.raises(MissingFileError, match=r"gone\.parquet: it does not exist"):
        list(read_rows(PARQUET, IO, str(tmp_path / "gone.parquet"), None, FIELDS, ["k"]))
