"""What is particular to ORC: timestamps of any year and zone, runs of numbers, the tail, nulls in structs."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.orc as orc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_sql.errors import ConstraintViolationError, CorruptFileError, UnsupportedError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.storage.file_formats.orc.encodings import UnsignedRuns, decode_unsigned, encode_unsigned
from paimon_sql.storage.file_formats.orc.tail import read_tail
from paimon_sql.storage.file_formats.registry import file_format
from paimon_sql.storage.file_io import LocalFileIO
from tests.storage.core_tables import insert, make_table, rows
from tests.storage.file_reads import read_rows

IO = LocalFileIO()
ORC = file_format("orc")
TIMES = [t.DataField(0, "u", t.TimestampType()), t.DataField(1, "z", t.LocalZonedTimestampType())]


def write(
    path: Path, fields: list[t.DataField], columns: list[pa.Array], options: dict[str, str] | None = None
) -> None:
    writer = ORC.open_writer(IO, str(path), fields, options or {})
    writer.write(pa.RecordBatch.from_arrays(columns, schema=arrow_schema(fields)))
    writer.close()


def read(path: Path, fields: list[t.DataField], options: dict[str, str] | None = None) -> list[list[object]]:
    batches = read_rows(ORC, IO, str(path), None, fields, [f.name for f in fields], options=options)
    table = pa.Table.from_batches(batches, arrow_schema(fields))
    return [column.to_pylist() for column in table.columns]


@pytest.mark.parametrize("compression", ["zstd", "none", "snappy", "zlib", "lz4"])
def test_times_of_any_year_are_kept(tmp_path: Path, compression: str) -> None:
    times = [
        dt.datetime(1, 1, 1),
        dt.datetime(1582, 10, 14, 1, 2, 3, 4),
        dt.datetime(1969, 12, 31, 23, 59, 58, 999999),
        None,
        dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
    ] * 300
    column = pa.array(times, pa.timestamp("us"))
    path = tmp_path / "f.orc"
    write(path, TIMES, [column, column.cast(pa.timestamp("us", "UTC"))], {"file.compression": compression})
    plain, zoned = read(path, TIMES)
    assert plain == times
    assert [v and v.replace(tzinfo=None) for v in zoned] == times  # type: ignore[attr-defined]


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(counts=st.lists(st.integers(-(10**15), 10**15) | st.none(), min_size=1, max_size=40))
def test_no_time_is_written_with_negative_nanoseconds(tmp_path: Path, counts: list[int | None]) -> None:
    """Arrow alone would, and Java then refuses the file: the second stream must hold 0 to 999999999."""
    fields = TIMES[:1]
    path = tmp_path / "f.orc"
    write(path, fields, [pa.array(counts, pa.timestamp("us"))])
    source = pa.OSFile(str(path))
    tail = read_tail(source)
    for stripe in tail.stripes:
        for stream in tail.stripe_footer(source, stripe).streams:
            if (stream.kind, stream.column) == (5, 1):
                coded = decode_unsigned(tail.expand(source.read_at(stream.length, stream.offset)))
                assert (coded >= 0).all()


def test_times_in_lists_maps_and_rows_are_kept(tmp_path: Path) -> None:
    row = t.RowType(True, (t.DataField(2, "x", t.TimestampType(True, 3)), t.DataField(3, "s", t.string_type())))
    fields = [
        t.DataField(0, "l", t.ArrayType(True, row)),
        t.DataField(1, "m", t.MapType(True, t.TimestampType(False), t.LocalZonedTimestampType(True, 9))),
    ]
    early, late = dt.datetime(1500, 1, 1, 0, 0, 0, 5000), dt.datetime(9000, 1, 1)
    lists = [[{"x": early, "s": "a"}, None, {"x": None, "s": "b"}], None, [], [{"x": late, "s": None}]]
    maps = [[(early, -1), (late, None)], [], None, [(dt.datetime(1960, 1, 1), 2**62)]]
    schema = arrow_schema(fields)
    columns = [pa.array(lists, schema.field(0).type), pa.array(maps, schema.field(1).type)]
    path = tmp_path / "f.orc"
    write(path, fields, columns)
    (batch,) = read_rows(ORC, IO, str(path), None, fields, ["l", "m"])
    assert batch.column(0).equals(columns[0])
    moved = batch.column(1).items.view(pa.int64()).to_pylist()
    # Of the second before 1970 ORC tells only the first millisecond.
    assert moved in ([-1, None, 2**62], [999_999_999, None, 2**62])


def test_nulls_of_inner_structs_hide_what_stands_below_them(tmp_path: Path) -> None:
    leaf = t.RowType(True, (t.DataField(3, "v", t.IntType()),))
    fields = [t.DataField(1, "c", t.RowType(True, (t.DataField(2, "i", leaf),)))]
    kind = arrow_schema(fields).field(0).type
    inner = pa.StructArray.from_arrays(
        [pa.array([1, 5, 2, 6], pa.int32())], fields=[kind.field(0).type.field(0)], mask=pa.array([True, False] * 2)
    )
    column = pa.StructArray.from_arrays([inner], fields=[kind.field(0)])
    path = tmp_path / "f.orc"
    write(path, fields, [column])
    assert read(path, fields) == [[{"i": None}, {"i": {"v": 5}}, {"i": None}, {"i": {"v": 6}}]]


def with_zone(path: Path, zone: bytes) -> None:
    """Put a writer's time zone of the same length as GMT into the footers of a file's stripes."""
    data = path.read_bytes()
    assert data.count(b"\x1a\x03GMT") == 1
    path.write_bytes(data.replace(b"\x1a\x03GMT", b"\x1a\x03" + zone))


def test_a_writers_time_zone_is_taken_into_account(tmp_path: Path) -> None:
    path = tmp_path / "f.orc"
    july = dt.datetime(2024, 7, 1, 12)
    column = pa.array([july, dt.datetime(2024, 1, 1, 12), dt.datetime(1850, 7, 1)], pa.timestamp("us"))
    write(path, TIMES, [column, column.cast(pa.timestamp("us", "UTC"))], {"file.compression": "none"})
    with_zone(path, b"CET")
    plain, zoned = read(path, TIMES)
    # Seconds count from 2015 in the writer's zone; in summer its clock is an hour ahead, before 1900 it is not.
    assert plain == [july + dt.timedelta(hours=1), dt.datetime(2024, 1, 1, 12), dt.datetime(1850, 7, 1)]
    assert zoned[0] == dt.datetime(2024, 7, 1, 14, tzinfo=dt.timezone.utc)
    _, exact = read(path, TIMES, {"orc.timestamp-ltz.legacy.type": "false"})
    assert exact[0] == july.replace(tzinfo=dt.timezone.utc)


@pytest.mark.parametrize(("text", "legacy"), [("true", True), ("TRUE", True), ("false", False), ("False", False)])
def test_a_table_says_how_its_instants_are_stored(tmp_path: Path, text: str, legacy: bool) -> None:
    """A file of a Java writer in another zone than UTC; the option decides what its instants mean."""
    instant = t.DataField(0, "at", t.LocalZonedTimestampType(True, 6))
    options = {"file.format": "orc", "file.compression": "none", "orc.timestamp-ltz.legacy.type": text}
    table = make_table(tmp_path / "t", options, columns=[instant])
    july = dt.datetime(2024, 7, 1, 12, tzinfo=dt.timezone.utc)
    insert(table, (july,))
    (path,) = (tmp_path / "t").rglob("*.orc")
    with_zone(path, b"CET")
    assert rows(table) == [(july + dt.timedelta(hours=2) if legacy else july,)]


@settings(max_examples=60)
@given(st.lists(st.integers(0, 2**62), max_size=1200))
def test_coded_runs_read_back(values: list[int]) -> None:
    numbers = np.array(values, np.int64)
    assert decode_unsigned(encode_unsigned(numbers)).tolist() == values
    assert UnsignedRuns(encode_unsigned(numbers)).take(len(values)).tolist() == values


@pytest.mark.parametrize(
    ("coded", "values"),
    [
        (bytes([0x0A, 0x27, 0x10]), [10000] * 5),
        (bytes([0x5E, 0x03, 0x5C, 0xA1, 0xAB, 0x1E, 0xDE, 0xAD, 0xBE, 0xEF]), [23713, 43806, 57005, 48879]),
        (bytes([0xC6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46]), [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]),
        (
            bytes.fromhex("8e132b2107d01e00147028323c46505a646e78828c96a0aab4befce8"),
            [2030, 2000, 2020, 1000000, *range(2040, 2200, 10)],
        ),
    ],
    ids=["short repeat", "direct", "delta", "patched base"],
)
def test_runs_are_decoded_as_in_the_specifications_examples(coded: bytes, values: list[int]) -> None:
    assert UnsignedRuns(coded).take(len(values)).tolist() == values


def test_runs_that_end_early_are_an_error() -> None:
    with pytest.raises(ValueError, match="5 numbers of 6"):
        UnsignedRuns(bytes([0x0A, 0x27, 0x10])).take(6)


def test_files_of_other_writers_are_read(tmp_path: Path) -> None:
    path = tmp_path / "f.orc"
    orc.write_table(pa.table({"i": pa.array([1, None], pa.int32()), "s": ["a", None]}), str(path))
    fields = [t.DataField(0, "s", t.CharType(True, 3)), t.DataField(1, "i", t.BigIntType())]
    assert read(path, fields) == [["a", None], [1, None]]


def test_unknown_metadata_survives_a_rewritten_tail(tmp_path: Path) -> None:
    path = tmp_path / "f.orc"
    write(path, TIMES[:1], [pa.array([0], pa.timestamp("us"))])
    tail = read_tail(pa.OSFile(str(path)))
    assert tail.footer.number(6) == 1
    assert orc.ORCFile(str(path)).read()["u"].to_pylist() == [dt.datetime(1970, 1, 1)]


@pytest.mark.parametrize("data_type", [t.VariantType(), t.VectorType(True, t.FloatType(), 3)])
def test_types_that_orc_lacks_are_refused_by_column(tmp_path: Path, data_type: t.DataType) -> None:
    fields = [t.DataField(0, "c", t.ArrayType(True, data_type))]
    with pytest.raises(UnsupportedError, match="Column 'c'"):
        ORC.check_fields(fields)
    with pytest.raises(UnsupportedError, match="Column 'c'"):
        ORC.open_writer(IO, str(tmp_path / "f.orc"), fields, {})
    assert list(tmp_path.iterdir()) == []


def test_a_null_in_a_column_that_takes_none_is_refused(tmp_path: Path) -> None:
    fields = [t.DataField(0, "k", t.IntType(False))]
    with pytest.raises(ConstraintViolationError, match="'k' is NOT NULL"):
        write(tmp_path / "f.orc", fields, [pa.array([None], pa.int32())])


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "f.orc"
    for data in (b"", b"ORC", b"no ORC file at all" * 10, bytes(100)):
        path.write_bytes(data)
        with pytest.raises(CorruptFileError, match=r"f\.orc: not an ORC file"):
            read(path, TIMES)
