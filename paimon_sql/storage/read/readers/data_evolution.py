"""Rows whose columns lie in several files: the files of a group are read side by side, row by row in step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.errors import CorruptFileError, UnsupportedError
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options.table.row_tracking import BLOB_AS_DESCRIPTOR
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.system_fields import ROW_ID
from paimon_sql.storage.data_files.deletion_vectors import Deletion
from paimon_sql.storage.data_files.file_groups import FileGroup, is_blob_file, is_dedicated, stored_fields
from paimon_sql.storage.expressions.predicates import Predicate, all_of, conjuncts
from paimon_sql.storage.expressions.row_id_ranges import RowIds
from paimon_sql.storage.file_formats.base import BATCH_ROWS, batch_of
from paimon_sql.storage.read.blob_column import BlobColumn
from paimon_sql.storage.read.readers.data_file import RowRanges, read_stretches, wanted_fields
from paimon_sql.storage.table.table import Table

Stretch = tuple[int, pa.RecordBatch]


def read_group(
    table: Table,
    partition: bytes,
    bucket: int,
    group: FileGroup,
    columns: Sequence[str],
    *,
    deletion: Deletion | None = None,
    row_ids: Predicate | None = None,
    ranges: RowRanges | None = None,
) -> Iterator[tuple[npt.NDArray[np.int64], pa.RecordBatch]]:
    """The rows of a group in the order of their ids, each batch with the places of its rows, from 0 on.

    Only the files that have the last word on a wanted column are opened, and of each only those columns are read.

    Args:
        table: the table.
        partition: the serialised partition row.
        bucket: the bucket's number.
        group: the files.
        columns: today's names of the columns wanted; those that no file holds are null.
        deletion: where it says which of the rows are deleted.
        row_ids: a condition on ``_ROW_ID`` alone; rows for which it is not true may be passed over.
        ranges: the places wanted, as sorted ``(first, last + 1)``, instead of such a condition.

    Raises:
        CorruptFileError: the files do not hold the same rows.
    """
    if ranges is None:
        ranges = rows_with_ids(group.first_row_id, group.row_count, row_ids)
    if ranges is not None and not ranges:
        return
    schema = arrow_schema(wanted_fields(table, columns))
    deleted = deletion.read(table.file_io) if deletion else None
    for first, count, found in _in_step(_sources(table, partition, bucket, group, columns), group, ranges):
        made = [found[f.name] if f.name in found else pa.nulls(count, f.type) for f in schema]
        rows = batch_of(made, schema, count)
        places = np.arange(first, first + count, dtype=np.int64)
        if deleted is not None:
            mask = deleted.mask(count, first)
            if not mask.all():
                left = np.flatnonzero(mask)
                rows = batch_of([c.take(pa.array(left)) for c in rows.columns], schema, len(left))
                places = places[left]
        yield places, rows


def rows_with_ids(first_row_id: int, row_count: int, row_ids: Predicate | None) -> RowRanges | None:
    """The places of rows that follow one another whose ids may satisfy a condition; None for all of them."""
    if row_ids is None:
        return None
    listed = [p for p in conjuncts(row_ids) if isinstance(p, RowIds)]
    others = all_of([p for p in conjuncts(row_ids) if not isinstance(p, RowIds)])
    ranges = [(0, row_count)]
    for ids in listed:
        inside = ids.within(first_row_id, first_row_id + row_count)
        ranges = _common(ranges, _near_ones_joined(inside.starts - first_row_id, inside.ends - first_row_id))
    if others is None:
        return None if ranges == [(0, row_count)] else ranges
    return [part for low, high in ranges for part in _evaluated(others, first_row_id, low, high)]


def _near_ones_joined(starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """Ranges, those between near ones among them: more rows cost less than many pieces."""
    fresh = np.flatnonzero(starts[1:] - ends[:-1] > _NEAR)
    if not len(starts):
        return []
    firsts, lasts = starts[np.append(0, fresh + 1)], ends[np.append(fresh, len(ends) - 1)]
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


def _common(ranges: list[tuple[int, int]], others: list[tuple[int, int]]) -> list[tuple[int, int]]:
    if ranges == others or (
        len(ranges) == 1 and others and ranges[0][0] <= others[0][0] and others[-1][1] <= ranges[0][1]
    ):
        return others
    return [(max(a, c), min(b, d)) for a, b in ranges for c, d in others if max(a, c) < min(b, d)]


def _evaluated(row_ids: Predicate, first_row_id: int, low: int, high: int) -> list[tuple[int, int]]:
    """The parts of a range of places whose rows' ids satisfy a condition."""
    found: list[tuple[int, int]] = []
    for start in range(low, high, _IDS_AT_ONCE):
        count = min(_IDS_AT_ONCE, high - start)
        ids = pa.array(np.arange(first_row_id + start, first_row_id + start + count, dtype=np.int64))
        wanted = row_ids.evaluate({ROW_ID.name: ids}).fill_null(False).to_numpy(zero_copy_only=False)
        edges = np.flatnonzero(np.diff(wanted, prepend=False, append=False)) + start
        found += zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    return found


_IDS_AT_ONCE = 1 << 20
_NEAR = 8192


