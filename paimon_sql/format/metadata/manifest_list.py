"""Manifest lists: the manifests of a snapshot, with the ranges of their entries (spec: Manifest List)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CorruptFileError
from paimon_sql.format.metadata.manifest_records import RecordLayout, optional, required, stats_record, top_record
from paimon_sql.format.statistics.simple_stats import SimpleStats


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


_LAYOUT = RecordLayout(
    what="a manifest list",
    version=2,
    avro_schema=top_record(
        required("_FILE_NAME", "string"),
        required("_FILE_SIZE", "long"),
        required("_NUM_ADDED_FILES", "long"),
        required("_NUM_DELETED_FILES", "long"),
        required("_PARTITION_STATS", stats_record("_PARTITION_STATS")),
        required("_SCHEMA_ID", "long"),
        optional("_MIN_BUCKET", "int"),
        optional("_MAX_BUCKET", "int"),
        optional("_MIN_LEVEL", "int"),
        optional("_MAX_LEVEL", "int"),
        optional("_MIN_ROW_ID", "long"),
        optional("_MAX_ROW_ID", "long"),
    ),
    paths={
        "file_name": "_FILE_NAME",
        "file_size": "_FILE_SIZE",
        "num_added_files": "_NUM_ADDED_FILES",
        "num_deleted_files": "_NUM_DELETED_FILES",
        "stats_min": "_PARTITION_STATS._MIN_VALUES",
        "stats_max": "_PARTITION_STATS._MAX_VALUES",
        "stats_null_counts": "_PARTITION_STATS._NULL_COUNTS",
        "schema_id": "_SCHEMA_ID",
        "min_bucket": "_MIN_BUCKET",
        "max_bucket": "_MAX_BUCKET",
        "min_level": "_MIN_LEVEL",
        "max_level": "_MAX_LEVEL",
        "min_row_id": "_MIN_ROW_ID",
        "max_row_id": "_MAX_ROW_ID",
    },
    schema=pa.schema(
        [
            pa.field("file_name", pa.string(), False),
            pa.field("file_size", pa.int64(), False),
            pa.field("num_added_files", pa.int64(), False),
            pa.field("num_deleted_files", pa.int64(), False),
            pa.field("stats_min", pa.binary(), False),
            pa.field("stats_max", pa.binary(), False),
            pa.field("stats_null_counts", pa.list_(pa.int64())),
            pa.field("schema_id", pa.int64(), False),
            pa.field("min_bucket", pa.int32()),
            pa.field("max_bucket", pa.int32()),
            pa.field("min_level", pa.int32()),
            pa.field("max_level", pa.int32()),
            pa.field("min_row_id", pa.int64()),
            pa.field("max_row_id", pa.int64()),
        ]
    ),
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
    table = _LAYOUT.read(data, path)
    if pc.count_distinct(table["file_name"]).as_py() < len(table):
        raise CorruptFileError("names a manifest twice", path=path)
    for row in table.to_pylist():
        counts = row.pop("stats_null_counts")
        stats = SimpleStats(row.pop("stats_min"), row.pop("stats_max"), None if counts is None else tuple(counts))
        metas.append(ManifestFileMeta(partition_stats=stats, **row))
    return metas


def write_manifest_list(metas: Iterable[ManifestFileMeta], compression: str = "zstd") -> bytes:
    """Encode a manifest list, an Avro file."""
    return _LAYOUT.write((_row(meta) for meta in metas), compression)


def _row(meta: ManifestFileMeta) -> dict[str, object]:
    row = {name: getattr(meta, name, None) for name in _LAYOUT.schema.names}
    low, high, counts = meta.partition_stats
    return {**row, "stats_min": low, "stats_max": high, "stats_null_counts": None if counts is None else list(counts)}
