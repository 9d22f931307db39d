"""Changed columns of tables with data evolution: they go into files beside those that hold the rows.

A group of files whose rows change gets one file more, with the changed columns of all its rows: those that did not
change keep their values. Of blobs only those that change are written: the new files say of all other rows that older
files hold them. Nothing else is read or written (spec: Data Evolution, Partial Updates).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CommitConflictError, UnsupportedError
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import FileKind, entries
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.format.options.table.row_tracking import DATA_EVOLUTION_ENABLED
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.system_fields import ROW_ID
from paimon_sql.storage.columns.blobs import fields_in_blob_files
from paimon_sql.storage.columns.vectors import fields_in_vector_files
from paimon_sql.storage.commit.checks.history import changes_since
from paimon_sql.storage.data_files.bucketed_groups import BucketedGroup
from paimon_sql.storage.data_files.file_groups import FileGroup, is_dedicated, stored_fields
from paimon_sql.storage.data_files.live_files import partition_values
from paimon_sql.storage.read.readers.data_evolution import read_group
from paimon_sql.storage.row_level.blob_overlays import BlobOverlays
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.proposal import Proposal, Validation
from paimon_sql.storage.table.partitioning.routing import conform_batch
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.files.file_names import FileNamer
from paimon_sql.storage.write.files.rolling import RollingWriter, write_all
from paimon_sql.storage.write.rows.blob_references import check_references
from paimon_sql.storage.write.rows.precision import cut_to_precision
from paimon_sql.storage.write.settings import ColumnSettings, VectorSettings

_Part = tuple[int, npt.NDArray[np.int64], pa.RecordBatch]
"""The number of a group, and some of its rows that change, with their places."""


@dataclass(frozen=True)
class ColumnTask:
    """Writes some columns of changed rows.

    Attributes:
        table: the table.
        columns: their names; those of the partition are not written, and must not change.
        groups: the groups that the rows may be of, in the order of their row ids.
    """

    table: Table
    columns: tuple[str, ...]
    groups: tuple[BucketedGroup, ...]

    @property
    def written(self) -> tuple[str, ...]:
        """The columns that are written, in the table's order."""
        wanted = set(self.columns) - set(self.table.schema.partition_keys)
        return tuple(name for name in self.table.schema.names if name in wanted)

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[CommitMessage]:
        """Write the rows, a file a group; each message is given as its file is done.

        Args:
            batches: the rows in the order of their ids, which stand in a column ``_ROW_ID`` beside the columns.

        Raises:
            UnsupportedError: a row would get into another partition.
        """
        namer = FileNamer(ColumnSettings(self.table.schema, self.written).file_prefix)
        for number, parts in groupby(self._parts(batches), key=lambda part: part[0]):
            yield self._write(self.groups[number], namer, ((places, rows) for _, places, rows in parts))

    def _parts(self, batches: Iterable[pa.RecordBatch]) -> Iterator[_Part]:
        fields = [self.table.schema.field(name) for name in self.columns]
        schema = arrow_schema(fields)
        starts = np.array([p.group.first_row_id for p in self.groups], dtype=np.int64)
        ends = starts + np.array([p.group.row_count for p in self.groups], dtype=np.int64)
        for batch in batches:
            ids = batch.column(ROW_ID.name).to_numpy()
            rows = cut_to_precision(conform_batch(batch.select(schema.names), schema), fields)
            check_references(self.table.schema, rows)
            numbers = np.searchsorted(starts, ids, side="right") - 1
            if (numbers < 0).any() or (ids >= ends[numbers]).any():
                raise UnsupportedError(
                    f"{self.table.name}: rows whose ids stand in their files, as they have moved before"
                    f" '{DATA_EVOLUTION_ENABLED.key}' was set, cannot be changed.",
                    remedy="DELETE the rows and INSERT them anew.",
                )
            cuts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(ids)]
            for low, high in pairwise(cuts):
                if high > low:
                    number = int(numbers[low])
                    yield number, ids[low:high] - starts[number], rows.slice(low, high - low)

    def _write(
        self, placed: BucketedGroup, namer: FileNamer, new: Iterator[tuple[npt.NDArray[np.int64], pa.RecordBatch]]
    ) -> CommitMessage:
        group = placed.group
        apart = {f.name for f in fields_in_blob_files(self.table.schema)}
        beside = self._vectors_beside(group)
        columns = tuple(name for name in self.written if name not in apart and name not in beside)
        changing = (*columns, *(name for name in self.written if name in beside))
        vectors = VectorSettings(self.table.schema, beside) if beside else None
        settings = ColumnSettings(self.table.schema, columns, vectors) if columns or vectors is None else vectors
        blobs = BlobOverlays(self.table, settings, placed, [n for n in self.written if n in apart], namer)
        with blobs:
            changed = blobs.passing(self._staying(placed, new), changing)
            files: list[DataFileMeta] = []
            if changing:
                writer = RollingWriter(
                    self.table,
                    settings,
                    placed.partition,
                    placed.bucket,
                    namer=namer,
                    first_sequence=group.sequence_number,
                )
                old = read_group(self.table, placed.partition, placed.bucket, group, (*columns, *beside))
                files = _in_their_places(group, write_all(writer, _overlaid(old, changed)))
            else:
                deque(changed, maxlen=0)
            files += blobs.finish()
        return CommitMessage(placed.partition, placed.bucket, placed.total_buckets, new_files=tuple(files))

    def _vectors_beside(self, group: FileGroup) -> tuple[str, ...]:
        """The columns that go into files of vectors, all of them if one changes; none where data files hold them.

        Readers take a column from data files before they look into files of vectors.
        """
        fields = {f.id: f.name for f in fields_in_vector_files(self.table.schema)}
        whole = (f for f in group.files if not is_dedicated(f.file_name))
        changes = not fields.keys().isdisjoint(self.table.schema.field(name).id for name in self.written)
        if not changes or any(_column_ids(self.table, f) & fields.keys() for f in whole):
            return ()
        return tuple(fields.values())

    def _staying(
        self, placed: BucketedGroup, new: Iterator[tuple[npt.NDArray[np.int64], pa.RecordBatch]]
    ) -> Iterator[tuple[npt.NDArray[np.int64], pa.RecordBatch]]:
        """The rows with the columns that are written; none of them may leave its partition."""
        keys = [name for name in self.table.schema.partition_keys if name in self.columns]
        values = partition_values(self.table, pa.array([placed.partition], pa.binary())) if keys else {}
        for places, rows in new:
            for name in keys:
                here = rows.column(name)
                value = values[name][0].cast(here.type)
                same = pc.is_null(here) if not value.is_valid else pc.fill_null(pc.equal(here, value), False)
                if not pc.all(same).as_py():
                    raise UnsupportedError(
                        f"{self.table.name}: a row would get another value of its partition's column '{name}'.",
                        remedy="DELETE the row and INSERT it anew.",
                    )
            yield places, rows.select(list(self.written))


