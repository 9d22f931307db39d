from __future__ import annotations

from pathlib import Path

import pytest

from paimon_sql.format.layout.external_paths import entropy_directories, external_placer
from paimon_sql.format.layout.paths import (
    POSTPONE_BUCKET,
    SNAPSHOT,
    TablePaths,
    data_extension,
    data_file,
    data_file_name,
    extra_file,
    file_index_name,
    format_of,
    index_name,
    next_file_index_name,
    number_of,
    statistics_name,
)
from paimon_sql.format.metadata.manifest import entries, read_manifest

T = TablePaths("w/db.db/t")
DEV = T.of_branch("dev")


def test_files_of_the_main_branch_stand_under_the_table() -> None:
    assert T.snapshot(3) == "w/db.db/t/snapshot/snapshot-3"
    assert T.changelog(3) == "w/db.db/t/changelog/changelog-3"
    assert T.schema(0) == "w/db.db/t/schema/schema-0"
    assert T.tag("x") == "w/db.db/t/tag/tag-x"
    assert T.consumer("me") == "w/db.db/t/consumer/consumer-me"
    assert T.directory(SNAPSHOT) == "w/db.db/t/snapshot"
    assert T.branches() == "w/db.db/t/branch"


def test_a_branch_has_metadata_of_its_own_and_shares_the_files() -> None:
    assert DEV.snapshot(3) == "w/db.db/t/branch/branch-dev/snapshot/snapshot-3"
    assert DEV.tag("x") == "w/db.db/t/branch/branch-dev/tag/tag-x"
    assert DEV.manifest("manifest-a-0") == "w/db.db/t/manifest/manifest-a-0"
    assert DEV.statistics("stat-a-0") == "w/db.db/t/statistics/stat-a-0"
    assert DEV.bucket("", 0) == "w/db.db/t/bucket-0"
    assert DEV.of_branch("main") == T


def test_buckets_stand_in_their_partitions() -> None:
    assert T.bucket("dt=1/h=2", 5) == "w/db.db/t/dt=1/h=2/bucket-5"
    assert T.bucket("", POSTPONE_BUCKET) == "w/db.db/t/bucket-postpone"
    within = TablePaths("w/t", data_directory="data")
    assert within.bucket("dt=1", 0) == "w/t/data/dt=1/bucket-0"
    assert within.relative_bucket("dt=1", 0) == "data/dt=1/bucket-0"
    assert (within.data_root(), T.data_root()) == ("w/t/data", T.root)


def test_index_files_stand_in_one_directory_or_beside_the_data_or_elsewhere() -> None:
    assert T.index("index-a-0") == "w/db.db/t/index/index-a-0"
    assert T.index("index-a-0", bucket="w/db.db/t/bucket-0") == "w/db.db/t/bucket-0/index-a-0"
    assert T.index("index-a-0", "s3://x/index-a-0") == "s3://x/index-a-0"


def test_a_data_file_stands_in_its_bucket_or_elsewhere_with_its_extra_files() -> None:
    assert data_file("b", "d.orc", None) == "b/d.orc"
    assert data_file("b", "d.orc", "s3://x/y/d.orc") == "s3://x/y/d.orc"
    assert extra_file("b", "d.orc.index", None) == "b/d.orc.index"
    assert extra_file("b", "d.orc.index", "s3://x/y/d.orc") == "s3://x/y/d.orc.index"


def test_new_files_are_named_by_writer_and_count() -> None:
    assert index_name("u", 3) == "index-u-3"
    assert statistics_name("u", 4) == "stat-u-4"
    assert data_file_name("data-", "u", 5, ".orc") == "data-u-5.orc"


@pytest.mark.parametrize(
    ("file_format", "compression", "told", "extension"),
    [
        ("parquet", "zstd", False, ".parquet"),
        ("parquet", "zstd", True, ".zst.parquet"),
        ("parquet", "gzip", True, ".gz.parquet"),
        ("parquet", "none", True, ".parquet"),
        ("parquet", "", True, ".parquet"),
        ("orc", "SNAPPY", True, ".snappy.orc"),
        ("orc", "brotli", True, ".brotli.orc"),
        ("csv", "gzip", False, ".csv.gz"),
        ("json", "none", False, ".json"),
    ],
)
def test_the_extension_tells_format_and_compression(
    file_format: str, compression: str, told: bool, extension: str
) -> None:
    assert data_extension(file_format, compression, with_compression=told) == extension
    assert format_of(f"data-u-0{extension}") == file_format


def test_a_name_without_extension_tells_no_format() -> None:
    for name in ("data", "data-0", ".gz"):
        with pytest.raises(ValueError, match="contains no file format"):
            format_of(name)


def test_index_files_of_a_data_file_are_counted() -> None:
    assert file_index_name("data-u-0.orc") == "data-u-0.orc.index"
    assert next_file_index_name("data-u-0.orc.index") == "data-u-0.orc-1.index"
    assert next_file_index_name("data-u-0.orc-1.index") == "data-u-0.orc-2.index"


def test_numbered_files_are_told_from_others() -> None:
    assert number_of("snapshot-12", "snapshot") == 12
    for name in (
        "snapshot-",
        "snapshot-x",
        "snapshot--1",
        "LATEST",
        "snapshot-1.tmp",
        "changelog-1",
        "snapshot-\u0661",
    ):
        assert number_of(name, "snapshot") is None


def test_data_files_of_the_golden_tables_stand_where_the_paths_say(golden: Path) -> None:
    seen = 0
    for manifest in golden.glob("append_fixed_bucket/warehouse/*/*/manifest/manifest-[0-9a-f][0-9a-f][0-9a-f]*"):
        paths = TablePaths(str(manifest.parent.parent))
        for entry in entries(read_manifest(manifest.read_bytes(), str(manifest))):
            file = entry.file
            assert Path(data_file(paths.bucket("", entry.bucket), file.file_name, file.external_path)).exists()
            seen += 1
    assert seen > 1


def test_external_directories_take_turns() -> None:
    place = external_placer("round-robin", ["s3://a", "s3://b"], chance=lambda: 0.6)
    assert place is not None
    assert [place("p=1/bucket-0", f"f{i}") for i in range(3)] == [
        "s3://b/p=1/bucket-0/f0",
        "s3://a/p=1/bucket-0/f1",
        "s3://b/p=1/bucket-0/f2",
    ]


def test_external_directories_are_chosen_by_weight() -> None:
    chances = iter([0.0, 0.24, 0.25, 0.99])
    place = external_placer("weight-robin", ["a", "b"], [1, 3], lambda: next(chances))
    assert place is not None
    assert [place("x", "f")[0] for _ in range(4)] == ["a", "a", "b", "b"]
    with pytest.raises(ValueError, match="2 external paths have 1 weights"):
        external_placer("weight-robin", ["a", "b"], [1])


def test_entropy_spreads_files_over_directories() -> None:
    place = external_placer("entropy-inject", ["s3://a"])
    assert place is not None
    assert place("bucket-0", "f") == f"s3://a/bucket-0/{entropy_directories('f')}/f"
    # Bits of MurmurHash3("hello") = 0x248bfa47.
    assert entropy_directories("hello") == "1011/1111/1010/01000111"


def test_without_external_directories_files_stay_in_the_table() -> None:
    assert external_placer("none", ["s3://a"]) is None
    assert external_placer("round-robin", []) is None
    with pytest.raises(ValueError, match="no strategy 'dice'"):
        external_placer("dice", ["a"])
