from __future__ import annotations

import io
import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_sql.errors import CorruptFileError, PaimonError
from paimon_sql.format.avro.container import open_container, write_container
from paimon_sql.format.metadata.data_file import DataFileMeta, FileSource
from paimon_sql.format.metadata.manifest import (
    MANIFEST_SCHEMA,
    FileKind,
    ManifestEntry,
    ManifestFileMeta,
    describe_manifest,
    entries,
    manifest_table,
    merge_entries,
    read_manifest,
    read_manifest_list,
    write_manifest,
    write_manifest_list,
)
from paimon_sql.format.statistics.column_statistics import EMPTY_ROW, EMPTY_STATS, SimpleStats

PLAIN = DataFileMeta("data-a-0.parquet", 10, 3)
FULL = DataFileMeta(
    file_name="data-ü-1.parquet",
    file_size=2**62,
    row_count=5,
    min_key=b"\x00",
    max_key=b"\xff" * 300,
    key_stats=SimpleStats(b"a", b"b", (0, None)),
    value_stats=SimpleStats(b"", b"", None),
    min_sequence_number=-1,
    max_sequence_number=2**63 - 1,
    schema_id=4,
    level=5,
    extra_files=("data-ü-1.parquet.index",),
    creation_time_millis=-1,
    delete_row_count=2,
    embedded_index=b"",
    file_source=FileSource.COMPACT,
    value_stats_cols=(),
    external_path="s3://b/data-ü-1.parquet",
    first_row_id=0,
    write_cols=("a", "b"),
    write_cols_sequences=(1, -2),
)
ADDED = [
    ManifestEntry(FileKind.ADD, EMPTY_ROW, 0, 1, PLAIN),
    ManifestEntry(FileKind.DELETE, b"p", -2, -2, FULL),
]


def golden_metadata(golden: Path, prefix: str) -> list[Path]:
    return sorted(golden.glob(f"*/warehouse/*/*/manifest/{prefix}-[0-9a-f][0-9a-f][0-9a-f]*"))


def test_a_written_manifest_is_read_again() -> None:
    data = write_manifest(ADDED)
    table = read_manifest(data, "f")
    assert table.schema == MANIFEST_SCHEMA
    assert entries(table) == ADDED
    assert entries(table.slice(1, 1)) == [ADDED[1]]
    assert manifest_table(ADDED) == table
    assert entries(read_manifest(write_manifest(table), "f")) == ADDED


def test_an_empty_manifest_is_read_and_written() -> None:
    table = read_manifest(write_manifest([]), "f")
    assert table.schema == MANIFEST_SCHEMA
    assert len(table) == 0
    assert entries(manifest_table([])) == []


def test_manifests_of_the_golden_tables_are_written_with_the_same_schema_and_records(golden: Path) -> None:
    files = golden_metadata(golden, "manifest")
    assert len(files) > 200
    for file in files:
        data = file.read_bytes()
        table = read_manifest(data, str(file))
        written = open_container(write_manifest(entries(table)), "written")
        stated = open_container(data, str(file))
        assert written.schema_text == stated.schema_text
        assert written.records() == stated.records()


def test_manifest_lists_of_the_golden_tables_are_written_with_the_same_schema_and_records(golden: Path) -> None:
    files = golden_metadata(golden, "manifest-list")
    assert len(files) > 400
    for file in files:
        data = file.read_bytes()
        written = open_container(write_manifest_list(read_manifest_list(data, str(file))), "written")
        stated = open_container(data, str(file))
        assert written.schema_text == stated.schema_text
        assert written.records() == stated.records()


def test_a_manifest_list_agrees_with_its_manifests(golden: Path) -> None:
    for file in golden_metadata(golden, "manifest-list")[::7]:
        for stated in read_manifest_list(file.read_bytes(), str(file)):
            manifest = file.with_name(stated.file_name)
            table = read_manifest(manifest.read_bytes(), str(manifest))
            assert stated == describe_manifest(
                table,
                file_name=manifest.name,
                file_size=manifest.stat().st_size,
                partition_stats=stated.partition_stats,
                schema_id=stated.schema_id,
            )


def test_a_manifest_of_many_blocks_is_read_alike() -> None:
    many = [
        replace(entry, file=replace(entry.file, file_name=f"f{i}", value_stats=SimpleStats(b"x" * (i % 5), b"", (i,))))
        for i in range(4000)
        for entry in ADDED
    ]
    assert entries(read_manifest(write_manifest(many), "f")) == many


def test_a_manifest_list_without_bounds_is_read() -> None:
    metas = [
        ManifestFileMeta("manifest-a-0", 5, 1, 0, EMPTY_STATS, 0),
        ManifestFileMeta("m", 5, 1, 0, EMPTY_STATS, 0, 1, 2, 0, 5, 7, 9),
    ]
    assert read_manifest_list(write_manifest_list(metas), "f") == metas


