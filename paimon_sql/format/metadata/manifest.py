"""Manifests and manifest lists: the files that commits added and deleted, in Arrow (spec: Manifest).

Plans filter, merge and count entries as columns of a table of `MANIFEST_SCHEMA`; a `ManifestEntry` is made only for
single files. Partitions and keys are serialized rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from itertools import repeat
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CorruptFileError, PaimonError
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest_records import (
    RecordLayout,
    array_of,
    optional,
    optional_fields,
    required_fields,
    stats_fields,
)
from paimon_sql.format.statistics.column_statistics import EMPTY_STATS, SimpleStats


class FileKind(IntEnum):
    """Whether an entry adds or deletes its file (Paimon: `FileKind`)."""

    ADD = 0
    DELETE = 1


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """A data file that a commit added or deleted (Paimon: `ManifestEntry`).

    ``partition`` is the serialized partition row, ``total_buckets`` the number of buckets when the file was written
    (-1 for dynamic and unaware buckets, -2 for postponed ones).
    """

    kind: FileKind
    partition: bytes
    bucket: int
    total_buckets: int
    file: DataFileMeta


_LAYOUT = RecordLayout(
    what="a manifest",
    version=2,
    fields={
        **required_fields(kind="int", partition="bytes", bucket="int", total_buckets="int"),
        **required_fields("_FILE.", file_name="string", file_size="long", row_count="long"),
        **required_fields("_FILE.", min_key="bytes", max_key="bytes"),
        **stats_fields("key_stats", "_FILE._KEY_STATS"),
        **stats_fields("value_stats", "_FILE._VALUE_STATS"),
        **required_fields("_FILE.", min_sequence_number="long", max_sequence_number="long"),
        **required_fields("_FILE.", schema_id="long", level="int", extra_files=array_of("string")),
        "creation_time_millis": optional("_FILE._CREATION_TIME", {"type": "long", "logicalType": "timestamp-millis"}),
        **optional_fields("_FILE.", delete_row_count="long"),
        "embedded_index": optional("_FILE._EMBEDDED_FILE_INDEX", "bytes"),
        **optional_fields("_FILE.", file_source="int", value_stats_cols=array_of("string")),
        **optional_fields("_FILE.", external_path="string", first_row_id="long"),
        **optional_fields("_FILE.", write_cols=array_of("string"), write_cols_sequences=array_of("long")),
    },
    file_names={"file_name": "the data file", "extra_files": "the extra file"},
    external_paths={"external_path": "the data file"},
    counts=("file_size", "row_count"),
    tinyints=("kind", "file_source"),
)
MANIFEST_SCHEMA = _LAYOUT.schema
"""The columns of a manifest; those of `DataFileMeta` are named like its fields, statistics have three columns each."""


def read_manifest(data: bytes, path: str) -> pa.Table:
    """Decode the entries of a manifest, in their order, as a table of `MANIFEST_SCHEMA`.

    Args:
        data: the file, in Avro or, from older writers, in ORC or Parquet.
        path: the file's path, for error messages.

    Raises:
        CorruptFileError: the bytes are not a manifest.
        UnsafePathError: an entry names a file outside of its directory.
    """
    return _LAYOUT.read(data, path)


def write_manifest(added: pa.Table | Iterable[ManifestEntry], compression: str = "zstd") -> bytes:
    """Encode entries as a manifest, an Avro file.

    Args:
        added: a table of `MANIFEST_SCHEMA`, or entries.
        compression: the codec, as the option ``manifest.compression`` names it.
    """
    rows = added.to_pylist() if isinstance(added, pa.Table) else map(_row, added)
    return _LAYOUT.write(rows, compression)


def check_names(table: pa.Table, path: str) -> None:
    """Check that all entries name files inside of their directories; `read_manifest` does so, and writers must.

    Args:
        table: entries, of `MANIFEST_SCHEMA`.
        path: the manifest, for error messages.

    Raises:
        UnsafePathError: an entry names a file outside of its directory.
    """
    _LAYOUT.check_names(table, path)


def manifest_table(added: Iterable[ManifestEntry]) -> pa.Table:
    """Convert entries to a table of `MANIFEST_SCHEMA`."""
    return pa.Table.from_pylist([_row(entry) for entry in added], schema=MANIFEST_SCHEMA)


def entries(table: pa.Table) -> list[ManifestEntry]:
    """Convert the rows of a table of `MANIFEST_SCHEMA` to entries."""
    kinds = map(_KINDS.__getitem__, table["kind"].to_pylist())
    buckets = (table[name].to_pylist() for name in ("partition", "bucket", "total_buckets"))
    return list(map(ManifestEntry, kinds, *buckets, data_files(table)))


def data_files(table: pa.Table, *, statistics: bool = True) -> Iterator[DataFileMeta]:
    """Convert the rows of a table of `MANIFEST_SCHEMA` to their files.

    Args:
        table: the rows; the columns `STATISTICS` may be missing if they are not wanted.
        statistics: whether the files have their statistics; readers need none, and they take most of the time.
    """
    constant = {} if statistics else {**dict.fromkeys(_STATS_FIELDS, EMPTY_STATS), "value_stats_cols": ()}
    names = [f.name for f in fields(DataFileMeta)]
    return map(DataFileMeta, *(repeat(constant[n], len(table)) if n in constant else _values(table, n) for n in names))


def describe_manifest(
    table: pa.Table, *, file_name: str, file_size: int, partition_stats: SimpleStats, schema_id: int
) -> ManifestFileMeta:
    """Compute the metadata of a manifest with these entries for a manifest list.

    Args:
        table: the entries, of `MANIFEST_SCHEMA`.
        file_name: the name of the manifest.
        file_size: its size in bytes.
        partition_stats: the statistics over the partitions of the entries.
        schema_id: the table's current schema; used if there are no entries.
    """
    added = pc.sum(pc.equal(table["kind"], FileKind.ADD)).as_py() or 0
    buckets, levels = (pc.min_max(table[name]).as_py() for name in ("bucket", "level"))
    min_row_id = max_row_id = None
    if len(table) and not table["first_row_id"].null_count:
        min_row_id = pc.min(table["first_row_id"]).as_py()
        max_row_id = pc.max(pc.add(table["first_row_id"], table["row_count"])).as_py() - 1
    return ManifestFileMeta(
        file_name=file_name,
        file_size=file_size,
        num_added_files=added,
        num_deleted_files=len(table) - added,
        partition_stats=partition_stats,
        schema_id=pc.max(table["schema_id"]).as_py() if len(table) else schema_id,
        min_bucket=buckets["min"],
        max_bucket=buckets["max"],
        min_level=levels["min"],
        max_level=levels["max"],
        min_row_id=min_row_id,
        max_row_id=max_row_id,
    )


_STATS_FIELDS, _STATS_PARTS = ("key_stats", "value_stats"), ("min", "max", "null_counts")
STATISTICS = tuple(f"{name}_{part}" for name in _STATS_FIELDS for part in _STATS_PARTS)
"""The columns of statistics."""
_FILE_FIELDS = [f.name for f in fields(DataFileMeta) if f.name not in _STATS_FIELDS]
_KINDS = {kind.value: kind for kind in FileKind}


def _row(entry: ManifestEntry) -> dict[str, object]:
    file = entry.file
    row: dict[str, object] = {name: _plain(getattr(file, name)) for name in _FILE_FIELDS}
    row.update(kind=entry.kind, partition=entry.partition, bucket=entry.bucket, total_buckets=entry.total_buckets)
    for name in _STATS_FIELDS:
        for part, value in zip(_STATS_PARTS, getattr(file, name), strict=True):
            row[f"{name}_{part}"] = _plain(value)
    return row


def _plain(value: object) -> object:
    # fastavro interprets a tuple inside a union as a pair of type and value.
    return list(value) if isinstance(value, tuple) else value


def _values(table: pa.Table, name: str) -> Iterable[object]:
    """The values of a field of `DataFileMeta`; whole columns are several times as fast as single values."""
    if name in _STATS_FIELDS:
        minima, maxima, counts = (table[f"{name}_{part}"] for part in _STATS_PARTS)
        return map(SimpleStats, minima.to_pylist(), maxima.to_pylist(), _tuples(counts))
    column = table[name]
    if column.null_count == len(column):
        return repeat(None, len(column))
    return _tuples(column) if pa.types.is_list(column.type) else column.to_pylist()


def _tuples(column: pa.ChunkedArray) -> Iterable[tuple[int | None, ...] | None]:
    if not column.null_count and not sum(len(chunk.flatten()) for chunk in column.chunks):
        return repeat((), len(column))
    return (None if value is None else tuple(value) for value in column.to_pylist())


@dataclass(frozen=True, slots=True)
class ManifestFileMeta:
    """Metadata of one manifest (Paimon: `ManifestFileMeta`).

    ``partition_stats`` cover the partitions of its entries. The bounds of bucket, level and row id cover all files of
    the manifest, or are None if its writer did not know them. Row ids are inclusive.
    """

    file_name: str
    file_size: int
    num_added_files: int
    num_deleted_files: int
    partition_stats: SimpleStats
    schema_id: int
    min_bucket: int | None = None
    max_bucket: int | None = None
    min_level: int | None = None
    max_level: int | None = None
    min_row_id: int | None = None
    max_row_id: int | None = None


_LIST_LAYOUT = RecordLayout(
    what="a manifest list",
    version=2,
    fields={
        **required_fields(file_name="string", file_size="long", num_added_files="long", num_deleted_files="long"),
        **stats_fields("stats", "_PARTITION_STATS"),
        **required_fields(schema_id="long"),
        **optional_fields(min_bucket="int", max_bucket="int", min_level="int", max_level="int"),
        **optional_fields(min_row_id="long", max_row_id="long"),
    },
    file_names={"file_name": "the manifest"},
    counts=("file_size", "num_added_files", "num_deleted_files"),
)


def read_manifest_list(data: bytes, path: str) -> list[ManifestFileMeta]:
    """Decode the manifests of a manifest list, in their order.

    Raises:
        CorruptFileError: the bytes are not a manifest list, or it names a manifest twice.
        UnsafePathError: it names a manifest outside of its directory.
    """
    metas = []
    table = _LIST_LAYOUT.read(data, path)
    if not _are_distinct(table["file_name"]):
        raise CorruptFileError("names a manifest twice", path=path)
    for row in table.to_pylist():
        counts = row.pop("stats_null_counts")
        stats = SimpleStats(row.pop("stats_min"), row.pop("stats_max"), None if counts is None else tuple(counts))
        metas.append(ManifestFileMeta(partition_stats=stats, **row))
    return metas


def write_manifest_list(metas: Iterable[ManifestFileMeta], compression: str = "zstd") -> bytes:
    """Encode a manifest list, an Avro file."""
    return _LIST_LAYOUT.write((_list_row(meta) for meta in metas), compression)


def _list_row(meta: ManifestFileMeta) -> dict[str, object]:
    row = {name: getattr(meta, name, None) for name in _LIST_LAYOUT.schema.names}
    low, high, counts = meta.partition_stats
    return {**row, "stats_min": low, "stats_max": high, "stats_null_counts": None if counts is None else list(counts)}


_IDENTITY = ("file_name", "bucket", "level", "partition", "embedded_index", "external_path")


def merge_entries(tables: Sequence[pa.Table], *, unmatched: Literal["refuse", "keep", "drop"] = "refuse") -> pa.Table:
    """The entries that remain when every DELETE cancels the ADD of its file, in their order.

    Two entries refer to the same file if partition, bucket, level, name, extra files, embedded index and external path
    are equal (Paimon: `FileEntry.mergeEntries`). A file that is added, deleted and added again has the position of its
    last ADD.

    Args:
        tables: manifests as tables of `MANIFEST_SCHEMA`, in the order of the commits.
        unmatched: how to treat a DELETE whose ADD is in none of the tables. All manifests of a snapshot must not have
            one (``refuse``), some of them may: a rewrite of manifests must ``keep`` it, a scan of selected files can
            ``drop`` it.

    Raises:
        PaimonError: a file is added while it exists, or a DELETE is unmatched and ``unmatched`` is ``refuse``.
    """
    if not tables:
        raise ValueError("no manifest was given")
    table = pa.concat_tables(tables).combine_chunks()
    if not pc.any(pc.equal(table["kind"], FileKind.DELETE)).as_py() and _are_distinct(table["file_name"]):
        return table
    kinds = table["kind"].to_numpy()
    files = _file_numbers(table)
    order = np.argsort(files, kind="stable")
    sorted_files = files[order]
    starts = np.flatnonzero(np.r_[True, sorted_files[1:] != sorted_files[:-1]])
    sizes = np.diff(np.r_[starts, len(order)])
    # Entries of one file must alternate: the 1st adds it, the 2nd deletes it, the 3rd adds it again.
    turn = np.arange(len(order)) - np.repeat(starts, sizes)
    again = order[(turn % 2 == 1) & (kinds[order] == FileKind.ADD)]
    if len(again):
        raise PaimonError(f"{_describe(table, again.min())} is added although the table holds it already.")
    remaining = np.sort(order[(starts + sizes - 1)[sizes % 2 == 1]])
    deletes = remaining[kinds[remaining] == FileKind.DELETE]
    if unmatched == "refuse" and len(deletes):
        raise PaimonError(
            f"{_describe(table, deletes.min())} is deleted although the table does not hold it.",
            remedy="Another job may have compacted or overwritten the same files: read the table again.",
        )
    if unmatched == "drop":
        remaining = remaining[kinds[remaining] == FileKind.ADD]
    return table if len(remaining) == len(table) else table.take(pa.array(remaining))


def _are_distinct(names: pa.ChunkedArray) -> bool:
    return bool(pc.count_distinct(names).as_py() == len(names))


def _file_numbers(table: pa.Table) -> npt.NDArray[np.int64]:
    """A number per entry; equal for entries of the same file."""
    numbers: npt.NDArray[np.int64] = np.zeros(len(table), np.int64)
    lists = table["extra_files"]
    # Lists of names are equal exactly if their lengths and the joined names are.
    for column in (*(table[name] for name in _IDENTITY), pc.list_value_length(lists), pc.binary_join(lists, "\0")):
        codes = column.combine_chunks().dictionary_encode(null_encoding="encode").indices.to_numpy().astype(np.int64)
        top = int(codes.max(initial=0))
        if top:
            numbers = np.unique(numbers * (top + 1) + codes, return_inverse=True)[1].astype(np.int64)
    return numbers


def _describe(table: pa.Table, index: int) -> str:
    entry = table.slice(index, 1).to_pylist()[0]
    return f"The file {entry['file_name']} of bucket {entry['bucket']} on level {entry['level']}"
