"""Reader of data evolution: the files of a group are read in step, blobs for the rows that match and few others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.errors import CorruptFileError, UnsupportedError
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options.table.row_tracking import BLOB_AS_DESCRIPTOR
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.system_fields import ROW_ID
from paimon_sql.storage.columns.blobs_and_vectors import fields_in_blob_files
from paimon_sql.storage.data_files.file_groups import FileGroup, is_blob_file, is_dedicated, stored_fields
from paimon_sql.storage.data_files.live_files import Deletion
from paimon_sql.storage.expressions.predicates import Predicate, all_of, conjuncts
from paimon_sql.storage.expressions.row_id_ranges import RowIds
from paimon_sql.storage.file_formats.base import BATCH_ROWS, batch_of
from paimon_sql.storage.read.blobs import BlobColumn
from paimon_sql.storage.read.readers.data_file import DataFileReader, RowRanges, wanted_fields
from paimon_sql.storage.table.table import Table

PositionedBatch = tuple[int, pa.RecordBatch]
PositionedRows = Iterator[tuple[npt.NDArray[np.int64], pa.RecordBatch]]


@dataclass(frozen=True)
class GroupReader:
    """Reads a group of files.

    Attributes:
        table: the table.
        partition: the serialised partition row.
        bucket: the bucket's number.
        group: the files.
    """

    table: Table
    partition: bytes
    bucket: int
    group: FileGroup

    def read(
        self,
        columns: Sequence[str],
        *,
        deletion: Deletion | None = None,
        row_ids: Predicate | None = None,
        ranges: RowRanges | None = None,
    ) -> PositionedRows:
        """Read the rows in the order of row ids, each batch with the positions of its rows, from 0 on.

        Only the newest file of each wanted column is opened, and only these columns are read from it.

        Args:
            columns: the current names of the wanted columns; those that no file holds are null.
            deletion: the deletion vector; None without one.
            row_ids: a condition on ``_ROW_ID`` alone; rows for which it is not true may be skipped.
            ranges: the wanted positions, as sorted ``(first, last + 1)``, instead of such a condition.

        Raises:
            CorruptFileError: the files do not hold the same rows.
        """
        if ranges is None:
            ranges = rows_with_ids(self.group.first_row_id, self.group.row_count, row_ids)
        if ranges is not None and not ranges:
            return
        schema = arrow_schema(wanted_fields(self.table, columns))
        deleted = deletion.read(self.table.file_io) if deletion else None
        for first, count, found in self._in_step(columns, ranges):
            made = [found[f.name] if f.name in found else pa.nulls(count, f.type) for f in schema]
            rows = batch_of(made, schema, count)
            positions = np.arange(first, first + count, dtype=np.int64)
            if deleted is not None:
                mask = deleted.mask(count, first)
                if not mask.all():
                    live = np.flatnonzero(mask)
                    rows = batch_of([c.take(pa.array(live)) for c in rows.columns], schema, len(live))
                    positions = positions[live]
            yield positions, rows

    def matching(
        self,
        columns: Sequence[str],
        predicate: Predicate | None,
        *,
        deletion: Deletion | None = None,
        row_ids: Predicate | None = None,
    ) -> PositionedRows:
        """Read as `read` does, without rows for which a condition is not true, as far as that saves reading blobs.

        Args:
            columns: the names of the wanted columns, those of the condition included.
            predicate: the condition; the caller has to apply it again.
            deletion: as of `read`.
            row_ids: as of `read`.
        """
        read = partial(self.read, deletion=deletion, row_ids=row_ids)
        blobs = {f.name for f in fields_in_blob_files(self.table.schema)} & set(columns)
        if not blobs or predicate is None or not predicate.columns() <= set(self.table.schema.names) - blobs:
            return read(columns)
        found = [
            positions[predicate.holds(rows).to_numpy(zero_copy_only=False)]
            for positions, rows in read(sorted(predicate.columns()))
        ]
        positions = np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
        return read(columns, ranges=_covering_ranges(positions))

    def _in_step(
        self, columns: Sequence[str], ranges: RowRanges | None
    ) -> Iterator[tuple[int, int, Mapping[str, pa.Array]]]:
        """Consecutive rows from all sources: position of the first row, number of rows, and columns by name."""
        group, sources = self.group, self._sources(columns)
        if not sources:
            for low, high in [(0, group.row_count)] if ranges is None else ranges:
                for at in range(low, high, BATCH_ROWS):
                    yield at, min(BATCH_ROWS, high - at), {}
            return
        sides = [source.stretches(ranges) for source in sources]
        heads: list[PositionedBatch | None] = [next(side, None) for side in sides]
        wanted = group.row_count if ranges is None else sum(high - low for low, high in ranges)
        while True:
            present = [head for head in heads if head is not None]
            if not present and not wanted:
                return
            first = present[0][0] if present else 0
            if len(present) < len(heads) or any(at != first for at, _ in present):
                raise CorruptFileError(
                    f"the files with the rows from id {group.first_row_id} on do not hold the same rows",
                    path=group.anchor.file_name,
                )
            count = min(rows.num_rows for _, rows in present)
            wanted -= count
            parts = [rows.slice(0, count) for _, rows in present]
            yield first, count, {name: part.column(name) for part in parts for name in part.schema.names}
            heads = [
                (at + count, rows.slice(count)) if rows.num_rows > count else next(side, None)
                for (at, rows), side in zip(present, sides, strict=True)
            ]

    def _sources(self, columns: Sequence[str]) -> list[_Source | BlobColumn]:
        """For each wanted column the newest file that holds it; for blob columns all such files."""
        table, group = self.table, self.group
        missing = {f.id: f.name for f in wanted_fields(table, columns)}
        sources: list[_Source] = []
        blobs: dict[int, list[DataFileMeta]] = {}
        parts: dict[tuple[str, ...], _Source] = {}
        for file in group.files:
            stored = {f.id for f in stored_fields(table.schemas.get(file.schema_id), file)}
            names = tuple(name for i, name in missing.items() if i in stored)
            if not names:
                continue
            if is_blob_file(file.file_name):
                blobs.setdefault(next(i for i in missing if i in stored), []).append(file)
            elif is_dedicated(file.file_name):
                if names not in parts:
                    parts[names] = _Source(self, names)
                    sources.append(parts[names])
                assert file.first_row_id is not None
                parts[names].files.append((file.first_row_id - group.first_row_id, file))
            else:
                sources.append(_Source(self, names, [(0, file)]))
                missing = {i: name for i, name in missing.items() if i not in stored}
        for source in parts.values():
            source.files = _newest(source.files)
        fields = {f.id: f for f in table.schema.fields}
        place, rows = (table, self.partition, self.bucket), (group.first_row_id, group.row_count)
        described: bool = table.options.get(BLOB_AS_DESCRIPTOR)
        columns_of_blobs = (BlobColumn(*place, fields[i], *rows, tuple(files), described) for i, files in blobs.items())
        return [*sources, *columns_of_blobs]


def rows_with_ids(first_row_id: int, row_count: int, row_ids: Predicate | None) -> RowRanges | None:
    """The positions of rows with consecutive ids that may satisfy a condition on these; None for all rows."""
    if row_ids is None:
        return None
    listed = [p for p in conjuncts(row_ids) if isinstance(p, RowIds)]
    others = all_of([p for p in conjuncts(row_ids) if not isinstance(p, RowIds)])
    ranges = [(0, row_count)]
    for ids in listed:
        inside = ids.within(first_row_id, first_row_id + row_count)
        ranges = _common(ranges, _joined_if_near(inside.starts - first_row_id, inside.ends - first_row_id))
    if others is None:
        return None if ranges == [(0, row_count)] else ranges
    return [part for low, high in ranges for part in _evaluated(others, first_row_id, low, high)]


def _joined_if_near(starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """The ranges, near ones joined: reading the rows between them costs less than many ranges."""
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
    """The parts of a range of positions whose row ids satisfy a condition."""
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
    """Columns that are read from one file, or from consecutive files, each with the position of its first row."""

    reader: GroupReader
    columns: tuple[str, ...]
    files: list[tuple[int, DataFileMeta]] = field(default_factory=list)

    def stretches(self, ranges: RowRanges | None) -> Iterator[PositionedBatch]:
        """The rows in order, each batch with the position of its first row; files are opened when they are read."""
        reader, end = self.reader, 0
        for start, file in self.files:
            if start != end:
                what = "hold the same rows twice" if start < end else "leave rows out"
                raise UnsupportedError(
                    f"{reader.table.name}: the files of column {', '.join(self.columns)} {what} before row"
                    f" {reader.group.first_row_id + max(start, end)}, which cannot be read yet.",
                    remedy="Compact the table with Apache Paimon.",
                )
            end = start + file.row_count
            own = None if ranges is None else _within(ranges, start, end)
            if own is None or own:
                place = (reader.partition, reader.bucket, file)
                for first, rows in DataFileReader(reader.table, *place, self.columns, row_ranges=own).contiguous():
                    if rows.num_rows:
                        yield start + first, rows


def _newest(files: Sequence[tuple[int, DataFileMeta]]) -> list[tuple[int, DataFileMeta]]:
    """The files with a row that no newer file has, in the order of their rows."""
    newest: list[tuple[int, DataFileMeta]] = []
    for start, file in sorted(files, key=lambda placed: -placed[1].max_sequence_number):
        ends = [(at, at + newer.row_count) for at, newer in sorted(newest, key=lambda placed: placed[0])]
        at = start
        for low, high in ends:
            at = max(at, high) if low <= at else at
        if at < start + file.row_count:
            newest.append((start, file))
    return sorted(newest, key=lambda placed: placed[0])


def _within(ranges: RowRanges, start: int, end: int) -> list[tuple[int, int]]:
    """The parts of ranges between ``start`` and ``end``, relative to ``start``."""
    return [(max(low, start) - start, min(high, end) - start) for low, high in ranges if low < end and high > start]


_MAX_RANGES = 1024


def _covering_ranges(positions: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """Ranges that cover all positions, with as few others as `_MAX_RANGES` cuts allow."""
    if not len(positions):
        return []
    gaps = np.diff(positions)
    widest = np.sort(np.argsort(gaps, kind="stable")[::-1][:_MAX_RANGES])
    cuts = widest[gaps[widest] > 1] + 1
    return [
        (int(positions[low]), int(positions[high - 1]) + 1)
        for low, high in pairwise([0, *cuts.tolist(), len(positions)])
    ]
