from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_sql.errors import CorruptFileError
from paimon_sql.format.metadata.index_files import (
    DeletionVector,
    files_of_deletion_vectors,
    read_deletion_vector,
)
from paimon_sql.format.metadata.index_manifest import (
    DELETION_VECTORS_INDEX,
    DeletionVectorRange,
    IndexFileMeta,
    read_index_manifest,
)
from tests.format.deletion_vector_files import read_deletion_vectors

POSITIONS = st.lists(st.integers(0, 2**31 - 1) | st.integers(0, 3000), max_size=60)


def golden_index_files(golden: Path) -> list[tuple[Path, IndexFileMeta]]:
    found = {}
    for manifest in golden.glob("*/warehouse/*/*/manifest/index-manifest-*"):
        for entry in read_index_manifest(manifest.read_bytes(), str(manifest)):
            path = manifest.parent.parent / "index" / entry.file.file_name
            if entry.file.index_type == DELETION_VECTORS_INDEX and path.exists():
                found[path] = entry.file
    return sorted(found.items())


def test_index_files_of_the_golden_tables_are_read_and_written_byte_for_byte(golden: Path) -> None:
    files = golden_index_files(golden)
    assert len(files) > 8
    for path, meta in files:
        data = path.read_bytes()
        vectors = read_deletion_vectors(data, str(path), meta.deletion_vectors or ())
        bitmap64 = "append_64" in str(path) or "dv_pk_64" in str(path)
        assert next(files_of_deletion_vectors(vectors, bitmap64=bitmap64)) == (data, meta.deletion_vectors)
        assert meta.row_count == len(vectors)


@pytest.mark.parametrize(("file", "ranges"), [("dvindex-32", [(1, 24), (33, 22)]), ("dvindex-64", [(1, 44), (45, 42)])])
def test_index_files_of_older_versions_are_read(golden: Path, file: str, ranges: list[tuple[int, int]]) -> None:
    data = (golden / "compat" / file).read_bytes()
    stated = [DeletionVectorRange(str(offset), offset, length) for offset, length in ranges]
    vectors = list(read_deletion_vectors(data, file, stated).values())
    assert vectors == [DeletionVector([2, 3]), DeletionVector([1])]


@given(st.dictionaries(st.text(max_size=3), POSITIONS, max_size=3), st.booleans())
def test_written_vectors_are_read_again(rows: dict[str, list[int]], bitmap64: bool) -> None:
    vectors = {name: DeletionVector(positions) for name, positions in rows.items()}
    data, ranges = next(files_of_deletion_vectors(vectors, bitmap64=bitmap64))
    assert read_deletion_vectors(data, "f", ranges) == vectors
    for stated in ranges:
        part = data[stated.offset : stated.offset + stated.length + 8]
        assert read_deletion_vector(part, "f", stated) == vectors[stated.data_file_name]


@pytest.mark.parametrize("bitmap64", [False, True])
def test_another_file_is_begun_behind_so_many_bytes(bitmap64: bool) -> None:
    vectors = {f"data-{i}.orc": DeletionVector([i, 70000]) for i in range(5)}
    (whole,) = files_of_deletion_vectors(vectors, bitmap64=bitmap64)
    each = list(files_of_deletion_vectors(vectors, bitmap64=bitmap64, target=1))
    pairs = list(files_of_deletion_vectors(vectors, bitmap64=bitmap64, target=len(each[0][0])))
    assert [len(ranges) for _, ranges in each] == [1] * 5
    assert [len(ranges) for _, ranges in pairs] == [2, 2, 1]
    for files in ([whole], each, pairs):
        read = [read_deletion_vectors(data, "f", ranges) for data, ranges in files]
        assert {name: vector for held in read for name, vector in held.items()} == vectors
    assert list(files_of_deletion_vectors({}, target=1)) == [(b"\x01", ())]


def test_a_file_without_vectors_holds_its_version_only() -> None:
    assert next(files_of_deletion_vectors({})) == (b"\x01", ())


@given(POSITIONS, st.integers(0, 50), st.integers(0, 40))
def test_the_mask_of_a_window_is_that_part_of_the_whole(positions: list[int], first: int, size: int) -> None:
    vector = DeletionVector(positions)
    expected = [row not in positions for row in range(first, first + size)]
    assert vector.mask(size, first).tolist() == expected


def test_positions_stand_in_order_once_each() -> None:
    vector = DeletionVector([5, 1, 5, 3])
    assert vector.positions.tolist() == [1, 3, 5]
    assert vector.cardinality == 3
    assert vector | DeletionVector([2, 3]) == DeletionVector([1, 2, 3, 5])
    assert (DeletionVector() | DeletionVector()).cardinality == 0
    assert vector != "vector"
    assert len({vector, DeletionVector([1, 3, 5])}) == 1


def test_a_negative_position_is_refused() -> None:
    with pytest.raises(ValueError, match="row -1"):
        DeletionVector([3, -1])


def test_great_positions_need_the_64_bit_layout() -> None:
    vector = DeletionVector([2**31, 2**40])
    with pytest.raises(ValueError, match="exceeds 32-bit"):
        next(files_of_deletion_vectors({"a": vector}))
    data, ranges = next(files_of_deletion_vectors({"a": vector}, bitmap64=True))
    assert read_deletion_vectors(data, "f", ranges) == {"a": vector}


def framed(body: bytes) -> bytes:
    return b"\x01" + len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")


GOOD, (RANGE,) = next(files_of_deletion_vectors({"data-a-0.orc": DeletionVector([1, 2, 70000])}))


@pytest.mark.parametrize(
    ("data", "stated", "defect"),
    [
        (GOOD[:-1], RANGE, "is cut off"),
        (GOOD[:5], RANGE, "is cut off"),
        (b"\x01" + b"\xff" * 40, RANGE, "is cut off"),
        (GOOD[:6] + b"?" + GOOD[7:], RANGE, "unknown magic number"),
        (GOOD[:-6] + b"??" + GOOD[-4:], RANGE, "does not match its checksum"),
        (GOOD, DeletionVectorRange("data-a-0.orc", 1, RANGE.length + 1), "but .* according to the index manifest"),
        (GOOD, DeletionVectorRange("data-a-0.orc", 1, RANGE.length, 9), "deletes 3 rows, but 9 according"),
        (framed(GOOD[5:9] + b"nonsense"), DeletionVectorRange("data-a-0.orc", 1, 12), "is not a bitmap"),
    ],
)
def test_a_corrupt_file_is_refused_with_its_path_and_defect(
    data: bytes, stated: DeletionVectorRange, defect: str
) -> None:
    with pytest.raises(CorruptFileError, match=rf"t/index-0: .*{defect}"):
        read_deletion_vectors(data, "t/index-0", [stated])


def test_a_row_that_no_file_has_is_refused() -> None:
    data, (stated,) = next(files_of_deletion_vectors({"a": DeletionVector([5])}))
    body = data[5:-4].replace(b"\x00\x00\x00\x00\x10", b"\xff\xff\x00\x00\x10")
    with pytest.raises(CorruptFileError, match="which no file has"):
        read_deletion_vectors(framed(body), "f", [stated])


def test_a_mask_needs_no_python_loop_for_millions_of_rows() -> None:
    vector = DeletionVector(np.arange(0, 3_000_000, 3))
    assert int(vector.mask(3_000_000).sum()) == 2_000_000
