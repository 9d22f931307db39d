"""Rebuilding of the file indexes of data files, by the current options of the table (spec: File Index)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from paimon_sql.format.file_index.declared import DeclaredIndex, declared_indexes
from paimon_sql.format.layout.paths import INDEX_SUFFIX, extra_file, file_index_name, next_file_index_name
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import ManifestEntry
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.data_files.pruning.file_indexes import index_file
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.read.readers.data_file import DataFileReader
from paimon_sql.storage.staging.commit_messages import CommitMessage, gather
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.rolling import FileIndexes
from paimon_sql.storage.write.settings import WriteSettings


@dataclass(frozen=True)
class IndexRewriteTask:
    """Rebuilds the file indexes of a data file.

    With ``dry_run`` nothing is written, and the result is that of a real run.
    """

    table: Table
    entry: ManifestEntry
    dry_run: bool = False

    def run(self) -> CommitMessage | None:
        """Return the file with its new indexes; None if they did not change."""
        e, indexed = self.entry, self._indexed()
        if indexed == e.file:
            return None
        return CommitMessage(e.partition, e.bucket, e.total_buckets, compact_before=(e.file,), compact_after=(indexed,))

    def _indexed(self) -> DataFileMeta:
        file = self.entry.file
        other_extras = tuple(name for name in file.extra_files if not name.endswith(INDEX_SUFFIX))
        container = self._container()
        if container is None or len(container) <= WriteSettings(self.table.schema).max_manifest_index_bytes:
            return replace(file, extra_files=other_extras, embedded_index=container)
        old = index_file(file)
        name = next_file_index_name(old) if old is not None else file_index_name(file.file_name)
        if not self.dry_run:
            directory = self.table.locations.bucket(self.entry.partition, self.entry.bucket)
            self.table.file_io.write_bytes(extra_file(directory, name, file.external_path), container)
        return replace(file, extra_files=(*other_extras, name), embedded_index=None)

    def _container(self) -> bytes | None:
        """The indexes of all rows of the file, deleted ones included, for indexes name rows by position."""
        e = self.entry
        written = self.table.at_schema(e.file.schema_id)
        stored = [f for f in written.schema.fields if e.file.write_cols is None or f.name in e.file.write_cols]
        wanted = list(_as_written(self.table, stored))
        columns = sorted({index.column for index in wanted})
        if not columns:
            return None
        indexes = FileIndexes(wanted, stored)
        for batch in DataFileReader(written, e.partition, e.bucket, e.file, columns).batches():
            indexes.add(batch)
        return indexes.finish()


def _as_written(table: Table, stored: Iterable[DataField]) -> Iterator[DeclaredIndex]:
    """The declared indexes, with the columns' names in the schema of a file."""
    ids = {f.name: f.id for f in table.schema.fields}
    names = {f.id: f.name for f in stored}
    for index in declared_indexes(table.options):
        name = names.get(ids.get(index.column, -1))
        if name is not None:
            yield replace(index, column=name)


def rebuild_file_indexes(
    table: Table, entries: Sequence[ManifestEntry], executor: Executor, *, dry_run: bool = False
) -> list[CommitMessage]:
    """Rebuild the indexes of data files; return one message per file whose indexes changed."""
    tasks = [IndexRewriteTask(table, e, dry_run) for e in entries]
    messages = gather(table, executor.run(tasks), lambda m: [] if m is None else [m])
    return [m for m in messages if m is not None]
