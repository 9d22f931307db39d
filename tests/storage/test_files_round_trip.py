"""What a format's writer writes, its reader gives back, for columns of every type."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.storage.file_formats.base import FileRead
from paimon_sql.storage.file_formats.registry import file_format
from paimon_sql.storage.file_io import LocalFileIO
from tests.storage.file_reads import read_rows
from tests.storage.typed_columns import columns

IO = LocalFileIO()
FORMATS = ["parquet", "orc", "avro"]
THOROUGH = settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def written(folder: Path, name: str, fields: list[t.DataField], batches: list[pa.RecordBatch]) -> str:
    path = str(folder / f"{uuid4()}.{name}")
    writer = file_format(name).open_writer(IO, path, fields, {})
    for batch in batches:
        writer.write(batch)
    assert writer.close() == Path(path).stat().st_size
    return path


def read(path: str, name: str, fields: list[t.DataField]) -> pa.Table:
    batches = read_rows(file_format(name), IO, path, None, fields, [f.name for f in fields])
    table = pa.Table.from_batches(batches, arrow_schema(fields))
    table.validate(full=True)
    return table


def check(folder: Path, name: str, field: t.DataField, array: pa.Array) -> None:
    number = t.DataField(1, "n", t.IntType(False))
    fields = [field, number]
    batch = pa.RecordBatch.from_arrays([array, pa.array(range(len(array)), pa.int32())], schema=arrow_schema(fields))
    table = read(written(folder, name, fields, [batch, batch]), name, fields)
    assert table.equals(pa.Table.from_batches([batch, batch]))


@THOROUGH
@given(column=columns())
def test_parquet_gives_back_what_it_was_given(tmp_path: Path, column: tuple[t.DataField, pa.Array]) -> None:
    check(tmp_path, "parquet", *column)


@THOROUGH
@given(column=columns(nanoseconds=False))
def test_avro_gives_back_what_it_was_given(tmp_path: Path, column: tuple[t.DataField, pa.Array]) -> None:
    check(tmp_path, "avro", *column)


@THOROUGH
@given(column=columns())
def test_orc_gives_back_what_it_was_given(tmp_path: Path, column: tuple[t.DataField, pa.Array]) -> None:
    field, array = column
    check(tmp_path, "orc", field, _as_orc_can_tell(array))


def _as_orc_can_tell(array: pa.Array) -> pa.Array:
    """The same values, but for the second before 1970, of which ORC cannot tell most times from those after it."""
    if pa.types.is_timestamp(array.type):
        step = 10**9 if array.type.unit == "ns" else 10**6
        counts = array.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        moved = np.where((counts < 0) & (counts > -step), counts - step, counts)
        return pa.array(moved, mask=array.is_null().to_numpy(zero_copy_only=False)).view(array.type)
    return pa.array(array.to_pylist(), array.type) if array.type.num_fields == 0 else _nested(array)


def _nested(array: pa.Array) -> pa.Array:
    kind = array.type
    whole = pa.concat_arrays([array])
    if pa.types.is_struct(kind):
        children = [_as_orc_can_tell(whole.field(i)) for i in range(kind.num_fields)]
        fields = [kind.field(i) for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=whole.is_null())
    if pa.types.is_map(kind):
        entries = pa.StructArray.from_arrays(
            [_as_orc_can_tell(whole.keys), _as_orc_can_tell(whole.items)], fields=[kind.key_field, kind.item_field]
        )
        return _reshaped(whole, entries)
    return _reshaped(whole, _as_orc_can_tell(whole.values))


def _reshaped(array: pa.Array, inner: pa.Array) -> pa.Array:
    buffers = array.buffers()[:2]
    return pa.Array.from_buffers(array.type, len(array), buffers, array.null_count, array.offset, children=[inner])


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_without_rows_is_a_file(tmp_path: Path, name: str) -> None:
    fields = [t.DataField(0, "a", t.IntType()), t.DataField(1, "b", t.ArrayType(True, t.string_type()))]
    assert read(written(tmp_path, name, fields, []), name, fields).num_rows == 0


@pytest.mark.parametrize("name", FORMATS)
def test_a_column_that_the_file_lacks_is_null(tmp_path: Path, name: str) -> None:
    fields = [t.DataField(0, "a", t.IntType())]
    path = written(tmp_path, name, fields, [pa.record_batch({"a": pa.array([1, 2], pa.int32())})])
    more = [*fields, t.DataField(1, "b", t.RowType(True, (t.DataField(2, "x", t.TimestampType()),)))]
    assert read(path, name, more).to_pylist() == [{"a": 1, "b": None}, {"a": 2, "b": None}]
    assert next(read_rows(file_format(name), IO, path, None, more, ["b"])).num_rows == 2


@pytest.mark.parametrize("name", FORMATS)
def test_no_column_at_all_still_counts_the_rows(tmp_path: Path, name: str) -> None:
    fields = [t.DataField(0, "a", t.IntType())]
    path = written(tmp_path, name, fields, [pa.record_batch({"a": pa.array(range(10), pa.int32())})] * 3)
    assert sum(batch.num_rows for batch in read_rows(file_format(name), IO, path, None, fields, [], batch_rows=7)) == 30


@pytest.mark.parametrize("name", FORMATS)
def test_columns_come_in_the_order_asked_for(tmp_path: Path, name: str) -> None:
    fields = [t.DataField(i, n, t.IntType()) for i, n in enumerate(("a", "b.c", "d"))]
    batch = pa.record_batch([pa.array([i], pa.int32()) for i in range(3)], names=[f.name for f in fields])
    path = written(tmp_path, name, fields, [batch])
    (made,) = read_rows(file_format(name), IO, path, None, fields, ["d", "b.c"])
    assert made.to_pylist() == [{"d": 2, "b.c": 1}]


@pytest.mark.parametrize("name", FORMATS)
def test_batches_tell_where_they_stand(tmp_path: Path, name: str) -> None:
    fields = [t.DataField(0, "a", t.IntType())]
    path = written(tmp_path, name, fields, [pa.record_batch({"a": pa.array(range(1000), pa.int32())})] * 5)
    for ranges in (None, [(0, 3), (998, 1003), (4999, 9000)]):
        at: list[int] = []
        read = FileRead(path, fields, ["a"], batch_rows=300, row_ranges=ranges)
        for start, batch in file_format(name).batches(IO, read):
            assert batch.num_rows <= 300
            assert batch.column(0).to_pylist() == [i % 1000 for i in range(start, start + batch.num_rows)]
            at += range(start, start + batch.num_rows)
        wanted = range(5000) if ranges is None else [i for low, high in ranges for i in range(low, min(high, 5000))]
        assert at == list(wanted)
