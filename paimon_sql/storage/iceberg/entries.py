"""Data files and deletion vectors that Iceberg readers may see, as entries of Iceberg manifests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.iceberg.manifests import ROW_LINEAGE, Entry, FileRecord, Status
from paimon_sql.format.iceberg.schemas import RawValue, has_single_values, raw_values, single_values
from paimon_sql.format.metadata.index_files import is_iceberg_layout
from paimon_sql.format.metadata.index_manifest import DELETION_VECTORS_INDEX, IndexManifestEntry
from paimon_sql.format.metadata.manifest import FileKind
from paimon_sql.format.options.table.data_file import DATA_FILE_EXTERNAL_PATHS
from paimon_sql.format.options.table.iceberg import METADATA_ICEBERG_FORMAT_VERSION, METADATA_ICEBERG_STORAGE
from paimon_sql.format.options.table.index import DELETION_VECTORS_BITMAP64, DELETION_VECTORS_ENABLED
from paimon_sql.format.rows.decode import decode_columns
from paimon_sql.format.statistics.column_statistics import decode_stats_columns, stats_fields
from paimon_sql.storage.data_files.lsm_tree import max_level
from paimon_sql.storage.table.data_file_paths import data_file_paths
from paimon_sql.storage.table.index_files import index_path
from paimon_sql.storage.table.table import Table

_VECTOR_HEAD = 8

Located = Callable[[str], str]
"""Converts a path to the form used in the table's Iceberg metadata."""


def partition_records(table: Table, partitions: pa.Array) -> list[dict[str, RawValue]]:
    """Decode serialized partitions to partition records of Iceberg manifests.

    Args:
        table: the table.
        partitions: the partitions, one per record.
    """
    fields = table.schema.partition_fields
    encoded = partitions.dictionary_encode()
    columns = decode_columns([f.type for f in fields], encoded.dictionary)
    values = [raw_values(f.type, c) for f, c in zip(fields, columns, strict=True)]
    names = [f.name for f in fields]
    records = [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)] if names else [{}]
    return [records[i] for i in encoded.indices.to_pylist()]


def data_entries(table: Table, files: pa.Table, snapshot_id: int, located: Located) -> list[Entry]:
    """Return the entries that add files.

    Args:
        table: the table.
        files: the files, of ``MANIFEST_SCHEMA``.
        snapshot_id: the snapshot that adds them.
        located: converts paths.
    """
    if not len(files):
        return []
    files = files.combine_chunks()
    paths = map(located, data_file_paths(table, files).to_pylist())
    partitions = partition_records(table, files["partition"].combine_chunks())
    counts = zip(files["row_count"].to_pylist(), files["file_size"].to_pylist(), strict=True)
    metrics = _metrics(table, files)
    return [
        _entry(
            snapshot_id,
            content=0,
            file_path=path,
            file_format="PARQUET",
            partition=partition,
            record_count=rows,
            file_size_in_bytes=size,
            **file_metrics,
        )
        for path, partition, (rows, size), file_metrics in zip(paths, partitions, counts, metrics, strict=True)
    ]


def _entry(snapshot_id: int, **file: object) -> Entry:
    return {
        "status": Status.ADDED.value,
        "snapshot_id": snapshot_id,
        "sequence_number": snapshot_id,
        "file_sequence_number": snapshot_id,
        "data_file": cast("FileRecord", {**dict.fromkeys(_OPTIONAL), **file}),
    }


_METRICS = ("null_value_counts", "lower_bounds", "upper_bounds")
_OPTIONAL = (*_METRICS, "referenced_data_file", "content_offset", "content_size_in_bytes", "first_row_id")


def _metrics(table: Table, files: pa.Table) -> list[dict[str, list[dict[str, object]]]]:
    """Return null counts and bounds per file; statistics with the same columns are decoded together."""
    found: list[dict[str, list[dict[str, object]]]] = [{name: [] for name in _METRICS} for _ in range(len(files))]
    groups: dict[tuple[int, tuple[str, ...] | None], list[int]] = {}
    columns = files["value_stats_cols"].to_pylist()
    for i, (schema, names) in enumerate(zip(files["schema_id"].to_pylist(), columns, strict=True)):
        groups.setdefault((schema, None if names is None else tuple(names)), []).append(i)
    for (schema_id, names), rows in groups.items():
        group = files.take(pa.array(rows))
        # Statistics use the columns of the file's schema: field ids do not change.
        fields = stats_fields(table.schemas.get(schema_id).fields, names)
        stats = decode_stats_columns(
            group["value_stats_min"],
            group["value_stats_max"],
            group["value_stats_null_counts"],
            [f.type for f in fields],
        )
        for field, column in zip(fields, stats, strict=True):
            parts: dict[str, Iterable[object]] = {"null_value_counts": column.null_count.to_pylist()}
            if has_single_values(field.type):
                parts["lower_bounds"] = single_values(field.type, column.low)
                parts["upper_bounds"] = single_values(field.type, column.high)
            for part, values in parts.items():
                for row, value in zip(rows, values, strict=True):
                    if value is not None:
                        found[row][part].append({"key": field.id, "value": value})
    return found