def test_an_older_manifest_lacks_the_later_fields() -> None:
    container = open_container(write_manifest(ADDED[:1]), "f")
    schema = json.loads(container.schema_text)
    file = next(f["type"] for f in schema["fields"] if f["name"] == "_FILE")
    later = [f["name"] for f in file["fields"][13:]]
    file["fields"] = file["fields"][:13]
    records: list[Any] = list(container.records())
    for record in records:
        for name in later:
            del record["_FILE"][name]
    old = read_manifest(write_container(json.dumps(schema), records, "snappy"), "f")
    assert entries(old) == [ADDED[0]]


def test_a_field_of_a_newer_version_is_passed_over() -> None:
    container = open_container(write_manifest(ADDED), "f")
    schema = json.loads(container.schema_text)
    schema["fields"].insert(3, {"name": "_NEW", "type": ["null", {"type": "map", "values": "double"}], "default": None})
    records = [{**record, "_NEW": {"a": 0.5}} for record in container.records()]
    assert entries(read_manifest(write_container(json.dumps(schema), records, "null"), "f")) == ADDED


def test_a_schema_that_refers_to_records_by_name_is_read() -> None:
    container = open_container(write_manifest(ADDED), "f")
    schema = json.loads(container.schema_text)
    file = next(f["type"] for f in schema["fields"] if f["name"] == "_FILE")
    by_name = {f["name"]: f for f in file["fields"]}
    by_name["_VALUE_STATS"]["type"] = by_name["_KEY_STATS"]["type"]["name"]
    data = write_container(json.dumps(schema), container.records(), "null")
    assert entries(read_manifest(data, "f")) == ADDED


def nested_table(manifest: pa.Table) -> pa.Table:
    """The manifest as older versions lay it out in ORC and Parquet."""
    rows = open_container(write_manifest(manifest), "f").records()
    types = {f.name: f.type for f in MANIFEST_SCHEMA}
    stats = pa.struct(
        [("_MIN_VALUES", pa.binary()), ("_MAX_VALUES", pa.binary()), ("_NULL_COUNTS", pa.list_(pa.int64()))]
    )
    names = {
        "embedded_index": "_EMBEDDED_FILE_INDEX",
        "creation_time_millis": "_CREATION_TIME",
    }
    columns = [f.name for f in fields(DataFileMeta)]
    file = pa.struct(
        [
            (
                names.get(c, f"_{c.upper()}"),
                stats if c.endswith("_stats") else pa.timestamp("ms") if "time" in c else types[c],
            )
            for c in columns
        ]
    )
    schema = pa.schema(
        [
            ("_VERSION", pa.int32()),
            ("_KIND", pa.int8()),
            ("_PARTITION", pa.binary()),
            ("_BUCKET", pa.int32()),
            ("_TOTAL_BUCKETS", pa.int32()),
            ("_FILE", file),
        ]
    )
    return pa.Table.from_pylist(rows, schema)


@pytest.mark.parametrize("file_format", ["orc", "parquet"])
def test_manifests_in_other_formats_are_read(file_format: str) -> None:
    out = io.BytesIO()
    manifest = manifest_table([replace(e, file=replace(e.file, creation_time_millis=1_700_000_000_123)) for e in ADDED])
    if file_format == "orc":
        pyarrow.orc.write_table(nested_table(manifest), out)
    else:
        pyarrow.parquet.write_table(nested_table(manifest), out)
    assert entries(read_manifest(out.getvalue(), "f")) == entries(manifest)


@pytest.mark.parametrize("data", [b"", b"nonsense", b"Obj\x01nonsense", b"ORCnonsense", b"PAR1nonsensePAR1"])
def test_a_corrupt_manifest_is_refused_with_its_path(data: bytes) -> None:
    with pytest.raises(CorruptFileError, match=r"t/manifest-1: "):
        read_manifest(data, "t/manifest-1")
    with pytest.raises(CorruptFileError, match=r"t/list-1: "):
        read_manifest_list(data, "t/list-1")


def test_a_manifest_list_is_no_manifest() -> None:
    data = write_manifest_list([ManifestFileMeta("manifest-a-0", 5, 1, 0, EMPTY_STATS, 0)])
    with pytest.raises(CorruptFileError, match="lacks _KIND"):
        read_manifest(data, "f")


def test_an_unknown_format_identifier_is_refused() -> None:
    container = open_container(write_manifest(ADDED), "f")
    records = [{**record, "_VERSION": 1} for record in container.records()]
    with pytest.raises(CorruptFileError, match="only 2 can be read"):
        read_manifest(write_container(container.schema_text, records, "null"), "f")


def test_other_avro_readers_read_a_manifest() -> None:
    records = list(fastavro.reader(io.BytesIO(write_manifest(ADDED, "deflate"))))
    assert records[1]["_FILE"]["_WRITE_COLS_SEQUENCES"] == [1, -2]


