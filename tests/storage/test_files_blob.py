"""Files of blobs, built here byte by byte as the format says."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from paimon_sql.errors import CorruptFileError, UnsupportedError
from paimon_sql.format.types import BlobType, DataField, IntType
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.files.registry import file_format, format_names

MAGIC = bytes.fromhex("cf114e58")
FIELD = DataField(0, "b", BlobType())
VALUES = [b"Hello", None, b"", b"x" * 300, None, bytes(range(256)) * 40]


def varint(number: int) -> bytes:
    zigzag, found = (number << 1) ^ (number >> 63), bytearray()
    while zigzag >= 0x80:
        found.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*found, zigzag])


def blob_file(values: list[bytes | None], lengths: list[int] | None = None) -> bytes:
    records = [b"" if v is None else MAGIC + v for v in values]
    framed = [r and r + struct.pack("<qI", len(r) + 12, zlib.crc32(r)) for r in records]
    sizes = lengths or [len(r) if v is not None else -1 for r, v in zip(framed, values, strict=True)]
    index = b"".join(varint(size - before) for before, size in zip([0, *sizes], sizes, strict=False))
    return b"".join(framed) + index + struct.pack("<iB", len(index), 1)


def read(path: Path, data: bytes, ranges: list[tuple[int, int]] | None = None, rows: int = 65_536) -> dict[int, object]:
    path.write_bytes(data)
    read = file_format("blob").read_with_positions(
        LocalFileIO(), str(path), len(data), [FIELD], ["b"], row_ranges=ranges, batch_rows=rows
    )
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


def test_what_is_not_understood_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="older files"):
        read(tmp_path / "f.blob", blob_file([None], [-2]))
    blob = file_format("blob")
    with pytest.raises(UnsupportedError):
        blob.check_fields([DataField(0, "b", IntType())])
    with pytest.raises(UnsupportedError):
        blob.open_writer(LocalFileIO(), str(tmp_path / "g.blob"), [FIELD])
    assert "blob" not in format_names()
