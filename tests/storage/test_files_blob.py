"""Files of blobs, built here byte by byte as the format says."""

from __future__ import annotations

import struct
import tempfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import CorruptFileError, UnsupportedError
from paimon_sql.format.bytes.varints import decode_deltas, encode_deltas
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.types import (
    ArrayType,
    BigIntType,
    BlobType,
    BooleanType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntType,
    MapType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from paimon_sql.storage.file_formats.base import FileRead
from paimon_sql.storage.file_formats.registry import file_format, format_names
from paimon_sql.storage.file_io import LocalFileIO
from tests.storage.file_reads import read_rows

MAGIC = bytes.fromhex("cf114e58")
FIELD = DataField(0, "b", BlobType())
VALUES = [b"Hello", None, b"", b"x" * 300, None, bytes(range(256)) * 40]


def varint(number: int) -> bytes:
    zigzag, found = (number << 1) ^ (number >> 63), bytearray()
    while zigzag >= 0x80:
        found.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*found, zigzag])


def closed(record: bytes) -> bytes:
    """A record with its length and checksum."""
    record += struct.pack("<q", len(record) + 12)
    return record + struct.pack("<I", zlib.crc32(record))


def blob_file(values: list[bytes | None], lengths: list[int] | None = None) -> bytes:
    records = [b"" if v is None else MAGIC + v for v in values]
    framed = [r and closed(r) for r in records]
    sizes = lengths or [len(r) if v is not None else -1 for r, v in zip(framed, values, strict=True)]
    index = b"".join(varint(size - before) for before, size in zip([0, *sizes], sizes, strict=False))
    return b"".join(framed) + index + struct.pack("<iB", len(index), 1)


def read(path: Path, data: bytes, ranges: list[tuple[int, int]] | None = None, rows: int = 65_536) -> dict[int, object]:
    path.write_bytes(data)
    wanted = FileRead(str(path), [FIELD], ["b"], len(data), row_ranges=ranges, batch_rows=rows)
    read = file_format("blob").batches(LocalFileIO(), wanted)
    return {at + i: value for at, batch in read for i, value in enumerate(batch.column("b").to_pylist())}


@pytest.mark.parametrize("rows", [1, 2, 65_536])
def test_values_nulls_and_empty_ones_are_told_apart(tmp_path: Path, rows: int) -> None:
    assert read(tmp_path / "f.blob", blob_file(VALUES), rows=rows) == dict(enumerate(VALUES))
    assert read(tmp_path / "g.blob", blob_file([None, None]), rows=rows) == {0: None, 1: None}
    assert read(tmp_path / "h.blob", blob_file([])) == {}


def test_only_wanted_rows_are_read(tmp_path: Path) -> None:
    found = read(tmp_path / "f.blob", blob_file(VALUES), [(1, 3), (5, 6)])
    assert found == {1: None, 2: b"", 5: VALUES[5]}


def test_damaged_files_are_told(tmp_path: Path) -> None:
    good = blob_file(VALUES)
    for bad in (b"", good[:-1], good[1:], b"?" + good[1:], good[:-5] + struct.pack("<iB", 10**6, 1), good[:-1] + b"\2"):
        with pytest.raises(CorruptFileError):
            read(tmp_path / "f.blob", bad)


def test_what_older_files_hold_is_null_here_and_other_columns_are_refused(tmp_path: Path) -> None:
    assert read(tmp_path / "f.blob", blob_file([None, b"a"], [-2, 17])) == {0: None, 1: b"a"}
    blob = file_format("blob")
    for wrong in (IntType(), ArrayType(True, IntType()), MapType(True, DoubleType(False), BlobType())):
        with pytest.raises(UnsupportedError):
            blob.check_fields([DataField(0, "b", wrong)])
    assert "blob" not in format_names()


def written(path: Path, column: pa.Array, data_type: DataType) -> bytes:
    writer = file_format("blob").open_writer(LocalFileIO(), str(path), [DataField(0, "b", data_type)])
    for at in range(0, len(column), 2):
        writer.write(pa.record_batch([column.slice(at, 2)], names=["b"]))
    size = writer.close()
    data = path.read_bytes()
    assert len(data) == size
    return data


def test_values_are_written_as_the_format_says(tmp_path: Path) -> None:
    assert written(tmp_path / "f", pa.array(VALUES, pa.binary()), BlobType()) == blob_file(VALUES)
    assert written(tmp_path / "g", pa.array([], pa.binary()), BlobType()) == blob_file([])


