"""Row-level strategy "columns": changed columns and blobs are written to new files of the same rows.

A group of files with changed rows gets one more file, with the changed columns of all its rows; unchanged rows keep
their values. Of blobs only the changed ones are written, with placeholders for all other rows. Nothing else is read or
written (spec: Data Evolution, Partial Updates).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CommitConflictError, UnsupportedError
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import FileKind
from paimon_sql.format.options.table.row_tracking import DATA_EVOLUTION_ENABLED
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.system_fields import ROW_ID
from paimon_sql.storage.columns.blobs_and_vectors import fields_in_blob_files, fields_in_vector_files
from paimon_sql.storage.data_files.file_groups import FileGroup, is_dedicated, stored_fields
from paimon_sql.storage.data_files.live_files import BucketedGroup, partition_values
from paimon_sql.storage.read.readers.data_evolution import GroupReader
from paimon_sql.storage.row_level.change_keys import changed_files
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.proposal import Proposal, Validation
from paimon_sql.storage.table.partitions import conform_batch
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.rolling import BlobColumnWriter, RollingWriter, aborted_on_error, write_all
from paimon_sql.storage.write.row_preparation import check_references, cut_to_precision
from paimon_sql.storage.write.settings import ColumnSettings, FileNamer, VectorSettings, WriteSettings

_Part = tuple[int, npt.NDArray[np.int64], pa.RecordBatch]
"""The index of a group, the positions of changed rows in it, and these rows."""
Changed = Iterator[tuple[npt.NDArray[np.int64], pa.RecordBatch]]
"""Rows in their order, with their positions in a group."""


@dataclass(frozen=True)
class ColumnTask:
    """Writes the changed columns of rows.

    Attributes:
        table: the table.
        columns: their names; partition columns are not written, and must not change.
        groups: the groups that may contain the rows, in the order of their row ids.
    """

    table: Table
    columns: tuple[str, ...]
    groups: tuple[BucketedGroup, ...]

    @property
    def written(self) -> tuple[str, ...]:
        """The columns to write, in the table's order."""
        wanted = set(self.columns) - set(self.table.schema.partition_keys)
        return tuple(name for name in self.table.schema.names if name in wanted)

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[CommitMessage]:
        """Write the rows, one file per group; yield each message when its file is closed.

        Args:
            batches: the rows in the order of their ids, with these in a column ``_ROW_ID``.

        Raises:
            UnsupportedError: a row would move to another partition.
        """
        namer = FileNamer(ColumnSettings(self.table.schema, self.written).file_prefix)
        for index, parts in groupby(self._parts(batches), key=lambda part: part[0]):
            yield self._write(self.groups[index], namer, ((positions, rows) for _, positions, rows in parts))

    def _parts(self, batches: Iterable[pa.RecordBatch]) -> Iterator[_Part]:
        fields = [self.table.schema.field(name) for name in self.columns]
        schema = arrow_schema(fields)
        starts = np.array([p.group.first_row_id for p in self.groups], dtype=np.int64)
        ends = starts + np.array([p.group.row_count for p in self.groups], dtype=np.int64)
        for batch in batches:
            ids = batch.column(ROW_ID.name).to_numpy()
            rows = cut_to_precision(conform_batch(batch.select(schema.names), schema), fields)
            check_references(self.table.schema, rows)
            group_indexes = np.searchsorted(starts, ids, side="right") - 1
            if (group_indexes < 0).any() or (ids >= ends[group_indexes]).any():
                raise UnsupportedError(
                    f"{self.table.name}: rows whose ids are stored in their files, because they were moved before"
                    f" '{DATA_EVOLUTION_ENABLED.key}' was set, cannot be changed.",
                    remedy="DELETE the rows and INSERT them again.",
                )
            cuts = [0, *(np.flatnonzero(np.diff(group_indexes)) + 1).tolist(), len(ids)]
            for low, high in pairwise(cuts):
                if high > low:
                    index = int(group_indexes[low])
                    yield index, ids[low:high] - starts[index], rows.slice(low, high - low)

    def _write(self, bucketed: BucketedGroup, namer: FileNamer, new: Changed) -> CommitMessage:
        group = bucketed.group
        blob_columns = {f.name for f in fields_in_blob_files(self.table.schema)}
        vector_columns = self._vector_columns(group)
        columns = tuple(name for name in self.written if name not in blob_columns and name not in vector_columns)
        changing = (*columns, *(name for name in self.written if name in vector_columns))
        vectors = VectorSettings(self.table.schema, vector_columns) if vector_columns else None
        settings = ColumnSettings(self.table.schema, columns, vectors) if columns or vectors is None else vectors
        blobs = BlobOverlays(self.table, settings, bucketed, [n for n in self.written if n in blob_columns], namer)
        with aborted_on_error(*blobs.writers):
            changed = blobs.passing(self._checked_partitions(bucketed, new), changing)
            files: list[DataFileMeta] = []
            if changing:
                place = (bucketed.partition, bucketed.bucket)
                writer = RollingWriter(self.table, settings, *place, namer=namer, first_sequence=group.sequence_number)
                reader = GroupReader(self.table, *place, group)
                overlaid = _overlaid(reader.read((*columns, *vector_columns)), changed)
                files = _with_row_ids(group, write_all(writer, overlaid))
            else:
                deque(changed, maxlen=0)
            files += blobs.finish()
        return CommitMessage(bucketed.partition, bucketed.bucket, bucketed.total_buckets, new_files=tuple(files))

    def _vector_columns(self, group: FileGroup) -> tuple[str, ...]:
        """The columns to write to vector files: all of them if one changes, none if data files hold them.

        Readers prefer a column of a data file to one of a vector file.
        """
        fields = {f.id: f.name for f in fields_in_vector_files(self.table.schema)}
        data_files = (f for f in group.files if not is_dedicated(f.file_name))
        changes = not fields.keys().isdisjoint(self.table.schema.field(name).id for name in self.written)
        if not changes or any(column_ids(self.table, f) & fields.keys() for f in data_files):
            return ()
        return tuple(fields.values())

    def _checked_partitions(self, bucketed: BucketedGroup, new: Changed) -> Changed:
        """Check that all rows stay in their partition, and return them with the written columns."""
        keys = [name for name in self.table.schema.partition_keys if name in self.columns]
        values = partition_values(self.table, pa.array([bucketed.partition], pa.binary())) if keys else {}
        for positions, rows in new:
            for name in keys:
                column = rows.column(name)
                value = values[name][0].cast(column.type)
                same = pc.is_null(column) if not value.is_valid else pc.fill_null(pc.equal(column, value), False)
                if not pc.all(same).as_py():
                    raise UnsupportedError(
                        f"{self.table.name}: a row would get another value of its partition's column '{name}'.",
                        remedy="DELETE the row and INSERT it again.",
                    )
            yield positions, rows.select(list(self.written))


