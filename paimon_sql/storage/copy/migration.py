"""Migration of tables of plain Parquet, ORC or Avro files: their files are moved into a Paimon table and committed.

Every file is read completely before anything changes, for its statistics and to be sure that it is readable. The moves
are recorded in a journal in the target first: if the process ends before the commit, the next run of the migration
moves the files back.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

import pyarrow as pa

from paimon_sql.errors import InvalidInputError, MissingFileError, PaimonError, UnsafePathError, UnsupportedError
from paimon_sql.format.bytes.bounded import decoding, load_json
from paimon_sql.format.layout.partitions import DEFAULT_NAME_KEY, PartitionPaths
from paimon_sql.format.layout.paths import is_straight_path, unsafe_path
from paimon_sql.format.metadata.data_file import DataFileMeta, FileSource
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.format.options.table.data_file import FILE_FORMAT
from paimon_sql.format.rows.binary_row import RowCodec
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.schema import TableSchema, new_schema
from paimon_sql.format.schema.types import DataField
from paimon_sql.format.statistics.column_statistics import StatsCollector
from paimon_sql.format.text.instants import wall_clock_millis
from paimon_sql.storage.commit.transaction import Outcome, Transaction
from paimon_sql.storage.copy.copy import CopyTask
from paimon_sql.storage.data_files.live_files import partition_row
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.file_formats.base import FileRead
from paimon_sql.storage.file_formats.registry import file_format, format_names
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.base import refuse_links
from paimon_sql.storage.file_io.paths import is_under, store_of
from paimon_sql.storage.operations.operations import after_commit
from paimon_sql.storage.staging.commit_messages import CommitMessage, append_changes
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.base import bucket_mode
from paimon_sql.storage.write.settings import WriteSettings

HIVE_DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The directory name of null in Hive and Spark."""

_JOURNAL = "_migration.json"
_PREFIX = "migrated-"


@dataclass(frozen=True)
class PlainFile:
    """A file of a plain table; ``partition`` has the values of its partition as strings, by column."""

    path: str
    size: int
    partition: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PlainTable:
    """A table that consists of files in directories.

    Attributes:
        name: its full name, for messages.
        fields: its columns, partition columns included.
        partition_keys: the partition columns.
        file_format: the format of its files.
        files: its files.
        file_io: the file system that holds them.
        comment: its comment.
        drop: drops the table, with its remaining files.
    """

    name: str
    fields: tuple[DataField, ...]
    partition_keys: tuple[str, ...]
    file_format: str
    files: tuple[PlainFile, ...]
    file_io: FileIO
    comment: str | None = None
    drop: Callable[[], None] = lambda: None

    @property
    def bytes(self) -> int:
        """The size of its files."""
        return sum(f.size for f in self.files)


def schema_of(source: PlainTable, options: Mapping[str, str]) -> TableSchema:
    """The schema of the table that a plain table is migrated to.

    Raises:
        UnsupportedError: Paimon does not have its file format.
    """
    if source.file_format not in format_names():
        raise UnsupportedError(
            f"{source.name} holds {source.file_format} files, which cannot be migrated in place.",
            remedy="Use CREATE TABLE .. AS SELECT.",
        )
    merged = {FILE_FORMAT.key: source.file_format, **options}
    if source.partition_keys:
        merged.setdefault(DEFAULT_NAME_KEY, HIVE_DEFAULT_PARTITION)
    return new_schema(source.fields, partition_keys=source.partition_keys, options=merged, comment=source.comment)


def check_target(source: PlainTable, target: Table) -> None:
    """Refuse a table that cannot contain the files of a plain one.

    Raises:
        InvalidInputError: the table has a primary key or buckets, or other columns.
    """
    if bucket_mode(target.schema).has_buckets:
        raise InvalidInputError(
            f"{target.name} has a primary key or buckets, so it cannot take files of {source.name}.",
            remedy="Migrate into an append table without buckets, or use INSERT INTO .. SELECT.",
        )
    one, other = ([(f.name, f.type.as_nullable()) for f in fields] for fields in (source.fields, target.schema.fields))
    if one != other or source.partition_keys != target.schema.partition_keys:
        raise InvalidInputError(
            f"{target.name} has other columns than {source.name}.",
            remedy="Migrate into a table that does not exist, or use INSERT INTO .. SELECT.",
        )