def test_files_are_those_of_java(golden: Path, tmp_path: Path) -> None:
    files = sorted((golden / "blob_field").rglob("*.blob"))
    for theirs in files:
        values = list(read(tmp_path / "f", theirs.read_bytes()).values())
        assert written(tmp_path / "g", pa.array(values, pa.binary()), BlobType()) == theirs.read_bytes()
    assert len(files) == 3


def test_an_array_and_a_map_stand_as_the_format_says(tmp_path: Path) -> None:
    def framed(content: bytes) -> bytes:
        record = closed(MAGIC + content)
        index = varint(len(record))
        return record + index + struct.pack("<iB", len(index), 1)

    lengths = varint(2) + varint(-3) + varint(1)
    array = struct.pack("<IBi", 0x41424342, 1, 3) + b"ab" + lengths + struct.pack("<i", len(lengths))
    kind = ArrayType(True, BlobType())
    assert written(tmp_path / "a", pa.array([[b"ab", None, b""]], arrow_type(kind)), kind) == framed(array)
    keys, values = varint(1) + varint(1), varint(3) + varint(-4)
    head = struct.pack("<IBi", 0x4D424342, 1, 2) + b"k" + b"kk" + b"xyz"
    whole = head + keys + values + struct.pack("<ii", len(keys), len(values))
    kind_of_map = MapType(True, VarCharType(False, 9), BlobType())
    column = pa.array([[("k", b"xyz"), ("kk", None)]], arrow_type(kind_of_map))
    assert written(tmp_path / "m", column, kind_of_map) == framed(whole)


KEYS: dict[DataType, st.SearchStrategy[Any]] = {
    BooleanType(False): st.booleans(),
    TinyIntType(False): st.integers(-128, 127),
    BigIntType(False): st.integers(-(2**63), 2**63 - 1),
    DateType(False): st.dates(),
    TimeType(False, 3): st.times().map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000)),
    DecimalType(False, 9, 2): st.decimals(-(10**6), 10**6, places=2),
    DecimalType(False, 38, 4): st.decimals(-(10**30), 10**30, places=4),
    VarCharType(False, 99): st.text(max_size=5),
    VarBinaryType(False, 99): st.binary(max_size=5),
}


@pytest.mark.parametrize("key", KEYS, ids=lambda k: k.sql())
@settings(max_examples=15)
@given(data=st.data())
def test_arrays_and_maps_come_back(key: DataType, data: st.DataObject) -> None:
    blobs = st.one_of(st.none(), st.binary(max_size=300), st.just(b"z" * 70_000))
    maps = st.lists(st.tuples(KEYS[key], blobs), max_size=3, unique_by=lambda pair: pair[0])
    kinds = {
        ArrayType(True, BlobType()): data.draw(st.lists(st.one_of(st.none(), st.lists(blobs, max_size=3)), max_size=5)),
        MapType(True, key, BlobType()): data.draw(st.lists(st.one_of(st.none(), maps), max_size=5)),
    }
    with tempfile.TemporaryDirectory() as folder:
        for kind, values in kinds.items():
            column = pa.array(values, arrow_type(kind))
            path = Path(folder) / kind.root
            stored = written(path, column, kind)
            for rows in (1, 100):
                batches = read_rows(
                    file_format("blob"),
                    LocalFileIO(),
                    str(path),
                    len(stored),
                    [DataField(0, "b", kind)],
                    ["b"],
                    batch_rows=rows,
                )
                found = [value for batch in batches for value in batch.column(0).to_pylist()]
                assert found == column.to_pylist()
            for bad in (4, 9, len(stored) // 2):
                path.write_bytes(stored[:bad] + b"\x7f\x7f" + stored[bad + 2 :])
                with suppress(CorruptFileError):
                    list(
                        read_rows(file_format("blob"), LocalFileIO(), str(path), None, [DataField(0, "b", kind)], ["b"])
                    )


@given(st.lists(st.integers(-2, 2**60)))
def test_indexes_come_back(numbers: list[int]) -> None:
    data = encode_deltas(np.array(numbers, dtype=np.int64))
    assert data == b"".join(varint(n - before) for before, n in zip([0, *numbers], numbers, strict=False))
    assert decode_deltas(data, np.array([len(data)]))[0].tolist() == numbers
