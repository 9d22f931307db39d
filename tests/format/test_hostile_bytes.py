"""Files of strangers: whatever bytes they hold, a decoder answers with a value or one clear error, in little memory."""

from __future__ import annotations

import json
import struct
import time
import zlib
from typing import Any

import cramjam
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap, BitMap64

from paimon_sql.errors import CorruptFileError, InvalidInputError, UnsupportedError
from paimon_sql.format.bytes.bounded import BoundsError, check_total, decoding, exactly
from paimon_sql.format.bytes.roaring64 import Roaring64
from paimon_sql.format.bytes.varints import decode_deltas, encode, encode_deltas
from paimon_sql.format.file_index.container import read_header, write_container
from paimon_sql.format.file_index.registry import KINDS as FILE_INDEXES
from paimon_sql.format.global_index.base import GlobalIndexReader, SortedRows, check_rows
from paimon_sql.format.global_index.blocks import Compression, decode_block, encode_block, read_entries
from paimon_sql.format.global_index.keys import IndexKeys
from paimon_sql.format.global_index.registry import KINDS as GLOBAL_INDEXES
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.index_files import (
    DeletionVector,
    files_of_deletion_vectors,
    read_hash_index,
)
from paimon_sql.format.metadata.index_manifest import (
    DELETION_VECTORS_INDEX,
    DeletionVectorRange,
    GlobalIndexMeta,
    IndexFileMeta,
    IndexManifestEntry,
    KeyRange,
    read_index_manifest,
    write_index_manifest,
)
from paimon_sql.format.metadata.manifest import (
    FileKind,
    ManifestEntry,
    describe_manifest,
    manifest_table,
    read_manifest,
    read_manifest_list,
    write_manifest,
    write_manifest_list,
)
from paimon_sql.format.metadata.snapshot import parse_consumer, parse_snapshot, parse_tag
from paimon_sql.format.options.registry import PATTERNS
from paimon_sql.format.options.values import TableOptions
from paimon_sql.format.rows.binary_row import RowCodec
from paimon_sql.format.rows.decode import decode_columns
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.schema import new_schema, parse_schema
from paimon_sql.format.statistics.column_statistics import EMPTY_ROW, EMPTY_STATS
from paimon_sql.format.statistics.table_statistics import ColumnStatistics, TableStatistics, parse_statistics
from paimon_sql.format.text.durations import parse_duration
from tests.format.deletion_vector_files import read_deletion_vectors
from tests.hostile import MANY, Case, little_memory, mutations, survives

PATH = "/t/f"
FIELDS = (t.BigIntType(), t.string_type(), t.DecimalType(True, 30, 2), t.TimestampType(True, 9), t.BinaryType(True, 40))
INNER = t.RowType(True, (t.DataField(1, "a", t.string_type()), t.DataField(2, "b", t.ArrayType(True, t.string_type()))))
NESTED = (t.ArrayType(True, INNER), t.MapType(True, t.string_type(), t.ArrayType(True, t.IntType())), INNER)
SNAPSHOT = {
    "version": 3,
    "id": 7,
    "schemaId": 0,
    "baseManifestList": "manifest-list-a-0",
    "deltaManifestList": "manifest-list-a-1",
    "indexManifest": "index-manifest-a-0",
    "commitUser": "u",
    "commitIdentifier": 9223372036854775807,
    "commitKind": "APPEND",
    "timeMillis": 1,
    "totalRecordCount": 3,
    "deltaRecordCount": 3,
    "properties": {"a": "b"},
    "tagCreateTime": [2024, 1, 1, 0, 0, 0, 0],
    "tagTimeRetained": "PT1H",
}


def manifest_of(*files: DataFileMeta) -> pa.Table:
    return manifest_table([ManifestEntry(FileKind.ADD, EMPTY_ROW, 0, 1, file) for file in files])


def data_file(**members: Any) -> DataFileMeta:
    return DataFileMeta("data-a-0.parquet", 10, 3, extra_files=("data-a-0.parquet.index",), **members)


def index_entry(**members: Any) -> IndexManifestEntry:
    file = IndexFileMeta(DELETION_VECTORS_INDEX, "index-a-0", 10, 3, **members)
    return IndexManifestEntry(FileKind.ADD, EMPTY_ROW, 0, file)