def _overlaid(old: Changed, new: Changed) -> Iterator[pa.RecordBatch]:
    """Replace old rows by the new ones at their positions; both are in the order of positions.

    Columns that the new rows lack do not change.
    """
    pending = next(new, None)
    for positions, rows in old:
        end = positions[-1] + 1
        at, taken = [], []
        while pending is not None and pending[0][0] < end:
            cut = int(np.searchsorted(pending[0], end))
            at.append(pending[0][:cut])
            taken.append(pending[1].slice(0, cut))
            pending = (pending[0][cut:], pending[1].slice(cut)) if cut < len(pending[0]) else next(new, None)
        yield _replaced(rows, np.concatenate(at) - positions[0], taken) if at else rows
    assert pending is None, "rows changed after the last of their group"


def _with_row_ids(group: FileGroup, files: Sequence[DataFileMeta]) -> list[DataFileMeta]:
    """Assign the group's row ids to new files: the data file and the vector files each have all rows of the group."""
    found, vectors = [], group.first_row_id
    for file in files:
        if is_dedicated(file.file_name):
            found.append(replace(file, first_row_id=vectors))
            vectors += file.row_count
        else:
            assert file.row_count == group.row_count
            found.append(replace(file, first_row_id=group.first_row_id))
    assert vectors in (group.first_row_id, group.first_row_id + group.row_count)
    return found


