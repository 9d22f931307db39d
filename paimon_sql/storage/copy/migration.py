"""Tables of plain Parquet, ORC or Avro files that become Paimon's: their files are moved in as they are and committed.

Every file is read through before anything changes, for the statistics that Paimon keeps and to be sure that it can be
read. Files that are moved are written down in the target first: should the process end before the commit, the next
run of the migration puts them back where they were.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

import pyarrow as pa

from paimon_sql.errors import InvalidInputError, MissingFileError, PaimonError, UnsafePathError, UnsupportedError
from paimon_sql.format.bytes.bounded import decoding, load_json
from paimon_sql.format.layout.file_names import is_straight_path, unsafe_path
from paimon_sql.format.layout.partitions import DEFAULT_NAME_KEY, PartitionPaths
from paimon_sql.format.metadata.data_file import DataFileMeta, FileSource
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.format.options.table.data_file import FILE_FORMAT
from paimon_sql.format.rows.binary_row import RowCodec
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.schema import TableSchema, new_schema
from paimon_sql.format.schema.types import DataField
from paimon_sql.format.statistics.column_statistics import StatsCollector
from paimon_sql.format.text.wall_clock import wall_clock_millis
from paimon_sql.storage.commit.transaction import Outcome, Transaction
from paimon_sql.storage.copy.copy import CopyTask, run_copy
from paimon_sql.storage.data_files.live_files import partition_values
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.execution.threads import spread
from paimon_sql.storage.file_formats.registry import file_format
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.paths import is_under, scheme_of, without_scheme
from paimon_sql.storage.file_io.symlinks import refuse_links
from paimon_sql.storage.maintenance.after_commit import after_commit
from paimon_sql.storage.staging.commit_messages import CommitMessage, append_changes
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.registry import bucket_mode
from paimon_sql.storage.write.settings import WriteSettings

FORMATS = ("parquet", "orc", "avro")
HIVE_DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""What Hive and Spark call the folder of null."""

_JOURNAL = "_migration.json"
_PREFIX = "migrated-"


@dataclass(frozen=True)
class PlainFile:
    """A file of a plain table; ``partition`` are the texts of its partition's values, by column."""

    path: str
    size: int
    partition: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PlainTable:
    """A table that is nothing but files in folders.

    Attributes:
        name: its full name, for messages.
        fields: its columns, those of the partition among them.
        partition_keys: the partition columns.
        file_format: the format of its files.
        files: its files.
        file_io: the file system that holds them.
        comment: what it says of itself.
        drop: forgets the table, with what is left of it.
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
    """The definition of the table that a plain table becomes.

    Raises:
        UnsupportedError: its files are of no format that Paimon has.
    """
    if source.file_format not in FORMATS:
        raise UnsupportedError(
            f"{source.name} holds {source.file_format} files, which cannot be taken over as they are.",
            remedy="CREATE TABLE .. AS SELECT * FROM it.",
        )
    given = {FILE_FORMAT.key: source.file_format, **options}
    if source.partition_keys:
        given.setdefault(DEFAULT_NAME_KEY, HIVE_DEFAULT_PARTITION)
    return new_schema(source.fields, partition_keys=source.partition_keys, options=given, comment=source.comment)


def check_target(source: PlainTable, target: Table) -> None:
    """Refuse a table that cannot take the files of a plain one.

    Raises:
        InvalidInputError: it has a primary key or buckets, or other columns.
    """
    if target.schema.primary_keys or bucket_mode(target.schema).has_buckets:
        raise InvalidInputError(
            f"{target.name} has a primary key or buckets, so it cannot take files of {source.name}.",
            remedy="Migrate into an append table without buckets, or INSERT INTO it SELECT from the source.",
        )
    one, other = ([(f.name, f.type.as_nullable()) for f in fields] for fields in (source.fields, target.schema.fields))
    if one != other or source.partition_keys != target.schema.partition_keys:
        raise InvalidInputError(
            f"{target.name} has other columns than {source.name}.",
            remedy="Migrate into a table that does not exist, or INSERT INTO it SELECT from the source.",
        )


@dataclass(frozen=True)
class ExamineTask:
    """Reads a file through: what Paimon keeps about it. ``size`` is its bytes."""

    table: Table
    source: FileIO
    file: PlainFile
    partition: bytes
    file_format: str
    name: str

    @property
    def size(self) -> int:
        """The bytes to be read."""
        return self.file.size

    def run(self) -> DataFileMeta:
        """Do it.

        Raises:
            InvalidInputError: the file cannot be read as the columns say.
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
            known = partition_values(self.table, pa.array([self.partition], pa.binary()))
            rows = 0
            reader = file_format(self.file_format)
            for batch in reader.read(self.source, self.file.path, self.file.size, fields, names):
                stats.update(self._whole(batch, known))
                rows += batch.num_rows
        except MissingFileError:
            raise
        except PaimonError as error:
            raise InvalidInputError(f"{self.file.path} cannot be taken over: {error}", remedy=error.remedy) from error
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
        held = file_format(self.file_format).column_names(self.source, self.file.path)
        lower = {name.lower(): name for name in held}
        for name in names:
            if name not in held and name.lower() in lower:
                raise InvalidInputError(f"its column {lower[name.lower()]} is {name} in the table.")
        if names and not set(names) & set(held):
            raise InvalidInputError(f"it holds none of the columns, but {', '.join(held)}.")

    def _whole(self, batch: pa.RecordBatch, known: Mapping[str, pa.Array]) -> pa.RecordBatch:
        schema = arrow_schema(self.table.schema.fields)
        columns = [
            pa.repeat(known[f.name][0], batch.num_rows) if f.name in known else batch.column(f.name) for f in schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema)