def rows_of(types: tuple[t.DataType, ...], *rows: list[Any]) -> bytes:
    return RowCodec(types).encode(rows[0])


def global_index(kind: str, compression: str) -> bytes:
    values = pa.array([f"value {i % 7}" for i in range(60)])
    keys = IndexKeys(t.string_type())
    held = keys.ordered(values)
    order = np.asarray(pa.compute.sort_indices(held)).astype(np.int64)
    rows = SortedRows(held.take(pa.array(order)), order, np.array([60, 61]))
    options = {f"{kind}-index.compression": compression, "btree-index.block-size": "100 b"}
    return b"".join(GLOBAL_INDEXES[kind].write(rows, keys, TableOptions(options)))


def search(kind: str, data: bytes) -> None:
    keys = IndexKeys(t.string_type())
    with decoding("a global index", PATH):
        read = exactly(lambda start, length: data[start : start + length], len(data), "a part")
        reader: GlobalIndexReader = GLOBAL_INDEXES[kind].reader(read, len(data), keys)
        wanted = keys.ordered(pa.array(["value 3", "value 9"]))
        for found in (reader.among(wanted), reader.between(wanted[0], None), reader.nulls()):
            check_rows(found, 62)


def file_index(kind: str) -> bytes:
    builder = FILE_INDEXES[kind].builder(t.IntType(), TableOptions({"items": "20"} if kind == "bloom-filter" else {}))
    builder.add(pa.array([1, 5, None, 5, 9, 1000, None], pa.int32()))
    return write_container({"c": {kind: builder.finish()}})


def look(kind: str, data: bytes) -> None:
    with decoding("a file index", PATH):
        for place in read_header(data, PATH):
            body = data[place.start : place.start + place.length]
            reader = FILE_INDEXES[place.kind].reader(body, t.IntType())
            for operator in ("=", "<", ">=", "!="):
                reader.compare(operator, pa.scalar(5, pa.int32()))
            reader.equal_any(pa.array([5, 7], pa.int32()))
            reader.nulls()
            reader.not_nulls()


def vectors(*, bitmap64: bool) -> tuple[bytes, tuple[DeletionVectorRange, ...]]:
    return next(
        files_of_deletion_vectors(
            {"a": DeletionVector([1, 5, 70000]), "b": DeletionVector(range(900))}, bitmap64=bitmap64
        )
    )


def roaring() -> bytes:
    bitmap = Roaring64()
    for key in (0, 1, 2**40):
        bitmap.add(key, np.arange(0, 5000, key % 7 + 1, dtype=np.uint16))
    return bitmap.write()


