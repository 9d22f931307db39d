"""Reader of data files: batches under the current schema, without deleted rows; broken files may be skipped."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from paimon_sql.errors import CorruptFileError, MissingFileError
from paimon_sql.format.layout.paths import format_of
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options.operations.scan import READ_BATCH_SIZE, SCAN_IGNORE_CORRUPT_FILES, SCAN_IGNORE_LOST_FILES
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.system_fields import ROW_ID, SEQUENCE_NUMBER, TRACKED
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.columns.schema_evolution import EvolutionPlan, plan_evolution
from paimon_sql.storage.data_files.layout import FileLayout
from paimon_sql.storage.data_files.live_files import Deletion, partition_row
from paimon_sql.storage.data_files.pruning.file_indexes import UNKNOWN, IndexAnswer, IndexFilter, are_few, as_ranges
from paimon_sql.storage.data_files.pruning.pinned_columns import pins_key
from paimon_sql.storage.expressions.predicates import ColumnStats, Predicate, all_of, conjuncts, conjuncts_on
from paimon_sql.storage.file_formats.base import BATCH_ROWS, ColumnRange, FileRead
from paimon_sql.storage.file_formats.registry import file_format
from paimon_sql.storage.merge.sequence import is_ordered_by_snapshots, number_of_rows
from paimon_sql.storage.read.metadata_columns import is_tracked
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class PredicateRowGroups:
    """Skips row groups in which the predicate is true for no row.

    ``types`` are the Arrow types of the predicate's columns, by their names in the file.
    """

    predicate: Predicate
    types: Mapping[str, pa.DataType]

    @property
    def columns(self) -> Collection[str]:
        return self.types.keys()

    def may_match(self, row_count: int, columns: Mapping[str, ColumnRange]) -> bool:
        """Whether a row of the group may match."""
        known = {
            name: self._stats(row_count, columns[name], kind) for name, kind in self.types.items() if name in columns
        }
        wanted = all_of([p for p in conjuncts(self.predicate) if p.columns() <= set(known)])
        if wanted is None:
            return True
        stats = {name: s for name, s in known.items() if name in wanted.columns()}
        return bool(wanted.may_hold(stats)[0].as_py())

    @staticmethod
    def _stats(row_count: int, bounds: ColumnRange, kind: pa.DataType) -> ColumnStats:
        return ColumnStats(
            minimum=pa.array([bounds.low], kind),
            maximum=pa.array([bounds.high], kind),
            null_count=pa.array([bounds.null_count], pa.int64()),
            row_count=pa.array([row_count], pa.int64()),
        )


RowRanges = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class DataFileReader:
    """Reads a data file in its order.

    Attributes:
        table: the table.
        partition: the serialised partition row.
        bucket: the bucket's number.
        file: the file.
        columns: the current names of the wanted columns, and names of system columns that the file may hold.
        predicate: rows for which it is not true may be skipped.
        deletion: the deletion vector; None without one.
        batch_rows: the max rows of a batch.
        row_ranges: the wanted positions, as sorted ``(first, last + 1)``; all by default.
    """

    table: Table
    partition: bytes
    bucket: int
    file: DataFileMeta
    columns: Sequence[str]
    predicate: Predicate | None = None
    deletion: Deletion | None = None
    batch_rows: int = BATCH_ROWS
    row_ranges: RowRanges | None = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, without deleted ones."""
        return (rows for _, rows in self.with_positions())

    def with_positions(self) -> Iterator[tuple[npt.NDArray[np.int64], pa.RecordBatch]]:
        """The rows, without deleted ones; each batch with the positions of its rows in the file, from 0 on."""
        table, predicate, batch_rows, row_ranges = self.table, self.predicate, self.batch_rows, self.row_ranges
        if table.options.has(READ_BATCH_SIZE):
            batch_rows = min(batch_rows, table.options.get(READ_BATCH_SIZE))
        reader = replace(self, batch_rows=batch_rows)
        if predicate is not None:
            row_ranges = reader._ranges_of(predicate)
            if row_ranges is not None and not row_ranges:
                return
        deleted = self.deletion.read(table.file_io) if self.deletion else None
        for first, rows in replace(reader, row_ranges=row_ranges).contiguous():
            positions = np.arange(first, first + rows.num_rows, dtype=np.int64)
            if deleted is not None:
                mask = deleted.mask(rows.num_rows, first)
                rows, positions = rows.filter(pa.array(mask)), positions[mask]
            yield positions, rows

    def with_row_ids(self) -> Iterator[tuple[npt.NDArray[np.int64], pa.RecordBatch]]:
        """As `with_positions`, with ``_ROW_ID`` and ``_SEQUENCE_NUMBER`` after the wanted columns.

        In a file of new rows, ids count up from its first row id, and the sequence number is that of the snapshot that
        added the file. Files with moved rows store both columns; a null in them means the same as in a file without the
        columns.
        """
        names, first = [*self.columns, *(f.name for f in TRACKED)], self.file.first_row_id
        for positions, rows in replace(self, columns=names).with_positions():
            ids = pa.nulls(len(positions), pa.int64()) if first is None else pa.array(positions + first)
            numbers = pa.array(np.full(len(positions), self.file.max_sequence_number, dtype=np.int64))
            filled = {
                ROW_ID.name: pc.coalesce(rows.column(ROW_ID.name), ids),
                SEQUENCE_NUMBER.name: pc.coalesce(rows.column(SEQUENCE_NUMBER.name), numbers),
            }
            yield positions, pa.RecordBatch.from_arrays([filled.get(n, rows.column(n)) for n in names], names=names)

    def contiguous(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Batches of consecutive rows, deleted ones included, each with the position of its first row in the file."""
        plan, read = self._opened()
        lacking: dict[str, pa.Scalar] = {}
        if FileLayout.of(self.table).may_lack_partition(self.table.schema, self.file):
            lacking = partition_row(self.table, self.partition, self.columns)
        if SEQUENCE_NUMBER.name in self.columns and is_ordered_by_snapshots(self.table.schema):
            number = number_of_rows(self.file)
            lacking |= {} if number is None else {SEQUENCE_NUMBER.name: pa.scalar(number, pa.int64())}
        for first, batch in read:
            rows = plan.apply(batch)
            for name, value in lacking.items():
                index = rows.schema.get_field_index(name)
                rows = rows.set_column(index, rows.schema.field(index), pa.repeat(value, rows.num_rows))
            yield first, rows

    def _opened(self) -> tuple[EvolutionPlan, Iterator[tuple[int, pa.RecordBatch]]]:
        """The batches of the file as stored, and the plan that evolves them to the current schema."""
        table, file = self.table, self.file
        layout = FileLayout.of(table)
        stored = layout.stored_fields(table.schemas.get(file.schema_id), file)
        if layout.may_lack_partition(table.schema, file):
            stored = [f for f in stored if f.name not in table.schema.partition_keys]
        plan = plan_evolution(stored, wanted_fields(table, self.columns))
        path = table.locations.data_file(self.partition, self.bucket, file)
        groups = _row_groups(plan, self.predicate)
        wanted = FileRead(
            path,
            plan.file_fields,
            plan.columns,
            size=file.file_size,
            predicate=groups,
            batch_rows=self.batch_rows,
            row_ranges=self.row_ranges,
            options=table.schema.options,
            is_lookup=pins_key(table.schema, self.predicate),
        )
        read = partial(file_format(format_of(file.file_name)).batches, table.file_io, wanted)
        return plan, ignoring_failures(table, path, read) if table.ignores_unreadable else read()

    def _ranges_of(self, predicate: Predicate) -> RowRanges | None:
        """The wanted positions, without those of rows that surely do not match."""
        file, ranges, answer = self.file, self.row_ranges, UNKNOWN
        if ranges is None:
            answer = IndexFilter(self.table, predicate).answer(self.partition, self.bucket, file)
        if answer.excludes_all:
            return []
        if pins_key(self.table.schema, predicate):
            on_key = conjuncts_on(predicate, self.table.schema.trimmed_primary_keys)
            assert on_key is not None
            return [(p, p + 1) for p in self._positions_of(on_key)]
        rows = answer.rows
        if rows is None and self._finds_rows_first(predicate, answer):
            rows = self._positions_of(predicate)
        if rows is None:
            return ranges
        return as_ranges(rows, file.row_count) if rows else []

    def _finds_rows_first(self, predicate: Predicate, answer: IndexAnswer) -> bool:
        """Whether to read the predicate's columns first, and of the others only the parts with a match."""
        if answer.expected is None or not are_few(answer.expected, self.file.row_count):
            return False
        is_columnar = file_format(format_of(self.file.file_name)).is_columnar
        return is_columnar and not predicate.columns().issuperset(self.columns)

    def _positions_of(self, predicate: Predicate) -> BitMap:
        """The positions of the rows that match; no columns but the predicate's are read."""
        columns = sorted(predicate.columns())
        found = BitMap()
        for first, rows in replace(self, columns=columns, predicate=predicate, row_ranges=None).contiguous():
            matches = np.flatnonzero(predicate.holds(rows).to_numpy(zero_copy_only=False))
            found |= BitMap((first + matches).astype(np.uint32))
        return found


def rows_to_move(
    table: Table, partition: bytes, bucket: int, file: DataFileMeta, *, deletion: Deletion | None = None
) -> Iterator[tuple[npt.NDArray[np.int64], pa.RecordBatch]]:
    """Read a data file to copy its rows into another one, with their ids if the table tracks rows.

    Returns: as `DataFileReader.with_positions`.
    """
    reader = DataFileReader(table, partition, bucket, file, table.schema.names, deletion=deletion)
    return reader.with_row_ids() if is_tracked(table.schema) else reader.with_positions()


def wanted_fields(table: Table, columns: Sequence[str]) -> list[DataField]:
    """The current fields of these names, which may be system columns."""
    system = FileLayout.of(table).system_fields
    return [system.get(name) or table.schema.field(name) for name in columns]


def _row_groups(plan: EvolutionPlan, predicate: Predicate | None) -> PredicateRowGroups | None:
    """The predicate for the file's row groups, on columns whose names and types have not changed; None without any."""
    if predicate is None:
        return None
    asked = predicate.columns()
    types = {
        field.name: arrow_type(field.type)
        for field, source in zip(plan.wanted, plan.sources, strict=True)
        if field.name in asked
        and source is not None
        and (source.name, source.type.as_nullable()) == (field.name, field.type.as_nullable())
    }
    return PredicateRowGroups(predicate, types) if types else None


_LOG = logging.getLogger(__name__)

T = TypeVar("T")


def ignoring_files(table: Table) -> Table:
    """The table for a query, which skips unreadable files if the options allow it."""
    ignores = table.options.get(SCAN_IGNORE_LOST_FILES) or table.options.get(SCAN_IGNORE_CORRUPT_FILES)
    return replace(table, ignores_unreadable=True) if ignores else table


def ignoring_failures(table: Table, path: str, read: Callable[[], Iterator[T]]) -> Iterator[T]:
    """Read a data file up to the point where it is missing or corrupt, if the options allow it; log what is skipped."""
    try:
        yield from read()
    except MissingFileError:
        if not table.options.get(SCAN_IGNORE_LOST_FILES):
            raise
        _LOG.warning("%s: skipping %s, which is missing ('%s')", table.name, path, SCAN_IGNORE_LOST_FILES.key)
    except CorruptFileError as error:
        if not table.options.get(SCAN_IGNORE_CORRUPT_FILES):
            raise
        option = SCAN_IGNORE_CORRUPT_FILES.key
        _LOG.warning("%s: skipping the rest of %s: %s ('%s')", table.name, path, error, option)
