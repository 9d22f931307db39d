"""The order of the rows of a key: sequence fields, and sequence numbers by snapshot.

The snapshot id is known only when the commit succeeds. So files of new rows contain the sequence numbers of their
writers, the commit puts its id into their metadata, and readers use it for all of their rows. Compactions write it to
each row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.metadata.data_file import DataFileMeta, FileSource
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry
from paimon_sql.format.options.table.merge_engine import SEQUENCE_SNAPSHOT_ORDERING
from paimon_sql.format.schema.schema import TableSchema


def sequence_fields(options: Mapping[str, str]) -> list[tuple[str, bool]]:
    """Return the columns of ``sequence.field``, each with whether its order is descending."""
    descending = options.get("sequence.field.sort-order", "ascending") == "descending"
    return [(name.strip(), descending) for name in options.get("sequence.field", "").split(",") if name.strip()]


def is_ordered_by_snapshots(schema: TableSchema) -> bool:
    """Whether the order of snapshots determines the newest row of a key."""
    text = schema.options.get(SEQUENCE_SNAPSHOT_ORDERING.key)
    return text is not None and schema.has_key and SEQUENCE_SNAPSHOT_ORDERING.read(text)


def numbered_by_snapshot(entries: Sequence[ManifestEntry], snapshot_id: int) -> list[ManifestEntry]:
    """Return the entries of a commit, those of new rows (not compacted) with the snapshot id as sequence number."""

    def numbered(entry: ManifestEntry) -> ManifestEntry:
        if entry.kind is not FileKind.ADD or entry.file.file_source == FileSource.COMPACT:
            return entry
        file = replace(entry.file, min_sequence_number=snapshot_id, max_sequence_number=snapshot_id)
        return replace(entry, file=file)

    return [numbered(e) for e in entries]


def number_of_rows(file: DataFileMeta) -> int | None:
    """Return the sequence number of all rows of a file; None if each row has one.

    Raises:
        UnsupportedError: the file has no ``_FILE_SOURCE``, as those of old versions.
    """
    if file.file_source is None:
        raise UnsupportedError(
            f"{file.file_name} does not record whether it was compacted, so its rows cannot be ordered by snapshots.",
            remedy=f"Use '{SEQUENCE_SNAPSHOT_ORDERING.key}' for new tables only.",
        )
    return None if file.file_source == FileSource.COMPACT else file.min_sequence_number
