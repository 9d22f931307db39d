"""Data files of strangers: what is decoded here and not by Arrow answers any bytes with values or one clear error."""

from __future__ import annotations

import datetime as dt
import struct
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap
from pyspark.sql.variant_utils import VariantUtils

from paimon_sql.errors import CorruptFileError, PaimonError, UnsupportedError
from paimon_sql.format.bytes.varints import encode_deltas
from paimon_sql.format.metadata.index_files import DeletionVector
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_schema, arrow_type
from paimon_sql.format.variant.shredding.infer import Limits, shapes_of
from paimon_sql.format.variant.shredding.shred import assemble, shred
from paimon_sql.storage.data_files.pruning.file_indexes import as_ranges
from paimon_sql.storage.file_formats.orc.encodings import Message, UnsignedRuns, packed
from paimon_sql.storage.file_formats.orc.encodings import encode as encode_message
from paimon_sql.storage.file_formats.orc.tail import TYPES, OrcTail, read_tail
from paimon_sql.storage.file_formats.parquet.footer import decode, int96_as_bytes
from paimon_sql.storage.file_formats.registry import file_format
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.read.deletion_mask import mask_of
from tests.hostile import MANY, Case, little_memory, mutations, survives
from tests.storage.file_reads import read_rows

IO = LocalFileIO()
BLOB = t.DataField(0, "b", t.BlobType())
BLOBS = t.DataField(0, "b", t.ArrayType(True, t.BlobType()))
NAMED = t.DataField(0, "b", t.MapType(True, t.VarCharType(False, 9), t.BlobType()))
PLAIN = [
    t.DataField(0, "a", t.BigIntType()),
    t.DataField(1, "s", t.string_type()),
    t.DataField(2, "d", t.DecimalType(True, 30, 2)),
]
TIMES = [
    t.DataField(0, "t", t.TimestampType(True, 9)),
    t.DataField(1, "n", t.ArrayType(True, t.TimestampType(True, 6))),
]


def written(name: str, fields: Sequence[t.DataField], columns: Sequence[pa.Array], **options: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "f")
        given = {key.replace("_", "."): value for key, value in options.items()}
        writer = file_format(name).open_writer(IO, str(path), list(fields), given)
        writer.write(pa.RecordBatch.from_arrays(list(columns), schema=arrow_schema(fields)))
        writer.close()
        return path.read_bytes()


def read(name: str, fields: Sequence[t.DataField], data: bytes) -> list[pa.RecordBatch]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "f")
        path.write_bytes(data)
        return list(read_rows(file_format(name), IO, str(path), len(data), list(fields), [f.name for f in fields]))


def avro(compression: str) -> bytes:
    schema = arrow_schema(PLAIN)
    columns = [pa.array(range(50)), pa.array(["text"] * 50), pa.array([None, 5] * 25).cast(schema.field(2).type)]
    return written("avro", PLAIN, columns, file_compression=compression)


def orc(compression: str) -> bytes:
    times = [dt.datetime(1960, 1, 1, 1, 2, 3, 456789), None, dt.datetime(2024, 5, 5)] * 20
    schema = arrow_schema(TIMES)
    columns = [
        pa.array(times, pa.timestamp("us")).cast(schema.field(0).type),
        pa.array([times[:2]] * 60, schema.field(1).type),
    ]
    return written("orc", TIMES, columns, file_compression=compression)


def blob(field: t.DataField, values: list[object]) -> bytes:
    return written("blob", [field], [pa.array(values, arrow_schema([field]).field(0).type)])


def look_at_orc(data: bytes) -> None:
    """All of an ORC file that is decoded here; Arrow's own reader decodes the rest."""
    source = pa.BufferReader(data)
    tail = read_tail(source)
    for stripe in tail.stripes:
        footer = tail.stripe_footer(source, stripe)
        for stream in footer.streams:
            UnsignedRuns(tail.expand(source.read_at(stream.length, stream.offset))).take(10)
    tail.metadata(source)


def parquet() -> bytes:
    sink = pa.BufferOutputStream()
    table = pa.table({"t": pa.array([1, 2, 3], pa.timestamp("ns")), "s": ["a", "b", "c"]})
    pq.write_table(table, sink, use_deprecated_int96_timestamps=True)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def variant() -> bytes:
    """A dictionary behind its length, and a value."""
    document = '{"a": [1, 2.5, {"b": "text"}], "c": null, "d": {"e": true, "f": "%s"}}' % ("long" * 20)
    value, metadata = VariantUtils.parse_json(document)
    found: bytes = bytes([len(metadata)]) + metadata + value
    return found


def look_at_variants(data: bytes) -> None:
    """Variants taken apart and put together, and looked through."""
    one = {"metadata": data[1 : 1 + data[0]], "value": data[1 + data[0] :]} if data else None
    column = pa.array([one, None, one], arrow_type(t.VariantType()))
    (shape,) = shapes_of([column], Limits(300, 50, 0.1))
    for some in (shape, t.RowType(True, (t.DataField(0, "a", t.ArrayType(True, t.BigIntType())),)), t.string_type()):
        assemble(shred(column, some), column.type)


FILES: dict[str, Case] = {
    "blobs": (blob(BLOB, [b"Hello", None, b"", b"x" * 300]), lambda d: read("blob", [BLOB], d)),
    "lists of blobs": (blob(BLOBS, [[b"a", None], [], None, [b"bcd"]]), lambda d: read("blob", [BLOBS], d)),
    "maps of blobs": (blob(NAMED, [[("k", b"v"), ("l", None)], None]), lambda d: read("blob", [NAMED], d)),
    **{f"avro in {codec}": (avro(codec), lambda d: read("avro", PLAIN, d)) for codec in ("none", "zstd", "snappy")},
}
DECODED: dict[str, Case] = {
    **{f"orc in {codec}": (orc(codec), look_at_orc) for codec in ("none", "zstd", "zlib", "lz4", "snappy")},
    "variants": (variant(), look_at_variants),
    "thrift": (
        parquet()[-8 - int.from_bytes(parquet()[-8:-4], "little") : -8],
        decode,
    ),
}


