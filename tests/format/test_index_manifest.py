from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest

from paimon_sql.errors import CommitConflictError, CorruptFileError
from paimon_sql.format.avro.container import open_container
from paimon_sql.format.metadata.index_manifest import (
    DELETION_VECTORS_INDEX,
    HASH_INDEX,
    DeletionVectorRange,
    GlobalIndexMeta,
    IndexFileMeta,
    IndexManifestEntry,
    combine,
    read_index_manifest,
    write_index_manifest,
)
from paimon_sql.format.metadata.manifest import FileKind


def added(
    name: str, kind: str = HASH_INDEX, bucket: int = 0, partition: bytes = b"", **facts: object
) -> IndexManifestEntry:
    return IndexManifestEntry(FileKind.ADD, partition, bucket, IndexFileMeta(kind, name, 1, 1, **facts))  # type: ignore[arg-type]


def vectors(name: str, *data_files: str, bucket: int = 0) -> IndexManifestEntry:
    ranges = tuple(DeletionVectorRange(data_file, 1, 20) for data_file in data_files)
    return added(name, DELETION_VECTORS_INDEX, bucket, deletion_vectors=ranges)


def indexed(name: str, first: int, last: int, **facts: object) -> IndexManifestEntry:
    return added(name, "btree", global_index=GlobalIndexMeta(first, last, 1, **facts))  # type: ignore[arg-type]


def names(entries: list[IndexManifestEntry]) -> set[str]:
    return {entry.file.file_name for entry in entries}


def test_a_written_index_manifest_is_read_again() -> None:
    entries = [
        added("index-a-0", external_path="s3://b/index-a-0"),
        vectors("index-a-1", "data-a-0.orc", "data-ü-0.orc"),
        vectors("index-a-2"),
        added("g", "btree", global_index=GlobalIndexMeta(0, 2**62, 3, (4, 5), b"", b"DEIX")),
        added("h", "bitmap", global_index=GlobalIndexMeta(0, 1, 3)).as_delete(),
    ]
    assert read_index_manifest(write_index_manifest(entries), "f") == entries
    assert read_index_manifest(write_index_manifest([]), "f") == []


def test_index_manifests_of_the_golden_tables_are_written_with_the_same_schema_and_records(golden: Path) -> None:
    files = sorted(golden.glob("*/warehouse/*/*/manifest/index-manifest-*"))
    assert len(files) > 10
    for file in files:
        data = file.read_bytes()
        written = open_container(write_index_manifest(read_index_manifest(data, str(file))), "written")
        stated = open_container(data, str(file))
        assert written.schema_text == stated.schema_text
        assert written.records() == stated.records()


@pytest.mark.parametrize("write", [pyarrow.orc.write_table, pyarrow.parquet.write_table])
def test_index_manifests_of_older_versions_in_other_formats_are_read(
    write: Callable[[pa.Table, io.BytesIO], None],
) -> None:
    record = {
        "_VERSION": 1,
        "_KIND": 0,
        "_PARTITION": b"p",
        "_BUCKET": 2,
        "_INDEX_TYPE": DELETION_VECTORS_INDEX,
        "_FILE_NAME": "a",
        "_FILE_SIZE": 1,
        "_ROW_COUNT": 1,
        "_DELETIONS_VECTORS_RANGES": [{"f0": "data-a-0.orc", "f1": 1, "f2": 20}],
    }
    out = io.BytesIO()
    write(pa.Table.from_pylist([record]), out)
    expected = replace(vectors("a", "data-a-0.orc", bucket=2), partition=b"p")
    assert read_index_manifest(out.getvalue(), "f") == [expected]


def test_a_corrupt_index_manifest_is_refused_with_its_path() -> None:
    with pytest.raises(CorruptFileError, match="t/index-manifest-1: "):
        read_index_manifest(b"nonsense", "t/index-manifest-1")


@pytest.mark.parametrize("kind", [HASH_INDEX, DELETION_VECTORS_INDEX])
def test_a_new_index_file_replaces_the_one_of_its_bucket_and_kind(kind: str) -> None:
    other = HASH_INDEX if kind == DELETION_VECTORS_INDEX else DELETION_VECTORS_INDEX
    before = [added("a", kind), added("b", kind, 1), added("c", kind, 0, b"p"), added("d", other)]
    after = combine(before, [added("new", kind)], bucket_unaware=False)
    assert names(after) == {"new", "b", "c", "d"}


def test_a_delete_goes_before_an_add_of_the_same_bucket() -> None:
    changes = [added("new"), added("old").as_delete()]
    assert names(combine([added("old")], changes, bucket_unaware=False)) == {"new"}


def test_a_table_without_buckets_keeps_many_deletion_vector_files() -> None:
    before = [vectors("a", "1", "2"), vectors("b", "3")]
    after = combine(before, [before[0].as_delete(), vectors("c", "1", "2", "4")], bucket_unaware=True)
    assert names(after) == {"b", "c"}


@pytest.mark.parametrize(
    ("change", "defect"),
    [
        (vectors("b", "1"), "data file 1 has a deletion vector already"),
        (vectors("a", "2"), "file a is part of the table already"),
        (vectors("x", "1").as_delete(), "file x is deleted but not part"),
        (vectors("a", "9").as_delete(), "vector of 9 is deleted but not part"),
    ],
)
def test_a_contradiction_about_deletion_vectors_is_a_conflict(change: IndexManifestEntry, defect: str) -> None:
    with pytest.raises(CommitConflictError, match=defect):
        combine([vectors("a", "1")], [change], bucket_unaware=True)


def test_global_indexes_stay_until_they_are_deleted_by_name() -> None:
    before = [indexed("a", 0, 9), indexed("b", 10, 19)]
    after = combine(before, [before[0].as_delete(), indexed("c", 0, 4), indexed("d", 5, 9)], bucket_unaware=True)
    assert names(after) == {"b", "c", "d"}
    with pytest.raises(CommitConflictError, match="x is deleted but not part"):
        combine(before, [indexed("x", 0, 1).as_delete()], bucket_unaware=True)


@pytest.mark.parametrize("extra", [None, (2,)])
def test_a_global_index_over_rows_that_have_one_is_a_conflict(extra: tuple[int, ...] | None) -> None:
    first = 9 if extra is None else 100
    with pytest.raises(CommitConflictError, match="c covers rows that a covers already"):
        combine([indexed("a", 0, 9)], [indexed("c", first, 120, extra_field_ids=extra)], bucket_unaware=True)


def test_global_indexes_over_other_columns_or_over_files_do_not_meet() -> None:
    old = indexed("a", 0, 9)
    meta = GlobalIndexMeta(0, 9, 2)
    other_column = replace(old, file=replace(old.file, file_name="b", global_index=meta))
    assert len(combine([old], [other_column], bucket_unaware=True)) == 2
    sources = [indexed(name, 0, 9, source_meta=b"files") for name in "ab"]
    assert len(combine(sources[:1], sources[1:], bucket_unaware=False)) == 2
    evolving = [indexed(name, 0, 9, source_meta=b"DEIX....") for name in "ab"]
    with pytest.raises(CommitConflictError):
        combine(evolving[:1], evolving[1:], bucket_unaware=True)