def test_a_manifest_is_described_by_its_bounds() -> None:
    tracked = [
        replace(ADDED[0], bucket=3, file=replace(PLAIN, first_row_id=10, row_count=5, schema_id=2, level=1)),
        replace(ADDED[0], bucket=1, file=replace(PLAIN, first_row_id=0, row_count=30, schema_id=1)),
    ]
    described = describe_manifest(
        manifest_table(tracked), file_name="m", file_size=9, partition_stats=EMPTY_STATS, schema_id=7
    )
    assert described == ManifestFileMeta("m", 9, 2, 0, EMPTY_STATS, 2, 1, 3, 0, 1, 0, 29)
    untracked = describe_manifest(
        manifest_table([*tracked, ADDED[0]]), file_name="m", file_size=9, partition_stats=EMPTY_STATS, schema_id=7
    )
    assert (untracked.min_row_id, untracked.max_row_id) == (None, None)
    empty = describe_manifest(manifest_table([]), file_name="m", file_size=9, partition_stats=EMPTY_STATS, schema_id=7)
    assert (empty.num_added_files, empty.schema_id, empty.min_bucket) == (0, 7, None)


def entry(kind: FileKind, name: str, **changes: object) -> ManifestEntry:
    return ManifestEntry(kind, EMPTY_ROW, 0, 1, replace(PLAIN, file_name=name, **changes))  # type: ignore[arg-type]


def names_of(table: pa.Table) -> list[str]:
    return table["file_name"].to_pylist()  # type: ignore[no-any-return]


def test_a_delete_takes_its_add_away_and_the_order_stays() -> None:
    first = manifest_table([entry(FileKind.ADD, name) for name in "abc"])
    second = manifest_table([entry(FileKind.DELETE, "b"), entry(FileKind.ADD, "d")])
    assert names_of(merge_entries([first, second])) == ["a", "c", "d"]


@pytest.mark.parametrize(
    "changes",
    [
        {"level": 1},
        {"extra_files": ("x",)},
        {"extra_files": ("",)},
        {"embedded_index": b""},
        {"external_path": "s3://x/a"},
    ],
)
def test_files_that_differ_in_a_part_of_their_identity_are_different(changes: dict[str, object]) -> None:
    table = manifest_table([entry(FileKind.ADD, "a"), entry(FileKind.ADD, "a", **changes), entry(FileKind.DELETE, "a")])
    assert entries(merge_entries([table])) == [entry(FileKind.ADD, "a", **changes)]


def test_partition_and_bucket_tell_files_apart_and_statistics_do_not() -> None:
    one = entry(FileKind.ADD, "a")
    table = manifest_table(
        [
            one,
            replace(one, bucket=1),
            replace(one, partition=b"p"),
            entry(FileKind.DELETE, "a", value_stats=SimpleStats(b"x", b"y", (1,)), row_count=99),
        ]
    )
    assert [(e.partition, e.bucket) for e in entries(merge_entries([table]))] == [(EMPTY_ROW, 1), (b"p", 0)]


def test_a_file_that_is_added_again_stands_where_it_was_added_last() -> None:
    kinds = [(FileKind.ADD, "a"), (FileKind.ADD, "b"), (FileKind.DELETE, "a"), (FileKind.ADD, "a")]
    assert names_of(merge_entries([manifest_table([entry(kind, name) for kind, name in kinds])])) == ["b", "a"]


def test_a_delete_without_its_add_is_refused_kept_or_dropped() -> None:
    table = manifest_table([entry(FileKind.ADD, "a"), entry(FileKind.DELETE, "gone")])
    with pytest.raises(PaimonError, match=r"The file gone of bucket 0 .* is deleted"):
        merge_entries([table])
    assert names_of(merge_entries([table], unmatched="keep")) == ["a", "gone"]
    assert names_of(merge_entries([table], unmatched="drop")) == ["a"]


def test_a_file_that_is_added_twice_is_refused() -> None:
    with pytest.raises(PaimonError, match=r"The file a .* is added although"):
        merge_entries([manifest_table([entry(FileKind.ADD, "a"), entry(FileKind.ADD, "a")])])


def model(given: list[ManifestEntry]) -> list[ManifestEntry] | None:
    held: dict[object, ManifestEntry] = {}
    for e in given:
        key = (e.partition, e.bucket, e.file.level, e.file.file_name)
        if key in held and e.kind is FileKind.ADD:
            return None
        if held.pop(key, None) is None:
            held[key] = e
    return list(held.values())


ENTRIES = st.lists(
    st.builds(
        lambda kind, partition, bucket, level, name: ManifestEntry(
            kind, partition, bucket, 1, replace(PLAIN, level=level, file_name=name)
        ),
        st.sampled_from(FileKind),
        st.sampled_from([b"", b"p"]),
        st.integers(0, 1),
        st.integers(0, 1),
        st.sampled_from("ab"),
    ),
    max_size=12,
)


@given(st.lists(ENTRIES, min_size=1, max_size=3))
def test_merging_plays_the_entries_back_one_by_one(tables: list[list[ManifestEntry]]) -> None:
    expected = model([e for table in tables for e in table])
    arrow = [manifest_table(table) for table in tables]
    if expected is None:
        with pytest.raises(PaimonError, match="is added although"):
            merge_entries(arrow, unmatched="keep")
    else:
        assert entries(merge_entries(arrow, unmatched="keep")) == expected