def _replaced(rows: pa.RecordBatch, at: npt.NDArray[np.int64], new: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    order = np.arange(rows.num_rows, dtype=np.int64)
    order[at] = rows.num_rows + np.arange(len(at))
    chosen, changed = pa.array(order), set(new[0].schema.names)
    columns = [
        pa.concat_arrays([rows.column(name), *(part.column(name) for part in new)]).take(chosen)
        if name in changed
        else rows.column(name)
        for name in rows.schema.names
    ]
    return pa.RecordBatch.from_arrays(columns, schema=rows.schema)


def columns_unchanged(messages: Sequence[CommitMessage]) -> Validation:
    """The validation that no concurrent commit changed the same columns of the same rows since the base snapshot.

    It fails as well if snapshots in between have expired, so that it is unknown.

    Args:
        messages: the statement's commit messages, of a table with data evolution.
    """
    return Validation("no other job has changed the same columns of the same rows", partial(_check_columns, messages))


def _check_columns(messages: Sequence[CommitMessage], proposal: Proposal) -> None:
    table = proposal.table
    mine = [(*row_range(f), column_ids(table, f)) for m in messages for f in m.new_files if f.first_row_id is not None]
    if not mine:
        return
    for snapshot, changed in changed_files(proposal, lambda delta: delta["first_row_id"].is_valid()):
        for e in changed:
            (start, end), columns = row_range(e.file), column_ids(table, e.file)
            if e.kind is FileKind.ADD and any(low < end and start < high and ids & columns for low, high, ids in mine):
                raise CommitConflictError(
                    f"{table.name}: snapshot {snapshot.id} of commit user {snapshot.commit_user} changed the same"
                    f" columns of rows from id {e.file.first_row_id} on while the statement ran.",
                    remedy="Run the statement again.",
                )


def row_range(file: DataFileMeta) -> tuple[int, int]:
    """The row ids of a file, as first and last + 1."""
    assert file.first_row_id is not None
    return file.first_row_id, file.first_row_id + file.row_count


def column_ids(table: Table, file: DataFileMeta) -> set[int]:
    """The field ids of the columns of a file."""
    return {f.id for f in stored_fields(table.schemas.get(file.schema_id), file)}


class BlobOverlays:
    """Writes the changed blobs of some columns.

    Attributes:
        writers: the writer of each column.

    Args:
        table: the table.
        settings: the write settings.
        bucketed: the group of files, with its bucket.
        columns: the names of the columns.
        namer: names the files.
    """

    def __init__(
        self, table: Table, settings: WriteSettings, bucketed: BucketedGroup, columns: Sequence[str], namer: FileNamer
    ) -> None:
        self._group = bucketed.group
        self.writers = [
            BlobColumnWriter(table, settings, table.schema.field(n), bucketed.partition, bucketed.bucket, namer=namer)
            for n in columns
        ]
        self._end = 0

    def passing(self, changed: Changed, columns: Sequence[str]) -> Changed:
        """Write the blobs of changed rows, and return these rows with the other columns.

        Args:
            changed: the rows.
            columns: the columns to return.
        """
        for positions, rows in changed:
            self._write(positions, rows)
            yield positions, rows.select(list(columns))

    def _write(self, positions: npt.NDArray[np.int64], rows: pa.RecordBatch) -> None:
        if not self.writers or not len(positions):
            return
        cuts = [0, *(np.flatnonzero(np.diff(positions) != 1) + 1).tolist(), len(positions)]
        for low, high in pairwise(cuts):
            first = int(positions[low])
            for writer in self.writers:
                writer.skip(first - self._end)
                writer.write(rows.column(writer.field.name).slice(low, high - low))
            self._end = first + high - low

    def finish(self) -> list[DataFileMeta]:
        """Close the files, which then have all rows of the group."""
        found = []
        for writer in self.writers:
            writer.skip(self._group.row_count - self._end)
            first = self._group.first_row_id
            for file in writer.finish():
                found.append(replace(file, first_row_id=first))
                first += file.row_count
        return found