def _overlaid(
    old: Iterator[tuple[npt.NDArray[np.int64], pa.RecordBatch]],
    new: Iterator[tuple[npt.NDArray[np.int64], pa.RecordBatch]],
) -> Iterator[pa.RecordBatch]:
    """All old rows in their order, with the new ones in their places; both come in the order of their places.

    New rows may lack columns, which stay what they are.
    """
    head = next(new, None)
    for places, rows in old:
        end = places[-1] + 1
        at, taken = [], []
        while head is not None and head[0][0] < end:
            cut = int(np.searchsorted(head[0], end))
            at.append(head[0][:cut])
            taken.append(head[1].slice(0, cut))
            head = (head[0][cut:], head[1].slice(cut)) if cut < len(head[0]) else next(new, None)
        yield _replaced(rows, np.concatenate(at) - places[0], taken) if at else rows
    assert head is None, "rows changed behind the last of their group"


def _in_their_places(group: FileGroup, files: Sequence[DataFileMeta]) -> list[DataFileMeta]:
    """New files with the ids of the group's rows, of all of which the data file and the files of vectors tell."""
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
    """No rival has changed the same columns of the same rows since the transaction's base.

    Args:
        messages: what the statement wrote into a table with data evolution.
    """

    def check(proposal: Proposal) -> None:
        check_columns(proposal.table, proposal.base, proposal.latest, messages)

    return Validation("no other job has changed the same columns of the same rows", check)


def check_columns(
    table: Table, base: Snapshot | None, latest: Snapshot | None, messages: Sequence[CommitMessage]
) -> None:
    """Nothing if no rival has changed the same columns of the same rows since a snapshot.

    Args:
        table: a table with data evolution.
        base: the snapshot that the statement read.
        latest: the snapshot that it is to be committed on.
        messages: what it wrote.

    Raises:
        CommitConflictError: a rival has, or nobody can tell any more.
    """
    mine = [
        (*_rows(file), _column_ids(table, file))
        for file in (f for m in messages for f in m.new_files if f.first_row_id is not None)
    ]
    if not mine:
        return
    for snapshot in changes_since(table, base, latest):
        if snapshot.commit_kind is CommitKind.COMPACT:
            continue
        names = [m.file_name for m in table.manifests.read_list(snapshot.delta_manifest_list)]
        for delta in table.manifests.read_all(names):
            for e in entries(delta.filter(delta["first_row_id"].is_valid())):
                if e.kind is FileKind.ADD and _meets(mine, *_rows(e.file), _column_ids(table, e.file)):
                    raise CommitConflictError(
                        f"{table.name}: snapshot {snapshot.id} of commit user {snapshot.commit_user} changed the same"
                        f" columns of rows from id {e.file.first_row_id} on while the statement ran.",
                        remedy="Run the statement again.",
                    )


def _meets(mine: Sequence[tuple[int, int, set[int]]], first: int, end: int, columns: set[int]) -> bool:
    return any(low < end and first < high and held & columns for low, high, held in mine)


def _rows(file: DataFileMeta) -> tuple[int, int]:
    """The id of a file's first row, and that behind its last."""
    assert file.first_row_id is not None
    return file.first_row_id, file.first_row_id + file.row_count


def _column_ids(table: Table, file: DataFileMeta) -> set[int]:
    return {f.id for f in stored_fields(table.schemas.get(file.schema_id), file)}
