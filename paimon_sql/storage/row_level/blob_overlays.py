"""Changed blobs of a group of files: new files hold them, and say of all other rows that older files hold theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from types import TracebackType

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.storage.data_files.bucketed_groups import BucketedGroup
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.files.blob_files import BlobColumnWriter
from paimon_sql.storage.write.files.file_names import FileNamer
from paimon_sql.storage.write.settings import WriteSettings

Changed = Iterator[tuple[npt.NDArray[np.int64], pa.RecordBatch]]


class BlobOverlays:
    """Writes changed blobs of some columns; as a context it leaves nothing behind on an error.

    Args:
        table: the table.
        settings: how it writes.
        placed: the group.
        columns: the names of the columns.
        namer: gives the files their names.
    """

    def __init__(
        self, table: Table, settings: WriteSettings, placed: BucketedGroup, columns: Sequence[str], namer: FileNamer
    ) -> None:
        self._group = placed.group
        self._writers = [
            BlobColumnWriter(table, settings, table.schema.field(n), placed.partition, placed.bucket, namer=namer)
            for n in columns
        ]
        self._end = 0

    def __enter__(self) -> BlobOverlays:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            for writer in self._writers:
                writer.abort()

    def passing(self, changed: Changed, columns: Sequence[str]) -> Changed:
        """Changed rows with other columns alone, after their blobs have been written.

        Args:
            changed: the rows in their order, with their places in the group.
            columns: the columns that they keep.
        """
        for places, rows in changed:
            self._write(places, rows)
            yield places, rows.select(list(columns))

    def _write(self, places: npt.NDArray[np.int64], rows: pa.RecordBatch) -> None:
        if not self._writers or not len(places):
            return
        cuts = [0, *(np.flatnonzero(np.diff(places) != 1) + 1).tolist(), len(places)]
        for low, high in pairwise(cuts):
            first = int(places[low])
            for writer in self._writers:
                writer.skip(first - self._end)
                writer.write(rows.column(writer.name).slice(low, high - low))
            self._end = first + high - low

    def finish(self) -> list[DataFileMeta]:
        """Close the files, which then have as many rows as the group."""
        found = []
        for writer in self._writers:
            writer.skip(self._group.row_count - self._end)
            first = self._group.first_row_id
            for file in writer.finish():
                found.append(replace(file, first_row_id=first))
                first += file.row_count
        return found
