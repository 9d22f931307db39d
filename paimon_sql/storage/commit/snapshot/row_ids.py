"""Ids for the rows that a commit brings to a table with row tracking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paimon_sql.format.metadata.data_file import DataFileMeta, FileSource
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry
from paimon_sql.format.schema.system_fields import ROW_ID
from paimon_sql.storage.data_files.file_groups import is_dedicated


def numbered(
    entries: Sequence[ManifestEntry], snapshot: int, next_row_id: int, *, by_partition: bool
) -> tuple[list[ManifestEntry], int]:
    """The entries of a commit with row ids for new rows, and the first row id that is still free.

    Files of new rows get ids one after the other, and the snapshot as the one that changed their rows. Files with rows
    that have moved say themselves which snapshots did; 0 in them is this one.

    Args:
        entries: the entries, in the order of the manifest.
        snapshot: the snapshot's id.
        next_row_id: the first row id that is free.
        by_partition: whether the entries of a partition are brought together, so that ids follow each other there.
    """
    ordered = list(entries)
    if by_partition:
        places = {partition: n for n, partition in enumerate(dict.fromkeys(e.partition for e in entries))}
        ordered.sort(key=lambda e: places[e.partition])
    found = []
    # Files of blobs follow the data file that has their rows, those of each column in the order of the rows.
    beside: dict[str, int] = {}
    whole = next_row_id
    for entry in ordered:
        if entry.kind is FileKind.ADD:
            file = entry.file
            if _is_new(file) and is_dedicated(file.file_name):
                column = (file.write_cols or ("",))[0]
                first = beside.get(column, whole)
                beside[column] = first + file.row_count
                file = replace(file, min_sequence_number=0, max_sequence_number=0, first_row_id=first)
            elif _is_new(file):
                whole, beside = next_row_id, {}
                file = replace(file, min_sequence_number=0, max_sequence_number=0, first_row_id=next_row_id)
                next_row_id += file.row_count
            entry = replace(entry, file=_of_snapshot(file, snapshot))
        found.append(entry)
    return found, next_row_id


def _is_new(file: DataFileMeta) -> bool:
    moved = file.write_cols is not None and ROW_ID.name in file.write_cols
    return file.file_source != FileSource.COMPACT and file.first_row_id is None and not moved


def _of_snapshot(file: DataFileMeta, snapshot: int) -> DataFileMeta:
    low, high = file.min_sequence_number, file.max_sequence_number
    return replace(file, min_sequence_number=low or snapshot, max_sequence_number=high or snapshot)