def run_examine(task: ExamineTask) -> DataFileMeta:
    """Run one task; a function of the module, so that it can be sent to a worker."""
    return task.run()


def examine(source: PlainTable, target: Table, executor: Executor) -> list[CommitMessage]:
    """What is to be committed for the files of a plain table, in their order; nothing is changed.

    Raises:
        InvalidInputError: a file cannot be read as the columns say, or a partition's value is none.
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
    metas = executor.map(run_examine, tasks)
    return [CommitMessage(t.partition, 0, -1, new_files=(m,)) for t, m in zip(tasks, metas, strict=True)]


def take_over(
    source: PlainTable,
    target: Table,
    messages: Sequence[CommitMessage],
    executor: Executor,
    *,
    keep: bool,
    threads: int,
) -> Snapshot | None:
    """Bring the files in and commit them; the snapshot made, None without any file.

    Args:
        source: the plain table.
        target: the table that gets its files.
        messages: what `examine` told.
        executor: runs the tasks where files are copied.
        keep: whether the source keeps its files, so that they are copied.
        threads: how many files are moved at once.
    """
    pairs = [
        (file.path, f"{target.locations.bucket(m.partition, m.bucket)}/{m.new_files[0].file_name}")
        for file, m in zip(source.files, messages, strict=True)
    ]
    if not pairs:
        return None
    moves = not keep and _stand_together(pairs)
    changes = append_changes(messages)
    with Transaction(target) as transaction:
        if moves:
            # The files are the source's until they are committed: they are put back, and never deleted.
            _move(target, pairs, threads, transaction.user)
        else:
            transaction.staged.add_paths(copy for _, copy in pairs)
            _copy(source, target, pairs, executor)
        try:
            made = transaction.commit(CommitKind.APPEND, lambda latest: changes)
        except BaseException:
            if moves and transaction.outcome is Outcome.OPEN:
                _move_back(target)
            raise
    if moves:
        target.file_io.delete(_journal(target))
    elif not keep:
        source.file_io.delete_many(origin for origin, _ in pairs)
    after_commit(target, [made])
    return made


def put_back(target: Table, sources: Sequence[str] | None = None) -> int:
    """Undo a migration that ended before its commit: how many files went back to where they were.

    Args:
        target: the table that was to get the files.
        sources: the directories that they came from; None for any.

    Raises:
        PaimonError: a file cannot go back, or nobody can tell whether the commit was made; the journal stays.
        UnsafePathError: the journal names other files than such a migration moves; nothing was moved.
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
        left = [copy for _, copy in journal.moved if target.file_io.exists(copy)]
        if left:
            raise InvalidInputError(
                f"{target.name}: {len(left)} files of a migration that was given up cannot go back, {left[0]} among"
                " them: others stand in their places.",
                remedy=f"{path} names their old places.",
            )
    target.file_io.delete(path)
    return done


@dataclass(frozen=True)
class _Journal:
    """What a migration is about to move, who is going to commit it, and the newest snapshot before."""

    moved: list[tuple[str, str]]
    commit_user: str
    before: int


def _was_committed(target: Table, journal: _Journal) -> bool:
    if any(s.commit_user == journal.commit_user for s in target.snapshots.all()):
        return True
    earliest = target.snapshots.earliest_id()
    if earliest is not None and earliest > journal.before + 1:
        raise InvalidInputError(
            f"{target.name}: whether a migration that was interrupted was committed cannot be told any more, as"
            f" snapshots from {journal.before + 1} on have expired.",
            remedy=f"{_journal(target)} names its files and their old places: move them back or delete the journal.",
        )
    return False


def _move(target: Table, pairs: Sequence[tuple[str, str]], threads: int, commit_user: str) -> None:
    """Move files; on an error they are back in their places."""
    journal = _Journal(list(pairs), commit_user, target.snapshots.latest_id() or 0)
    target.file_io.write_durably(_journal(target), json.dumps(asdict(journal)).encode())
    try:
        moved = _rename_all(target.file_io, pairs, threads)
        if moved < len(pairs):
            raise InvalidInputError(
                f"{len(pairs) - moved} of {len(pairs)} files went while they were moved into {target.name}.",
                remedy="Stop the writers of the source and migrate it again.",
            )
    except BaseException:
        _move_back(target)
        raise


def _move_back(target: Table) -> None:
    target.snapshots.forget()
    put_back(target)


def _stand_together(pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether files can be moved: both places are of one file system."""
    places = {(scheme_of(path), without_scheme(path)[0]) for pair in pairs for path in pair}
    return len(places) == 1


def _rename_all(file_io: FileIO, pairs: Iterable[tuple[str, str]], threads: int) -> int:
    """Move the files that stand at their old places: how many did."""

    def one(pair: tuple[str, str]) -> int:
        return int(file_io.exists(pair[0]) and file_io.rename(*pair))

    return sum(spread(one, list(pairs), threads))


def _copy(source: PlainTable, target: Table, pairs: Sequence[tuple[str, str]], executor: Executor) -> None:
    sizes = [file.size for file in source.files]
    tasks = [CopyTask(source.file_io, target.file_io, (pair,), size) for pair, size in zip(pairs, sizes, strict=True)]
    for _ in executor.map(run_copy, tasks):
        pass


def _check_moved(file: str, directories: Sequence[str] | None, journal: str) -> None:
    """Nothing if a path of a journal leads straight to something below one of some directories."""
    if not is_straight_path(file):
        raise unsafe_path(file, "a file", journal)
    if directories is not None and not any(is_under(file, directory) for directory in directories):
        raise UnsafePathError(f"it names {file}, and files were moved from {', '.join(directories)}", path=journal)


def _journal(target: Table) -> str:
    return f"{target.path}/{_JOURNAL}"
