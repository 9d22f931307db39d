"""Overlays of changed blobs: new blob files of a group with placeholders for all other rows (spec: Blob File)."""

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
    """Writes the changed blobs of some columns; as a context manager it deletes its files on an error.

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
        self._writers = [
            BlobColumnWriter(table, settings, table.schema.field(n), bucketed.partition, bucketed.bucket, namer=namer)
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
        """Write the blobs of changed rows, and return these rows with the other columns.

        Args:
            changed: the rows in order, with their positions in the group.
            columns: the columns to return.
        """
        for positions, rows in changed:
            self._write(positions, rows)
            yield positions, rows.select(list(columns))

    def _write(self, positions: npt.NDArray[np.int64], rows: pa.RecordBatch) -> None:
        if not self._writers or not len(positions):
            return
        cuts = [0, *(np.flatnonzero(np.diff(positions) != 1) + 1).tolist(), len(positions)]
        for low, high in pairwise(cuts):
            first = int(positions[low])
            for writer in self._writers:
                writer.skip(first - self._end)
                writer.write(rows.column(writer.name).slice(low, high - low))
            self._end = first + high - low

    def finish(self) -> list[DataFileMeta]:
        """Close the files, which then have all rows of the group."""
        found = []
        for writer in self._writers:
            writer.skip(self._group.row_count - self._end)
            first = self._group.first_row_id
            for file in writer.finish():
                found.append(replace(file, first_row_id=first))
                first += file.row_count
        return found