@dataclass(frozen=True)
class ExamineTask:
    """Reads a file for its metadata."""

    table: Table
    source: FileIO
    file: PlainFile
    partition: bytes
    file_format: str
    name: str

    @property
    def size(self) -> int:
        """The bytes to read."""
        return self.file.size

    def run(self) -> DataFileMeta:
        """Return the metadata of the file.

        Raises:
            InvalidInputError: the file cannot be read with the table's columns.
        """
        schema = self.table.schema
        fields = [f for f in schema.fields if f.name not in schema.partition_keys]
        names = [f.name for f in fields]
        try:
            self._check_columns(names)
            settings = WriteSettings(schema)
            stats = StatsCollector(
                schema.fields, settings.value_modes(0), file_format=self.file_format, dense=settings.dense_stats
            )
            constants = partition_row(self.table, self.partition, schema.names)
            rows = 0
            wanted = FileRead(self.file.path, fields, names, self.file.size)
            for _, batch in file_format(self.file_format).batches(self.source, wanted):
                stats.update(self._all_columns(batch, constants))
                rows += batch.num_rows
        except MissingFileError:
            raise
        except PaimonError as error:
            raise InvalidInputError(f"{self.file.path} cannot be migrated: {error}", remedy=error.remedy) from error
        values, columns = stats.finish()
        return DataFileMeta(
            file_name=self.name,
            file_size=self.file.size,
            row_count=rows,
            value_stats=values,
            value_stats_cols=columns,
            schema_id=schema.id,
            creation_time_millis=wall_clock_millis(),
            delete_row_count=0,
            file_source=FileSource.APPEND,
        )

    def _check_columns(self, names: Sequence[str]) -> None:
        stored = file_format(self.file_format).column_names(self.source, self.file.path)
        by_lower_case = {name.lower(): name for name in stored}
        for name in names:
            if name not in stored and name.lower() in by_lower_case:
                raise InvalidInputError(f"its column {by_lower_case[name.lower()]} is {name} in the table.")
        if names and not set(names) & set(stored):
            raise InvalidInputError(f"it contains none of the table's columns, only {', '.join(stored)}.")

    def _all_columns(self, batch: pa.RecordBatch, constants: Mapping[str, pa.Scalar]) -> pa.RecordBatch:
        schema = arrow_schema(self.table.schema.fields)
        columns = [pa.repeat(constants[n], batch.num_rows) if n in constants else batch.column(n) for n in schema.names]
        return pa.RecordBatch.from_arrays(columns, schema=schema)


def examine(source: PlainTable, target: Table, executor: Executor) -> list[CommitMessage]:
    """Return the commit messages for the files of a plain table, in their order; nothing is changed.

    Raises:
        InvalidInputError: a file cannot be read with the table's columns, or a partition value is invalid.
    """
    paths, codec = PartitionPaths.of(target.schema), RowCodec([f.type for f in target.schema.partition_fields])
    run = uuid.uuid4()
    tasks = [
        ExamineTask(
            target,
            source.file_io,
            file,
            codec.encode(list(paths.values(file.partition))),
            source.file_format,
            f"{_PREFIX}{run}-{n}.{source.file_format}",
        )
        for n, file in enumerate(source.files)
    ]
    metas = executor.run(tasks)
    return [CommitMessage(t.partition, 0, -1, new_files=(m,)) for t, m in zip(tasks, metas, strict=True)]


def migrate_files(
    source: PlainTable,
    target: Table,
    messages: Sequence[CommitMessage],
    executor: Executor,
    *,
    keep: bool,
    threads: int,
) -> Snapshot | None:
    """Move or copy the files into the target and commit them; return the snapshot, None without files.

    Args:
        source: the plain table.
        target: the table that gets its files.
        messages: the result of `examine`.
        executor: runs the tasks that copy files.
        keep: whether the source keeps its files, so that they are copied.
        threads: the number of concurrent moves.
    """
    pairs = [
        (file.path, f"{target.locations.bucket(m.partition, m.bucket)}/{m.new_files[0].file_name}")
        for file, m in zip(source.files, messages, strict=True)
    ]
    if not pairs:
        return None
    moves = not keep and len({store_of(path) for pair in pairs for path in pair}) == 1
    changes = append_changes(messages)
    with Transaction(target) as transaction:
        if moves:
            # The files belong to the source until the commit: on an error they are moved back, never deleted.
            _move(target, pairs, threads, transaction.user)
        else:
            transaction.staged.add_paths(copy for _, copy in pairs)
            sizes = [file.size for file in source.files]
            copies = [CopyTask(source.file_io, target.file_io, (p,), n) for p, n in zip(pairs, sizes, strict=True)]
            list(executor.run(copies))
        try:
            snapshot = transaction.commit(CommitKind.APPEND, lambda latest: changes)
        except BaseException:
            if moves and transaction.outcome is Outcome.OPEN:
                undo_migration(target)
            raise
    if moves:
        target.file_io.delete(_journal(target))
    elif not keep:
        source.file_io.delete_many(origin for origin, _ in pairs)
    after_commit(target, [snapshot])
    return snapshot