@pytest.mark.parametrize("kind", FILES)
@MANY
@given(data=st.data())
def test_a_mutated_data_file_is_read_or_refused_as_corrupt(kind: str, data: st.DataObject) -> None:
    real, look = FILES[kind]
    mutated = data.draw(mutations(real))
    survives(lambda: look(mutated), CorruptFileError, UnsupportedError, PaimonError)


@pytest.mark.parametrize("kind", DECODED)
@MANY
@given(data=st.data())
def test_mutated_metadata_of_a_data_file_is_decoded_or_refused(kind: str, data: st.DataObject) -> None:
    real, look = DECODED[kind]
    mutated = data.draw(
        mutations(real) if kind in ("thrift", "variants") else mutations(real[-400:]).map(lambda end: real[:-400] + end)
    )
    survives(lambda: look(mutated), ValueError, ArithmeticError, LookupError, TypeError, UnsupportedError)


def test_lengths_of_blobs_whose_sum_is_beyond_64_bits_are_refused() -> None:
    lengths = np.array([2**62, 2**62, 2**62, 2**62, 20])
    index = encode_deltas(lengths)
    data = bytes(20) + index + struct.pack("<iB", len(index), 1)
    with little_memory(), pytest.raises(CorruptFileError):
        read("blob", [BLOB], data)


def test_a_run_of_timestamps_is_decoded_only_as_far_as_there_are_rows() -> None:
    run = bytes([0xC0 | 1, 0xFF, 5, 0])  # 512 times the number 5, in 4 bytes
    with little_memory():
        runs = UnsignedRuns(run * 500_000)
        assert runs.take(700).tolist() == [5] * 700
        assert runs.take(3).tolist() == [5] * 3
    with pytest.raises(ValueError, match="512 numbers of 513"):
        UnsignedRuns(run).take(513)


def test_types_of_an_orc_file_are_a_tree() -> None:
    data = orc("none")
    tail = read_tail(pa.BufferReader(data))
    loop = [
        message.with_texts(2, [packed([0])]) if i == len(tail.types) - 1 else message
        for i, message in enumerate(tail.types)
    ]
    for types in (loop, tail.types[:-1], [*tail.types, Message()]):
        broken = OrcTail(tail.footer.with_texts(TYPES, map(encode_message, types)), tail.postscript, tail.body_size)
        with pytest.raises(CorruptFileError, match="not a tree"):
            read("orc", TIMES, data[: tail.body_size] + broken.encode())


def test_blocks_of_an_orc_file_expand_to_what_its_postscript_says_at_most() -> None:
    zeros = pa.Codec("zstd").compress(bytes(1 << 26), asbytes=True)
    block = (len(zeros) << 1).to_bytes(3, "little") + zeros
    for size in (262_144, 2**23 - 1, 2**40, 0):
        tail = OrcTail(Message(), Message().with_number(2, 5).with_number(3, size), 10**6)
        with little_memory(), pytest.raises(ValueError, match=r"more than|of a block"):
            tail.expand(block)


@pytest.mark.parametrize("length", [2**31, 2**32 - 1, 10_000])
def test_a_footer_of_parquet_is_within_its_file(length: int) -> None:
    data = parquet()
    with little_memory(), pytest.raises(ValueError, match="the footer takes"):
        int96_as_bytes(pa.BufferReader(data[:-8] + struct.pack("<I", length) + b"PAR1"))


@pytest.mark.parametrize(
    "data",
    [
        b"\x19\xfc" + b"\xff" * 8 + b"\x01",
        b"\x15" + b"\xff" * 200,
        b"\x1c" * 100_000,
        b"\x19\xfc\xff\xff\xff\xff\x07" + b"\x1c" * 9,
    ],
    ids=["a list without end", "a number without end", "structs in structs", "a long list"],
)
def test_thrift_of_any_size_is_refused(data: bytes) -> None:
    with little_memory(), pytest.raises((ValueError, IndexError)):
        decode(data)


def test_bits_of_deleted_rows_take_an_eighth_of_a_byte_a_row() -> None:
    with little_memory():
        assert mask_of(DeletionVector([0, 9, 1_000_000]))[:3] == b"\1\2\0"
        assert len(mask_of(DeletionVector([100_000_000]))) == 12_500_001
        assert mask_of(DeletionVector()) == b""
        with pytest.raises(UnsupportedError, match="deletes row"):
            mask_of(DeletionVector([2**62]))


def test_rows_of_an_index_beyond_its_file_are_passed_over() -> None:
    rows = BitMap()
    rows.add_range(0, 2**32)
    with little_memory():
        assert as_ranges(rows, 1000) is None
        assert as_ranges(BitMap([5, 90_000, 2**32 - 1]), 100_000) == [(5, 6), (90_000, 90_001)]
        assert as_ranges(BitMap([2**32 - 1]), 100_000) == []


@given(st.sets(st.integers(0, 200_000), min_size=1, max_size=40))
def test_ranges_hold_all_rows_and_lie_apart(rows: set[int]) -> None:
    found = as_ranges(BitMap(rows), 1_000_000)
    assert found is not None
    assert all(any(low <= row < high for low, high in found) for row in rows)
    assert all(before[1] < after[0] for before, after in pairwise(found))
    assert {low for low, _ in found} | {high - 1 for _, high in found} <= rows
