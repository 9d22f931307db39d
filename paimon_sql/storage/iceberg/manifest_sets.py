"""Manifests of an Iceberg snapshot, derived from those of the previous one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from paimon_sql.format.iceberg.manifests import (
    Content,
    Entry,
    ManifestFile,
    ManifestFormat,
    PartitionSummary,
    Status,
    is_live,
)
from paimon_sql.format.iceberg.schemas import RawValue, single_value
from paimon_sql.format.options.operations.commit import MANIFEST_TARGET_FILE_SIZE
from paimon_sql.format.options.table.iceberg import (
    METADATA_ICEBERG_COMPACTION_MAX_FILE_NUM,
    METADATA_ICEBERG_COMPACTION_MIN_FILE_NUM,
)
from paimon_sql.format.schema import types as t
from paimon_sql.storage.file_io.paths import name_of
from paimon_sql.storage.iceberg.entries import partition_records
from paimon_sql.storage.iceberg.store import MetadataStore
from paimon_sql.storage.table.table import Table


class DivergedError(Exception):
    """The existing manifests do not describe the table's former state, and must be rewritten from all files."""


@dataclass
class ManifestWriter:
    """Writes manifests of a snapshot.

    Attributes:
        table: the table.
        store: the metadata directory.
        form: the format of manifests.
        made: the paths of the written manifests.
    """

    table: Table
    store: MetadataStore
    form: ManifestFormat
    made: list[str] = field(default_factory=list)

    def write(self, entries: Sequence[Entry], content: Content, snapshot_id: int) -> list[ManifestFile]:
        """Write manifests of about the target size; none without entries."""
        if not entries:
            return []
        data = self.form.write(entries, content)
        parts = min(len(entries), -(-len(data) // self.target_size))
        if parts == 1:
            return [self._write(data, entries, content, snapshot_id)]
        size = -(-len(entries) // parts)
        chunks = [entries[i : i + size] for i in range(0, len(entries), size)]
        return [self._write(self.form.write(c, content), c, content, snapshot_id) for c in chunks]

    def read(self, manifest: ManifestFile) -> list[Entry]:
        """Read the entries of a manifest, with inherited values filled in.

        Raises:
            DivergedError: it has another format.
        """
        entries = self.form.read(*self.store.read_manifest(manifest.manifest_path))
        if entries is None:
            raise DivergedError
        following = manifest.first_row_id
        for entry in entries:
            if entry["snapshot_id"] is None:
                entry["snapshot_id"] = manifest.added_snapshot_id
            if entry["sequence_number"] is None:
                entry["sequence_number"] = manifest.sequence_number
            if entry["file_sequence_number"] is None:
                entry["file_sequence_number"] = manifest.sequence_number
            file = entry["data_file"]
            inherits = manifest.content == Content.DATA and is_live(entry) and file.get("first_row_id") is None
            if inherits and following is not None:
                file["first_row_id"] = following
                following += file["record_count"]
        return entries

    @property
    def target_size(self) -> int:
        """The target size of a manifest in bytes."""
        return self.table.options.get(MANIFEST_TARGET_FILE_SIZE)

    def _write(self, data: bytes, entries: Sequence[Entry], content: Content, snapshot_id: int) -> ManifestFile:
        path = self.store.write_manifest(data)
        self.made.append(path)
        files, rows = Counter[int](), Counter[int]()
        for entry in entries:
            files[entry["status"]] += 1
            rows[entry["status"]] += entry["data_file"]["record_count"]
        return ManifestFile(
            manifest_path=path,
            manifest_length=len(data),
            partition_spec_id=0,
            content=content.value,
            sequence_number=snapshot_id,
            min_sequence_number=min(e["sequence_number"] or snapshot_id for e in entries),
            added_snapshot_id=snapshot_id,
            added_files_count=files[Status.ADDED],
            existing_files_count=files[Status.EXISTING],
            deleted_files_count=files[Status.DELETED],
            added_rows_count=rows[Status.ADDED],
            existing_rows_count=rows[Status.EXISTING],
            deleted_rows_count=rows[Status.DELETED],
            partitions=_summaries(self.form.columns, [e["data_file"]["partition"] for e in entries]),
        )


def _summaries(
    columns: Sequence[t.DataField], partitions: Sequence[Mapping[str, RawValue]]
) -> tuple[PartitionSummary, ...]:
    found = []
    for column in columns:
        values = [p[column.name] for p in partitions]
        present = [v for v in values if v is not None and v == v]
        order = _order(column.type)
        low, high = (extreme(present, key=order) if present else None for extreme in (min, max))
        nan = isinstance(column.type, t.FloatType | t.DoubleType) and any(v != v for v in values if v is not None)
        bounds = (None if v is None else single_value(column.type, v) for v in (low, high))
        found.append(PartitionSummary(None in values, nan, *bounds))
    return tuple(found)


def _order(data_type: t.DataType) -> Callable[[Any], int | float | bytes]:
    if isinstance(data_type, t.DecimalType):
        return lambda value: int.from_bytes(value, "big", signed=True)
    if isinstance(data_type, t.CharType | t.VarCharType):
        return lambda value: value.encode()
    return lambda value: value


@dataclass
class Removal:
    """Files to remove from manifests, by name.

    Attributes:
        names: the names of the files.
        partitions: the raw values of their partitions.
        rows: the rows of the files found so far.
        size: the bytes of the files found so far.
    """

    names: set[str]
    partitions: list[dict[str, RawValue]]
    rows: int = 0
    size: int = 0

    @classmethod
    def of(cls, table: Table, files: pa.Table) -> Removal:
        """Create the removal of files of ``MANIFEST_SCHEMA``."""
        partitions = files["partition"].combine_chunks().unique()
        return cls(set(files["file_name"].to_pylist()), partition_records(table, partitions))

    def may_touch(self, manifest: ManifestFile, columns: Sequence[t.DataField]) -> bool:
        """Whether a manifest may contain one of the files, by its partitions."""
        if len(manifest.partitions) != len(columns):
            return True
        return any(
            all(
                _within(column.type, p[column.name], summary)
                for column, summary in zip(columns, manifest.partitions, strict=True)
            )
            for p in self.partitions
        )


def _within(data_type: t.DataType, raw: RawValue, summary: PartitionSummary) -> bool:
    if raw is None:
        return summary.contains_null
    if raw != raw or isinstance(data_type, t.DecimalType | t.FloatType | t.DoubleType):
        return True
    if summary.lower_bound is None or summary.upper_bound is None:
        return not (isinstance(raw, int) and summary.contains_null)
    low, high = (_comparable(data_type, bound) for bound in (summary.lower_bound, summary.upper_bound))
    value: Any = raw.encode() if isinstance(raw, str) else raw
    return bool(low <= value <= high)


def _comparable(data_type: t.DataType, bound: bytes) -> int | bytes:
    if isinstance(data_type, t.CharType | t.VarCharType | t.BinaryType | t.VarBinaryType):
        return bound
    return int.from_bytes(bound, "little", signed=not isinstance(data_type, t.BooleanType))


def take_out(
    writer: ManifestWriter, manifests: Sequence[ManifestFile], removal: Removal, snapshot_id: int
) -> list[ManifestFile]:
    """Remove files from manifests; those that contain one are rewritten.

    Raises:
        DivergedError: a file is in none of them.
    """
    missing = set(removal.names)
    parts: list[list[ManifestFile]] = []
    for manifest in reversed(manifests):  # recently added files are the likeliest to be removed
        if not missing or not removal.may_touch(manifest, writer.form.columns):
            parts.append([manifest])
            continue
        live, found = [entry for entry in writer.read(manifest) if is_live(entry)], 0
        for entry in live:
            name = name_of(entry["data_file"]["file_path"])
            entry["status"] = Status.EXISTING.value
            if name in missing:
                missing.discard(name)
                removal.rows += entry["data_file"]["record_count"]
                removal.size += entry["data_file"]["file_size_in_bytes"]
                entry["status"], entry["snapshot_id"] = Status.DELETED.value, snapshot_id
                found += 1
        parts.append(writer.write(live, Content.DATA, snapshot_id) if found else [manifest])
    if missing:
        raise DivergedError
    return [m for part in reversed(parts) for m in part]


def compacted(writer: ManifestWriter, manifests: Sequence[ManifestFile], snapshot_id: int) -> list[ManifestFile]:
    """Merge small manifests if there are many."""
    options, target = writer.table.options, writer.target_size
    small = [m for m in manifests if m.manifest_length < target * 2 // 3]
    few = len(small) < max(options.get(METADATA_ICEBERG_COMPACTION_MIN_FILE_NUM), 2)
    many = len(small) >= options.get(METADATA_ICEBERG_COMPACTION_MAX_FILE_NUM)
    if few or not (many or sum(m.manifest_length for m in small) >= target):
        return list(manifests)
    read = (entry for manifest in small for entry in writer.read(manifest))
    entries = [entry for entry in read if entry["snapshot_id"] == snapshot_id or is_live(entry)]
    for entry in entries:
        if entry["snapshot_id"] != snapshot_id:
            entry["status"] = Status.EXISTING.value
    merged_paths = {m.manifest_path for m in small}
    # Manifests written for this snapshot are not referenced yet.
    unreferenced = {m.manifest_path for m in small if m.added_snapshot_id == snapshot_id}.intersection(writer.made)
    merged = writer.write(entries, Content.DATA, snapshot_id)
    writer.store.delete(unreferenced)
    writer.made = [path for path in writer.made if path not in unreferenced]
    return [*(m for m in manifests if m.manifest_path not in merged_paths), *merged]


def numbered(manifests: Iterable[ManifestFile], first_row_id: int) -> tuple[list[ManifestFile], int]:
    """Assign first row ids to manifests; return them and the next free row id.

    Args:
        manifests: the manifests of a snapshot.
        first_row_id: the next free row id before.
    """
    found, following = [], first_row_id
    for manifest in manifests:
        if manifest.content == Content.DATA and manifest.first_row_id is None:
            manifest = replace(manifest, first_row_id=following)
            following += manifest.live_rows
        found.append(manifest)
    return found, following


def paths_of(manifests: Collection[ManifestFile]) -> set[str]:
    """Return the file names of manifests."""
    return {name_of(m.manifest_path) for m in manifests}