def undo_migration(target: Table, sources: Sequence[str] | None = None) -> int:
    """Undo a migration that ended before its commit; return the number of files that were moved back.

    Args:
        target: the target of the migration.
        sources: the original directories of the files; None for any.

    Raises:
        PaimonError: a file cannot be moved back, or it is unknown whether the commit was made; the journal is kept.
        UnsafePathError: the journal names files outside of these directories; nothing was moved.
    """
    path = _journal(target)
    try:
        data = target.file_io.read_bytes(path)
    except MissingFileError:
        return 0
    with decoding("a journal of a migration", path):
        journal = _Journal(**load_json(data))
        pairs = [(str(origin), str(copy)) for origin, copy in journal.moved]
    for origin, copy in pairs:
        _check_moved(copy, [target.path], path)
        _check_moved(origin, sources, path)
    refuse_links(target.file_io, [copy for _, copy in pairs], lambda _: target.path)
    done = 0
    if not _was_committed(target, journal):
        done = _rename_all(target.file_io, [(copy, origin) for origin, copy in journal.moved], 1)
        stuck = [copy for _, copy in journal.moved if target.file_io.exists(copy)]
        if stuck:
            raise InvalidInputError(
                f"{target.name}: {len(stuck)} files of an aborted migration cannot be moved back, including"
                f" {stuck[0]}: other files have their original paths.",
                remedy=f"{path} lists their original paths.",
            )
    target.file_io.delete(path)
    return done


@dataclass(frozen=True)
class _Journal:
    """The moves of a migration, the commit user, and the latest snapshot before."""

    moved: list[tuple[str, str]]
    commit_user: str
    before: int


def _was_committed(target: Table, journal: _Journal) -> bool:
    if any(s.commit_user == journal.commit_user for s in target.snapshots.all()):
        return True
    earliest = target.snapshots.earliest_id()
    if earliest is not None and earliest > journal.before + 1:
        raise InvalidInputError(
            f"{target.name}: whether an interrupted migration was committed is unknown, as snapshots from"
            f" {journal.before + 1} on have expired.",
            remedy=f"{_journal(target)} lists its files and their original paths: move them back or delete the"
            " journal.",
        )
    return False


def _move(target: Table, pairs: Sequence[tuple[str, str]], threads: int, commit_user: str) -> None:
    """Move files; on an error they are moved back."""
    journal = _Journal(list(pairs), commit_user, target.snapshots.latest_id() or 0)
    target.file_io.write_durably(_journal(target), json.dumps(asdict(journal)).encode())
    try:
        moved = _rename_all(target.file_io, pairs, threads)
        if moved < len(pairs):
            raise InvalidInputError(
                f"{len(pairs) - moved} of {len(pairs)} files disappeared while they were moved into {target.name}.",
                remedy="Stop the writers of the source and migrate it again.",
            )
    except BaseException:
        undo_migration(target)
        raise


def _rename_all(file_io: FileIO, pairs: Iterable[tuple[str, str]], threads: int) -> int:
    """Move the files that still exist at their old paths; return their number."""

    def rename(pair: tuple[str, str]) -> int:
        return int(file_io.exists(pair[0]) and file_io.rename(*pair))

    return sum(map_in_threads(rename, list(pairs), threads))


def _check_moved(file: str, directories: Sequence[str] | None, journal: str) -> None:
    """Check that a path of a journal has no ``..`` and is below one of some directories."""
    if not is_straight_path(file):
        raise unsafe_path(file, "a file", journal)
    if directories is not None and not any(is_under(file, directory) for directory in directories):
        raise UnsafePathError(f"it names {file}, but files were moved from {', '.join(directories)}", path=journal)


def _journal(target: Table) -> str:
    return f"{target.path}/{_JOURNAL}"
