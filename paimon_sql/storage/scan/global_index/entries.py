"""The global index files of a snapshot, and the rows for which they are up to date."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError, did_you_mean
from paimon_sql.format.metadata.index_manifest import GlobalIndexMeta, IndexManifestEntry, source_snapshot
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.expressions.row_id_ranges import RowIds
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.table import Table

_FIRST_SCHEMA = 0


def global_entries(table: Table, snapshot: Snapshot | None) -> list[IndexManifestEntry]:
    """The global index files of a snapshot."""
    return [e for e in index_entries(table, snapshot) if e.file.global_index is not None]


def indexed_fields(meta: GlobalIndexMeta) -> tuple[int, ...]:
    """The field ids of the columns that an index covers."""
    return (meta.index_field_id, *(meta.extra_field_ids or ()))


def meta_of(entry: IndexManifestEntry) -> GlobalIndexMeta:
    """The metadata of a global index file in the index manifest."""
    assert entry.file.global_index is not None
    return entry.file.global_index


def covered_rows(entry: IndexManifestEntry) -> tuple[bytes, int, int]:
    """The rows that a global index file covers: partition, first and last row id."""
    meta = meta_of(entry)
    return entry.partition, meta.row_range_start, meta.row_range_end


def named_columns(table: Table, text: str) -> tuple[DataField, ...]:
    """The columns that a call names, separated by commas; at least one.

    Raises:
        InvalidInputError: there is no such column.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    known = {f.name: f for f in table.schema.fields}
    missing = next((name for name in names or [text] if name not in known), None)
    if missing is not None:
        raise InvalidInputError(
            f"{table.name} has no column '{missing}'.",
            remedy=did_you_mean(missing, table.schema.names) or f"Columns are {', '.join(table.schema.names)}.",
        )
    return tuple(known[name] for name in names)


def covered(entries: Iterable[IndexManifestEntry]) -> RowIds:
    """The rows that some indexes cover."""
    ranges = [(meta.row_range_start, meta.row_range_end + 1) for meta in map(meta_of, entries)]
    pairs = np.array(ranges, np.int64).reshape(-1, 2)
    return RowIds.of_ranges(pairs[:, 0], pairs[:, 1])


def changed_since(
    table: Table, files: pa.Table, entries: Sequence[IndexManifestEntry], field_id: int
) -> dict[str, RowIds]:
    """The rows whose newest values are not in the index, by index file name.

    A data file with the column that was written after the index's source snapshot may have newer values than the
    index. An index without a source snapshot counts as up to date.

    Args:
        table: the table.
        files: the live data files.
        entries: index files.
        field_id: the indexed column.
    """
    sources = {e.file.file_name: source_snapshot(meta_of(e).source_meta) for e in entries}
    since = min((s for s in sources.values() if s is not None), default=None)
    if since is None or not len(files):
        return {}
    newer = files.filter(pc.and_(pc.greater(files["max_sequence_number"], since), files["first_row_id"].is_valid()))
    newer = newer.filter(pa.array(_holding(table, newer, field_id)))
    if not len(newer):
        return {}
    starts = newer["first_row_id"].to_numpy().astype(np.int64)
    ends, written = starts + newer["row_count"].to_numpy(), newer["max_sequence_number"].to_numpy()
    found = {}
    for entry in entries:
        source, meta = sources[entry.file.file_name], meta_of(entry)
        if source is not None:
            low, high = meta.row_range_start, meta.row_range_end + 1
            some = (written > source) & (starts < high) & (ends > low)
            if some.any():
                found[entry.file.file_name] = RowIds.of_ranges(starts[some], ends[some]).within(low, high)
    return found


def of_another_type(table: Table, entries: Sequence[IndexManifestEntry], field: DataField) -> frozenset[str]:
    """The names of the index files whose keys may have another type than the column has now.

    The schema of the index's source snapshot has the type; if that has expired, the type must never have changed.
    """
    if table.schema.id == _FIRST_SCHEMA:
        return frozenset()
    sources = {e.file.file_name: source_snapshot(meta_of(e).source_meta) for e in entries}
    wrong = {s for s in set(sources.values()) if not _has_type_since(table, s, field)}
    return frozenset(name for name, source in sources.items() if source in wrong)


def _has_type_since(table: Table, snapshot_id: int | None, field: DataField) -> bool:
    source = None if snapshot_id is None else table.snapshots.find(snapshot_id)
    schemas = table.schemas.all() if source is None else [table.schemas.get(source.schema_id)]
    types = {f.type.as_nullable().sql() for s in schemas for f in s.fields if f.id == field.id}
    return types <= {field.type.as_nullable().sql()}


def _holding(table: Table, files: pa.Table, field_id: int) -> npt.NDArray[np.bool_]:
    """Whether each data file holds a column."""
    known: dict[tuple[int, tuple[str, ...] | None], bool] = {}
    found = []
    for schema_id, columns in zip(files["schema_id"].to_pylist(), files["write_cols"].to_pylist(), strict=True):
        key = schema_id, None if columns is None else tuple(columns)
        if key not in known:
            names = [f.name for f in table.schemas.get(schema_id).fields if f.id == field_id]
            known[key] = any(columns is None or name in columns for name in names)
        found.append(known[key])
    return np.array(found, np.bool_)