STATISTICS = TableStatistics(1, 0, 5, 100, {"a": ColumnStatistics(0, 3, "x", "z", 1, 2, 3)})
SCHEMA = new_schema([t.DataField(0, "k", t.IntType()), t.DataField(1, "v", INNER)], primary_keys=["k"]).to_json()
KINDS: dict[str, Case] = {
    **{
        f"manifest in {codec}": (
            write_manifest(manifest_of(data_file(), data_file(level=3)), codec),
            lambda d: read_manifest(d, PATH),
        )
        for codec in ("null", "zstd", "snappy")
    },
    "manifest list": (
        write_manifest_list(
            [
                describe_manifest(
                    manifest_of(data_file()), file_name="m", file_size=9, partition_stats=EMPTY_STATS, schema_id=0
                )
            ],
            "null",
        ),
        lambda d: read_manifest_list(d, PATH),
    ),
    "index manifest": (
        write_index_manifest(
            [
                index_entry(deletion_vectors=(DeletionVectorRange("data-a", 1, 20, 3),)),
                index_entry(global_index=GlobalIndexMeta(0, 9, 1, None, KeyRange(b"a", b"b", False).write(), None)),
            ],
            "null",
        ),
        lambda d: read_index_manifest(d, PATH),
    ),
    "deletion vectors": (
        vectors(bitmap64=False)[0],
        lambda d: read_deletion_vectors(d, PATH, vectors(bitmap64=False)[1]),
    ),
    "wide deletion vectors": (
        vectors(bitmap64=True)[0],
        lambda d: read_deletion_vectors(d, PATH, vectors(bitmap64=True)[1]),
    ),
    "hash index": (b"\0\0\0\1\0\0\0\2", lambda d: read_hash_index(d, PATH)),
    "statistics": (STATISTICS.to_json().encode(), lambda d: parse_statistics(d, PATH)),
    "snapshot": (json.dumps(SNAPSHOT).encode(), lambda d: parse_snapshot(d, PATH)),
    "tag": (json.dumps(SNAPSHOT).encode(), lambda d: parse_tag(d, PATH)),
    "consumer": (b'{"nextSnapshot": 5}', lambda d: parse_consumer(d, PATH)),
    "schema": (SCHEMA.encode(), lambda d: parse_schema(d, PATH)),
    **{
        f"{kind} global index in {codec}": (global_index(kind, codec), lambda d, kind=kind: search(kind, d))  # type: ignore[misc]
        for kind in GLOBAL_INDEXES
        for codec in ("none", "zstd", "lz4")
    },
    **{
        f"{kind} file index": (file_index(kind), lambda d, kind=kind: look(kind, d))  # type: ignore[misc]
        for kind in FILE_INDEXES
    },
}
ROW = rows_of(FIELDS, [5, "a text that is longer", 12345678901234567890, 10**18, b"x" * 30])
NESTED_ROW = rows_of(
    NESTED, [[("a longer text", ["another long text", "b"])] * 2, {"a long enough key": [1, 2]}, ("c", ["d"])]
)
PARTS: dict[str, Case] = {
    "row": (ROW, lambda d: RowCodec(FIELDS).decode(d)),
    "nested row": (NESTED_ROW, lambda d: RowCodec(NESTED).decode(d)),
    "columns": (ROW, lambda d: decode_columns(FIELDS, [d, ROW])),
    "nested columns": (NESTED_ROW, lambda d: decode_columns(NESTED, [d, NESTED_ROW])),
    "Roaring64Bitmap": (roaring(), Roaring64.read),
    "range of keys": (KeyRange(b"abc", b"def", True).write(), KeyRange.read),
    "lists of lengths": (encode_deltas(np.arange(50)), lambda d: decode_deltas(d, np.array([len(d)]))),
}


@pytest.mark.parametrize("kind", KINDS)
@MANY
@given(data=st.data())
def test_a_mutated_file_is_read_or_refused_as_corrupt(kind: str, data: st.DataObject) -> None:
    real, read = KINDS[kind]
    mutated = data.draw(mutations(real))
    survives(lambda: read(mutated), CorruptFileError, UnsupportedError)


@pytest.mark.parametrize("kind", PARTS)
@MANY
@given(data=st.data())
def test_a_mutated_part_of_a_file_is_read_or_refused(kind: str, data: st.DataObject) -> None:
    real, read = PARTS[kind]
    mutated = data.draw(mutations(real))
    survives(lambda: read(mutated), InvalidInputError, ValueError)


@pytest.mark.parametrize("bitmap64", [False, True])
@MANY
@given(data=st.data())
def test_a_deletion_vector_whose_checksum_was_made_anew_is_read_or_refused(bitmap64: bool, data: st.DataObject) -> None:
    whole, (_, stated) = vectors(bitmap64=bitmap64)
    size = int.from_bytes(whole[stated.offset : stated.offset + 4], "big")
    body = whole[stated.offset + 4 : stated.offset + 4 + size]
    mutated = body[:4] + data.draw(mutations(body[4:]))
    vector = len(mutated).to_bytes(4, "big") + mutated + zlib.crc32(mutated).to_bytes(4, "big")
    where = DeletionVectorRange("b", 1, len(mutated) + (8 if bitmap64 else 0), None)
    survives(lambda: read_deletion_vectors(b"\1" + vector, PATH, [where]), CorruptFileError)


