"""Writing tables with a primary key: rows are sorted, merged and written as files of level 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from paimon_sql.errors import ConstraintViolationError
from paimon_sql.format.data_file import DataFileMeta
from paimon_sql.format.options.changelog import CHANGELOG_PRODUCER
from paimon_sql.format.special_fields import KEY_PREFIX, SEQUENCE_NUMBER, VALUE_KIND
from paimon_sql.storage.commit.messages import CommitMessage
from paimon_sql.storage.merge.engine import merge_engine
from paimon_sql.storage.merge.order import SortColumn, comparable, group_starts, sort_order
from paimon_sql.storage.merge.sequence import sequence_fields
from paimon_sql.storage.merge.windows import Window
from paimon_sql.storage.table import Table
from paimon_sql.storage.write.buffer import BucketBuffers, Target
from paimon_sql.storage.write.rolling import FileNamer, RollingWriter, write_all
from paimon_sql.storage.write.routing import Router
from paimon_sql.storage.write.row_kinds import KindsOfRows
from paimon_sql.storage.write.settings import ChangelogSettings, WriteSettings


class KeyValueWriter:
    """Writes rows of a table with a primary key.

    A batch may carry the kind of each row in a column ``_VALUE_KIND``; without it the column that the option
    ``rowkind.field`` names says it, or all are inserts.

    Args:
        table: the table.
        sequences: by partition and bucket the greatest sequence number there.
        router: says which bucket a row goes to; by default its key does, among as many as the option ``bucket`` says.
    """

    def __init__(self, table: Table, sequences: Mapping[Target, int], router: Router | None = None) -> None:
        self._table = table
        self._settings = WriteSettings(table.schema)
        self._next = {target: number + 1 for target, number in sequences.items()}
        self._router = router or Router(table.schema, self._settings.buckets)
        tells_input = table.options.get(CHANGELOG_PRODUCER) == "input"
        self._changelog = ChangelogSettings(table.schema) if tells_input else None
        self._namers: dict[str, FileNamer] = {}
        self._engine = merge_engine(table.schema)
        self._kinds = KindsOfRows(table, self._engine)
        self._buffers = BucketBuffers(self._settings.buffer_size, self._flush)
        self._messages: list[CommitMessage] = []
        self._columns = [*table.schema.names, VALUE_KIND.name, *self._router.extra]

    def write(self, batch: pa.RecordBatch) -> None:
        """Take rows; the columns are those of the table, in any order.

        Raises:
            ConstraintViolationError: a key column holds a null, or the merge engine refuses a kind of row.
        """
        check_keys(self._table, batch)
        self.write_stored(self._engine.prepare(self._kinds.given(batch)))

    def write_stored(self, batch: pa.RecordBatch) -> None:
        """Take rows that come from files: with their kinds, and values as the merge engine keeps them."""
        for partition, bucket, rows in self._router.split(batch.select(self._columns)):
            self._take((partition, bucket), rows)

    def close(self) -> list[CommitMessage]:
        """Write what is left; a message or more for a bucket and flush."""
        self._buffers.flush()
        return self._messages

    def abort(self) -> None:
        """Remove whatever was written."""
        locations = self._table.locations
        self._table.file_io.delete_many(
            path
            for m in self._messages
            for f in (*m.new_files, *m.changelog_files)
            for path in locations.files_of(m.partition, m.bucket, f)
        )

    def _take(self, target: Target, rows: pa.RecordBatch) -> None:
        self._buffers.add(target, rows)

    def _flush(self, target: Target, rows: pa.Table) -> None:
        first = self._next.get(target, 0)
        self._next[target] = first + len(rows)
        numbers = pa.array(np.arange(first, first + len(rows), dtype=np.int64))
        numbered = rows.append_column(SEQUENCE_NUMBER.name, pa.chunked_array([numbers]))
        total = self._router.total_buckets(target[0])
        for window in self._engine.generations(self._window(numbered)):
            # The message stands before its files do, so that whatever is written can be removed.
            changes = self._files(self._changelog, target, window.table.take(window.order)) if self._changelog else ()
            self._messages.append(CommitMessage(*target, total, changelog_files=changes))
            files = self._files(self._settings, target, self._engine.merge(window))
            self._messages[-1] = replace(self._messages[-1], new_files=files)

    def _files(self, settings: WriteSettings, target: Target, rows: pa.Table) -> tuple[DataFileMeta, ...]:
        namer = self._namers.setdefault(settings.file_prefix, FileNamer(settings.file_prefix))
        writer = RollingWriter(self._table, settings, *target, namer=namer)
        return tuple(write_all(writer, as_stored(settings, rows).to_batches(max_chunksize=1_000_000)))

    def _window(self, rows: pa.Table) -> Window:
        schema = self._table.schema
        keys = [comparable(rows[name]) for name in schema.trimmed_primary_keys]
        ties = [SortColumn(comparable(rows[name]), d) for name, d in sequence_fields(schema.options)]
        order = sort_order([*(SortColumn(k) for k in keys), *ties])
        return Window(rows, order, group_starts(keys, order))


def as_stored(settings: WriteSettings, rows: pa.Table) -> pa.Table:
    """Merged rows with the columns of a data file, in its order; key columns are those of the values once more."""
    columns = {}
    for f in settings.stored_fields:
        source = f.name
        if source not in rows.column_names:
            source = source.removeprefix(KEY_PREFIX)
        columns[f.name] = rows[source]
    return pa.table(columns)


def check_keys(table: Table, batch: pa.RecordBatch) -> None:
    """Nothing if each row has a key.

    Raises:
        ConstraintViolationError: a key column holds a null.
    """
    for name in table.schema.primary_keys:
        if batch.column(name).null_count:
            raise ConstraintViolationError(
                f"{table.name}: column {name} of the primary key is null in a row.",
                remedy="Leave such rows out, or give them a value.",
            )