@dataclass
class _Source:
    """The columns that come from one file, or from files one behind the other, each with the place of its first row."""

    columns: tuple[str, ...]
    files: list[tuple[int, DataFileMeta]] = field(default_factory=list)


def _sources(
    table: Table, partition: bytes, bucket: int, group: FileGroup, columns: Sequence[str]
) -> list[_Reading | BlobColumn]:
    """What is read: for each wanted column the newest file that holds it, and of blobs all files that do."""
    left = {f.id: f.name for f in wanted_fields(table, columns)}
    sources: list[_Source] = []
    blobs: dict[int, list[DataFileMeta]] = {}
    parts: dict[tuple[str, ...], _Source] = {}
    for file in group.files:
        held = {f.id for f in stored_fields(table.schemas.get(file.schema_id), file)}
        names = tuple(name for i, name in left.items() if i in held)
        if not names:
            continue
        if is_blob_file(file.file_name):
            blobs.setdefault(next(i for i in left if i in held), []).append(file)
        elif is_dedicated(file.file_name):
            if names not in parts:
                parts[names] = _Source(names)
                sources.append(parts[names])
            assert file.first_row_id is not None
            parts[names].files.append((file.first_row_id - group.first_row_id, file))
        else:
            sources.append(_Source(names, [(0, file)]))
            left = {i: name for i, name in left.items() if i not in held}
    for source in parts.values():
        source.files = _newest(source.files)
    fields = {f.id: f for f in table.schema.fields}
    described: bool = table.options.get(BLOB_AS_DESCRIPTOR)
    return [
        *(_Reading(table, partition, bucket, group, source) for source in sources),
        *(
            BlobColumn(
                table, partition, bucket, fields[i], group.first_row_id, group.row_count, tuple(files), described
            )
            for i, files in blobs.items()
        ),
    ]


def _newest(files: Sequence[tuple[int, DataFileMeta]]) -> list[tuple[int, DataFileMeta]]:
    """The files that newer ones do not stand for, in the order of their rows."""
    kept: list[tuple[int, DataFileMeta]] = []
    for start, file in sorted(files, key=lambda placed: -placed[1].max_sequence_number):
        ends = [(at, at + held.row_count) for at, held in sorted(kept, key=lambda placed: placed[0])]
        at = start
        for low, high in ends:
            at = max(at, high) if low <= at else at
        if at < start + file.row_count:
            kept.append((start, file))
    return sorted(kept, key=lambda placed: placed[0])


@dataclass(frozen=True)
class _Reading:
    """A source that is opened when its rows are asked for."""

    table: Table
    partition: bytes
    bucket: int
    group: FileGroup
    source: _Source

    def stretches(self, ranges: RowRanges | None) -> Iterator[Stretch]:
        """The rows in their order, each batch with the place of its first row."""
        end = 0
        for start, file in self.source.files:
            if start != end:
                what = "hold the same rows twice" if start < end else "leave rows out"
                raise UnsupportedError(
                    f"{self.table.name}: the files of column {', '.join(self.source.columns)} {what} before row"
                    f" {self.group.first_row_id + max(start, end)}, which cannot be read yet.",
                    remedy="Compact the table with Apache Paimon.",
                )
            end = start + file.row_count
            own = None if ranges is None else _within(ranges, start, end)
            if own is None or own:
                read = read_stretches(
                    self.table, self.partition, self.bucket, file, self.source.columns, row_ranges=own
                )
                for first, rows in read:
                    if rows.num_rows:
                        yield start + first, rows


def _within(ranges: RowRanges, start: int, end: int) -> list[tuple[int, int]]:
    """The parts of ranges that lie between two places, counted from the first of these."""
    return [(max(low, start) - start, min(high, end) - start) for low, high in ranges if low < end and high > start]


def _in_step(
    readings: Sequence[_Reading | BlobColumn], group: FileGroup, ranges: RowRanges | None
) -> Iterator[tuple[int, int, Mapping[str, pa.Array]]]:
    """Stretches of rows: the place of the first, how many they are, and their columns out of all sources."""
    if not readings:
        for low, high in [(0, group.row_count)] if ranges is None else ranges:
            for at in range(low, high, BATCH_ROWS):
                yield at, min(BATCH_ROWS, high - at), {}
        return
    sides = [reading.stretches(ranges) for reading in readings]
    heads: list[Stretch | None] = [next(side, None) for side in sides]
    wanted = group.row_count if ranges is None else sum(high - low for low, high in ranges)
    while True:
        here = [head for head in heads if head is not None]
        if not here and not wanted:
            return
        first = here[0][0] if here else 0
        if len(here) < len(heads) or any(at != first for at, _ in here):
            raise CorruptFileError(
                f"the files with the rows from id {group.first_row_id} on do not hold the same rows",
                path=group.anchor.file_name,
            )
        count = min(rows.num_rows for _, rows in here)
        wanted -= count
        yield first, count, {name: column for _, rows in here for name, column in _columns(rows, count)}
        heads = [
            (at + count, rows.slice(count)) if rows.num_rows > count else next(side, None)
            for (at, rows), side in zip(here, sides, strict=True)
        ]


def _columns(rows: pa.RecordBatch, count: int) -> Iterator[tuple[str, pa.Array]]:
    part = rows.slice(0, count)
    return zip(part.schema.names, part.columns, strict=True)