@MANY
@given(data=st.data(), compression=st.sampled_from(["none", "zstd", "lz4"]))
def test_a_block_whose_checksum_was_made_anew_is_read_or_refused(data: st.DataObject, compression: str) -> None:
    entries = encode(np.array([3])).tobytes() + b"key" + encode(np.array([2])).tobytes() + b"\1\5"
    block, size = encode_block(data.draw(mutations(entries * 30 + b"\7\0\0\0\0")), Compression(compression))
    body, number = block[:size], block[size : size + 1]
    body = data.draw(mutations(body)) if compression != "none" else body
    again = body + number + struct.pack("<I", zlib.crc32(number, zlib.crc32(body)))
    survives(lambda: read_entries(again), ValueError, UnsupportedError)


def in_block(codec: int, claimed: int, packed: bytes) -> bytes:
    body, number = encode(np.array([claimed])).tobytes() + packed, bytes([codec])
    return body + number + struct.pack("<I", zlib.crc32(number, zlib.crc32(body)))


@pytest.mark.parametrize("claimed", [1000, 2**30, 2**40, 2**62])
def test_a_block_is_expanded_to_what_it_claims_at_most(claimed: int) -> None:
    zeros = bytes(cramjam.zstd.compress(bytes(1 << 28)))
    with little_memory(), pytest.raises(ValueError, match="block"):
        decode_block(in_block(1, claimed, zeros))
    packed = bytes(cramjam.lz4.compress_block(bytes(1 << 20), store_size=False))
    with little_memory(), pytest.raises(ValueError, match="block"):
        decode_block(in_block(2, claimed, struct.pack("<ii", len(packed), 0) + packed))


def test_a_run_of_all_positions_is_no_deletion_vector_that_can_be_read() -> None:
    body = struct.pack(">i", 1581511376) + bytes(BitMap(range(2**31)).serialize())
    vector = len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")
    with little_memory(), pytest.raises(CorruptFileError, match="deletes 2147483648 rows"):
        read_deletion_vectors(b"\1" + vector, PATH, [DeletionVectorRange("a", 1, len(body), None)])


def test_rows_of_an_index_are_those_that_it_covers() -> None:
    assert check_rows(BitMap64([3]), 4)
    with pytest.raises(ValueError, match="row 4, but covers 4"):
        check_rows(BitMap64([4]), 4)


def test_entries_of_a_block_that_lie_one_over_the_other_are_refused() -> None:
    entry = encode(np.array([50_000])).tobytes() + bytes(50_000) + b"\0"
    many = np.zeros(10_000, "<i4").tobytes() + (10_000).to_bytes(4, "little") + b"\1"
    block, _ = encode_block(entry + many, Compression())
    with little_memory(), pytest.raises(ValueError, match="the keys of a block take more"):
        read_entries(block)


def test_runs_of_a_bitmap_of_long_numbers_are_bounded() -> None:
    container = struct.pack("<BBiH", 1, 0, 65536, 1) + struct.pack("<HH", 0, 65535)
    count = 4096
    tree = struct.pack("<BHB", 4, 0, 0) + bytes(6) + struct.pack("<q", 0)
    data = b"\1" + struct.pack("<q", 1) + tree + struct.pack("<iBi", 1, 0xFE, count) + container * count
    with little_memory(600 << 20), pytest.raises(ValueError, match="numbers are declared"):
        Roaring64.read(data + struct.pack("<qii", 1, 0, count - 1))


def test_an_array_inside_of_itself_is_refused() -> None:
    deep: t.DataType = t.string_type()
    for _ in range(60):
        deep = t.ArrayType(True, deep)
    # Both elements are the array itself: 2^60 values.
    array = struct.pack("<ii", 2, 0) + struct.pack("<II", 24, 0) * 2
    data = struct.pack(">i", 1) + bytes(8) + struct.pack("<II", len(array), 16) + array
    with little_memory(), pytest.raises(InvalidInputError, match="The values exceed"):
        RowCodec([deep]).decode(data)


def test_a_row_whose_fields_are_itself_is_refused() -> None:
    row = t.RowType(True, (t.DataField(0, "a", t.string_type()), t.DataField(1, "b", t.VarBinaryType(True, 100))))
    inner = bytes(8) + struct.pack("<II", 24, 0) * 2
    data = struct.pack(">i", 1) + bytes(8) + struct.pack("<II", len(inner), 16) + inner
    with pytest.raises(InvalidInputError, match="The values exceed"):
        RowCodec([row]).decode(data)