def deletion_entries(
    table: Table, indexes: Iterable[IndexManifestEntry], snapshot_id: int, located: Located, known: Collection[str]
) -> list[Entry]:
    """Return the entries of all deletion vectors of a snapshot.

    Args:
        table: the table.
        indexes: its index files.
        snapshot_id: the snapshot.
        located: converts paths.
        known: the paths of index files that are known to have Iceberg's layout.

    Raises:
        UnsupportedError: a deletion vector does not have Iceberg's layout.
    """
    found: list[Entry] = []
    for index in indexes:
        if index.file.index_type != DELETION_VECTORS_INDEX or not index.file.deletion_vectors:
            continue
        path = index_path(table, index)
        ranges = index.file.deletion_vectors
        fits = located(path) in known or is_iceberg_layout(
            table.file_io.read_range(path, ranges[0].offset, _VECTOR_HEAD)
        )
        if not fits or any(r.cardinality is None for r in ranges):
            raise UnsupportedError(
                f"{table.name}: the deletion vectors in {path} are not of 64 bits, which Iceberg's readers need.",
                remedy="Compact the table fully, so that they are rewritten.",
            )
        (partition,) = partition_records(table, pa.array([index.partition], pa.binary()))
        directory = table.locations.bucket(index.partition, index.bucket)
        found += [
            _entry(
                snapshot_id,
                content=1,
                file_path=located(path),
                file_format="PUFFIN",
                partition=partition,
                record_count=r.cardinality,
                file_size_in_bytes=index.file.file_size,
                referenced_data_file=located(f"{directory}/{r.data_file_name}"),
                content_offset=r.offset,
                content_size_in_bytes=r.length,
            )
            for r in ranges
        ]
    return found


MIN_LEVEL = "paimon-least-level"
"""The property of a snapshot summary for the min level of its files."""
_PARQUET = ".parquet"


@dataclass(frozen=True)
class Visibility:
    """The visible files of a table.

    Attributes:
        least_level: the min level of visible files.
        with_deletions: whether deletion vectors are published.
        ignores_deletions: whether deletion vectors are ignored on purpose: newer rows of the keys are invisible, too.
    """

    least_level: int
    with_deletions: bool
    ignores_deletions: bool

    @classmethod
    def of(cls, table: Table) -> Visibility:
        """Return a table's visibility: with a primary key only the max level, unless deletion vectors are published.

        Raises:
            UnsupportedError: the table has data evolution.
        """
        if table.layout.groups_files:
            raise UnsupportedError(
                f"{table.name}: Iceberg's readers cannot read rows whose columns are in several files.",
                remedy=f"Set '{METADATA_ICEBERG_STORAGE.key}' to 'disabled'.",
            )
        options = table.options
        publishes_vectors = bool(
            options.get(DELETION_VECTORS_ENABLED)
            and options.get(DELETION_VECTORS_BITMAP64)
            and options.get(METADATA_ICEBERG_FORMAT_VERSION) >= ROW_LINEAGE
        )
        if publishes_vectors and options.has(DATA_FILE_EXTERNAL_PATHS):
            raise UnsupportedError(
                f"{table.name}: deletion vectors of files in external paths cannot be published to Iceberg's readers.",
                remedy=f"Set '{METADATA_ICEBERG_FORMAT_VERSION.key}' to '2'.",
            )
        if not table.schema.has_key:
            return cls(0, publishes_vectors, ignores_deletions=False)
        least_level = 1 if publishes_vectors else max_level(options)
        return cls(least_level, publishes_vectors, ignores_deletions=not publishes_vectors)

    def seen(self, entries: pa.Table) -> pa.Table:
        """Return the entries of visible files, of ``MANIFEST_SCHEMA``.

        Raises:
            UnsupportedError: a file is not in Parquet, and so lacks Iceberg's field ids.
        """
        found = entries.filter(pc.greater_equal(entries["level"], self.least_level))
        is_parquet = pc.ends_with(found["file_name"], pattern=_PARQUET)
        other = found.filter(pc.and_(pc.equal(found["kind"], FileKind.ADD), pc.invert(is_parquet)))
        if len(other):
            raise UnsupportedError(
                f"Iceberg's readers read only Parquet files, not {other['file_name'][0]}.",
                remedy="Set 'file.format' to 'parquet' and compact the table fully.",
            )
        return found
