from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from paimon_sql.errors import CorruptFileError
from paimon_sql.format.metadata.index_files import read_hash_index, write_hash_index
from paimon_sql.format.metadata.index_manifest import HASH_INDEX, read_index_manifest


def test_hash_indexes_of_the_golden_tables_are_read_and_written_byte_for_byte(golden: Path) -> None:
    seen = 0
    for manifest in golden.glob("dynamic_bucket/warehouse/*/*/manifest/index-manifest-*"):
        for entry in read_index_manifest(manifest.read_bytes(), str(manifest)):
            if entry.file.index_type == HASH_INDEX:
                data = (manifest.parent.parent / "index" / entry.file.file_name).read_bytes()
                hashes = read_hash_index(data, "f")
                assert len(hashes) == entry.file.row_count
                assert write_hash_index(hashes) == data
                seen += 1
    assert seen > 2


def test_hashes_of_all_sizes_are_kept() -> None:
    hashes = np.array([0, -1, 2**31 - 1, -(2**31)], np.int32)
    data = write_hash_index(hashes)
    assert data[4:8] == b"\xff\xff\xff\xff"
    assert read_hash_index(data, "f").tolist() == hashes.tolist()
    assert read_hash_index(data, "f").dtype == np.int32


def test_an_empty_index_holds_no_hash() -> None:
    assert len(read_hash_index(write_hash_index(np.zeros(0, np.int32)), "f")) == 0


def test_a_file_that_ends_inside_a_hash_is_refused() -> None:
    with pytest.raises(CorruptFileError, match="t/index-0: a hash index of 5 bytes"):
        read_hash_index(b"12345", "t/index-0")