def test_elements_of_an_array_that_lie_one_over_the_other_are_refused() -> None:
    count, size = 2_000, 100_000
    header = 4 + (count + 31) // 32 * 4
    slots = struct.pack("<II", size, header + 8 * count) * count
    array = struct.pack("<i", count) + bytes(header - 4) + slots + bytes(size)
    data = struct.pack(">i", 1) + bytes(8) + struct.pack("<II", len(array), 16) + array
    with little_memory(), pytest.raises(InvalidInputError, match="The values exceed"):
        RowCodec([t.ArrayType(True, t.VarBinaryType(True, 2**31 - 1))]).decode(data)


@pytest.mark.parametrize("sizes", [[-1, 5], [2**62] * 4, [2**63 - 1, 2**63 - 1, 12], [11]])
def test_sizes_are_compared_with_what_there_is_whatever_their_sum(sizes: list[int]) -> None:
    with pytest.raises(BoundsError, match="the parts take more"):
        check_total(np.array(sizes), 10, "the parts")
    check_total(np.array([4, 6]), 10, "the parts")


@pytest.mark.parametrize("member", ["row_count", "file_size"])
def test_counts_of_a_manifest_are_not_negative(member: str) -> None:
    table = manifest_of(data_file())
    at = table.schema.get_field_index(member)
    broken = table.set_column(at, table.schema.field(at), pa.array([-5], pa.int64()))
    with pytest.raises(CorruptFileError, match="negative"):
        read_manifest(write_manifest(broken, "zstd"), PATH)


@pytest.mark.parametrize(
    "text",
    ['{"a":' * 100_000, "[" * 1_000_000, '{"nextSnapshot": ' + "9" * 100_000 + "}", '{"nextSnapshot": 1e999999}'],
)
def test_json_of_any_depth_and_number_is_refused(text: str) -> None:
    for parse in (parse_consumer, parse_snapshot, parse_schema, parse_statistics):
        with pytest.raises(CorruptFileError):
            parse(text, PATH)


@pytest.mark.parametrize(
    "amended",
    [
        {"primaryKeys": ["nowhere"]},
        {"primaryKeys": ".."},
        {"primaryKeys": [1]},
        {"partitionKeys": {"id": 1}},
        {"options": {"bucket-key": "nowhere"}},
    ],
)
def test_keys_of_a_schema_are_columns(amended: dict[str, object]) -> None:
    with pytest.raises(CorruptFileError):
        parse_schema(json.dumps({**json.loads(SCHEMA), **amended}), PATH)


@pytest.mark.parametrize("text", ["ARRAY<" * 50_000 + "INT" + ">" * 50_000, "ROW<a " * 50_000, "DECIMAL(" + "9" * 5000])
def test_a_type_of_any_depth_is_refused(text: str) -> None:
    body = json.loads(SCHEMA)
    body["fields"][1]["type"] = text
    with pytest.raises(CorruptFileError):
        parse_schema(json.dumps(body), PATH)


@pytest.mark.parametrize(
    "text", ["1" + " " * 50_000 + "5", "1" * 50_000 + "!", "PT" + "1" * 50_000, "P" + "+" * 50_000], ids=range(4)
)
def test_a_length_of_time_is_read_in_time_that_grows_with_its_text(text: str) -> None:
    began = time.process_time()
    with pytest.raises(ValueError, match=r"is not a duration|digits"):
        parse_duration(text)
    assert time.process_time() - began < 2


@pytest.mark.parametrize("filling", [".", ".pk-", "a", ".\n", "file-index."])
def test_keys_of_options_are_told_in_time_that_grows_with_them(filling: str) -> None:
    began = time.process_time()
    for head in ("fields.", "file-index.", "blob-descriptor.", ""):
        for tail in ("", "\n", "."):
            key = head + filling * (20_000 // len(filling)) + tail
            for pattern in PATTERNS:
                assert pattern.pattern is not None
                pattern.pattern.fullmatch(key)
    assert time.process_time() - began < 5
