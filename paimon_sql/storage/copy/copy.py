"""Copies of tables: data and index files of the latest snapshot, under new names, in one snapshot of another table.

The files keep their levels, keys, statistics and row ids: nothing is read or merged. On an error before the commit the
copies are deleted.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from paimon_sql.errors import CommitConflictError, InvalidInputError, MissingFileError, UnsupportedError
from paimon_sql.format.layout.paths import extra_file
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.index_manifest import IndexFileMeta, IndexManifestEntry, source_snapshot, written_source
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import CommitKind, Operation, Snapshot
from paimon_sql.format.options.table.bucket import BUCKET, BUCKET_FUNCTION_TYPE
from paimon_sql.format.options.table.index import DELETION_VECTORS_ENABLED
from paimon_sql.format.options.table.merge_engine import MERGE_ENGINE, SEQUENCE_FIELD
from paimon_sql.format.options.table.row_tracking import DATA_EVOLUTION_ENABLED, ROW_TRACKING_ENABLED
from paimon_sql.format.options.table.table import BRANCH, PATH
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.branches.selection import NAMING_OPTIONS
from paimon_sql.storage.commit.snapshot.manifests import indexes_of_partitions
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.data_files.file_groups import groups_of_files
from paimon_sql.storage.data_files.live_files import filter_partitions, grouped, live_files
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.paths import temporary_sibling
from paimon_sql.storage.materialized.definition import is_materialized, shown_options
from paimon_sql.storage.merge.sequence import is_ordered_by_snapshots
from paimon_sql.storage.metadata.schemas import descends
from paimon_sql.storage.operations.operations import after_commit
from paimon_sql.storage.scan.split import pack
from paimon_sql.storage.staging.commit_messages import Changes
from paimon_sql.storage.staging.proposal import Overwrite, overwritten
from paimon_sql.storage.table.index_files import index_entries, index_path
from paimon_sql.storage.table.table import Table

_CHUNK = 8 * 1024 * 1024
_PART_BYTES = 128 * 1024 * 1024
_PART_FILES = 256
"""The max bytes and files of one task."""

_ATTEMPTS = 3

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MUST_BE_EQUAL = (
    BUCKET,
    BUCKET_FUNCTION_TYPE,
    MERGE_ENGINE,
    SEQUENCE_FIELD,
    DELETION_VECTORS_ENABLED,
    ROW_TRACKING_ENABLED,
    DATA_EVOLUTION_ENABLED,
)
"""Options that define the meaning of files: they must be equal in source and target."""


@dataclass(frozen=True)
class CopyTask:
    """Copies files one to one; ``size`` is their bytes.

    An engine may run a task twice, also concurrently: a copy gets its name when it is complete, and a run deletes only
    its own unfinished copy.
    """

    source: FileIO
    target: FileIO
    paths: tuple[tuple[str, str], ...]
    size: int

    def run(self) -> None:
        """Copy the files; on an error the complete copies remain, and the caller must delete them."""
        for origin, copy in self.paths:
            if self.target.is_object_store(copy):  # files appear when they are complete
                self._copy(origin, copy)
                continue
            part = temporary_sibling(copy)
            try:
                self._copy(origin, part)
                if self.target.rename(part, copy):
                    continue
            except BaseException:
                self.target.delete(part)
                raise
            self.target.delete(part)  # a concurrent run was first

    def _copy(self, origin: str, copy: str) -> None:
        with self.source.open_input(origin) as reader, self.target.open_output(copy) as writer:
            while chunk := reader.read(_CHUNK):
                writer.write(chunk)


@dataclass(frozen=True)
class CopyPlan:
    """The files to copy.

    Attributes:
        source: the table.
        definition: its schema, as of the snapshot.
        snapshot: the snapshot to copy; None for a table without snapshots.
        files: the entries of the data files.
        indexes: the entries of the index files.
    """

    source: Table
    definition: TableSchema
    snapshot: Snapshot | None
    files: list[ManifestEntry] = field(default_factory=list)
    indexes: list[IndexManifestEntry] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        """The size of all files that the metadata records."""
        return sum(e.file.file_size for e in self.files) + sum(e.file.file_size for e in self.indexes)

    @property
    def partitions(self) -> int:
        """The number of partitions."""
        return len({e.partition for e in self.files})


def plan_copy(source: Table, partitions: Predicate | None = None) -> CopyPlan:
    """Plan the copy of a table's latest snapshot.

    Args:
        source: the table or branch.
        partitions: a condition on partition columns; None for all.

    Raises:
        UnsupportedError: the files depend on the ids of the table's snapshots.
    """
    if is_ordered_by_snapshots(source.schema):
        raise UnsupportedError(
            f"The rows of {source.name} are ordered by its snapshots, which differ in a copy.",
            remedy="Use CREATE TABLE .. AS SELECT, or INSERT INTO another table .. SELECT.",
        )
    latest, definition = _newest(source)
    files = entries(filter_partitions(source, live_files(source, latest).entries, partitions))
    chosen = {e.partition for e in files}
    indexes = [e for e in index_entries(source, latest) if partitions is None or e.partition in chosen]
    return CopyPlan(source, definition, latest, files, indexes)


def _newest(source: Table) -> tuple[Snapshot | None, TableSchema]:
    """The latest snapshot and its schema; read again if a concurrent REPLACE TABLE came between the two reads."""
    for _ in range(_ATTEMPTS):
        latest = source.snapshots.latest()
        definition = source.schemas.latest() or source.schema
        if latest is None or descends(definition, source.schemas.get(latest.schema_id)):
            break
    return latest, definition


def schemas_of_copy(plan: CopyPlan) -> list[TableSchema]:
    """The schemas that a new table needs: those of the files, the latest last.

    Their ids start from 0. They have the current options, without those that name a path or a branch; the copy of a
    materialized table is an ordinary table.
    """
    source, newest = plan.source, plan.definition
    excluded = {PATH.key, BRANCH.key, *(option.key for option in NAMING_OPTIONS)}
    source_options = shown_options(newest) if is_materialized(newest) else newest.options
    options = {k: v for k, v in source_options.items() if k not in excluded}
    used = sorted({e.file.schema_id for e in plan.files})
    older = [s for s in (source.schemas.get(i) for i in used) if s.fields != newest.fields]
    return [replace(s, id=n, options=options, comment=newest.comment) for n, s in enumerate([*older, newest])]


def check_target(plan: CopyPlan, target: Table) -> None:
    """Refuse an existing table that cannot contain the files unchanged.

    Raises:
        InvalidInputError: the target is the source, or keys, buckets, columns or the meaning of files differ.
    """
    source, names = plan.source, f"{plan.source.name} and {target.name}"
    if (source.path, source.branch) == (target.path, target.branch):
        raise InvalidInputError(f"{source.name} cannot be copied into itself.")
    one, other = source.schema, target.schema
    differ = [what for what, a, b in (
        ("primary keys", one.primary_keys, other.primary_keys),
        ("partition columns", one.partition_keys, other.partition_keys),
        ("bucket keys", one.bucket_keys, other.bucket_keys),
        *((f"'{o.key}'", source.options.get(o), target.options.get(o)) for o in _MUST_BE_EQUAL),
    ) if a != b]  # fmt: skip
    if differ:
        raise InvalidInputError(
            f"The {' and '.join(differ)} of {names} differ.",
            remedy="Copy into a table that does not exist, or use INSERT INTO .. SELECT.",
        )
    if source.options.get(ROW_TRACKING_ENABLED) and target.snapshots.latest_id() is not None:
        raise InvalidInputError(
            f"{target.name} has its own row ids, so the rows of {source.name} cannot keep theirs.",
            remedy="Copy into a table that does not exist.",
        )
    _schema_ids(plan, target)


def copy_files(plan: CopyPlan, target: Table, executor: Executor) -> Snapshot | None:
    """Copy the files and commit them as an overwrite of their partitions in the target.

    Args:
        plan: the files to copy.
        target: the table that gets them.
        executor: runs the tasks.

    Returns:
        The snapshot; None if there was nothing to copy and nothing to replace.

    Raises:
        CommitConflictError: files of the source were deleted while they were copied; nothing was changed.
    """
    names, ids = _Names(), _schema_ids(plan, target)
    number = (target.snapshots.latest_id() or 0) + 1
    numbered = _renumbered(plan, number)
    files = [(e, replace(e, kind=FileKind.ADD, file=_renamed(f, names, ids))) for e, f in numbered]
    indexes = [(e, replace(e, kind=FileKind.ADD, file=_renamed_index(e.file, names, number))) for e in plan.indexes]
    pairs = [*_data_paths(plan.source, target, files)]
    pairs += [(index_path(plan.source, old), index_path(target, new), old.file.file_size) for old, new in indexes]
    with Transaction(target, Operation.OVERWRITE) as transaction:
        transaction.staged.add_paths(copy for _, copy, _ in pairs)
        _copy(plan, target, pairs, executor)
        added = Changes([new for _, new in files], [], [new for _, new in indexes])
        snapshot = _commit(plan, transaction, added)
    if snapshot is not None:
        after_commit(target, [snapshot])
    return snapshot


def _copy(plan: CopyPlan, target: Table, pairs: Sequence[tuple[str, str, int]], executor: Executor) -> None:
    tasks = [
        CopyTask(plan.source.file_io, target.file_io, tuple(pair[:2] for pair in part), sum(pair[2] for pair in part))
        for part in pack(pairs, lambda pair: pair[2], _PART_BYTES, _PART_BYTES // _PART_FILES)
    ]
    try:
        list(executor.run(tasks))
    except MissingFileError as error:
        raise CommitConflictError(
            f"{plan.source.name}: files of the snapshot were deleted while they were copied: {error}",
            remedy="Keep the snapshot with a tag and copy again, or repair the table.",
        ) from error


def _commit(plan: CopyPlan, transaction: Transaction, added: Changes) -> Snapshot | None:
    target = transaction.table
    partitions = frozenset(e.partition for e in added.entries)
    next_row_id = plan.snapshot.next_row_id if plan.snapshot is not None else None

    def changes(latest: Snapshot | None) -> Changes:
        current = overwritten(target, latest, Overwrite(), [])
        replaced = [e for e in current if not target.schema.partition_keys or e.partition in partitions]
        indexes = indexes_of_partitions(target, latest, frozenset(e.partition for e in replaced))
        return Changes([*replaced, *added.entries], [], [*indexes, *added.indexes], taken_row_ids=next_row_id or 0)

    return transaction.commit_unless_empty(CommitKind.OVERWRITE, changes)


class _Names:
    """New file names: each writer's UUID is replaced by the same new one, so that the names keep their order."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._run = str(uuid.uuid4())

    def of(self, name: str) -> str:
        """The name of a file's copy."""
        renamed, count = _UUID.subn(lambda m: self._ids.setdefault(m[0], str(uuid.uuid4())), name)
        return renamed if count else f"{self._run}-{name}"


def _renumbered(plan: CopyPlan, snapshot_id: int) -> list[tuple[ManifestEntry, DataFileMeta]]:
    """The files; with data evolution, under sequence numbers that are valid in the new snapshot.

    With data evolution the sequence number of a file is the id of its snapshot, and the file with the highest number is
    the newest of those with the same rows: with the numbers of the source, later changes of the copy could look older.
    0 is for files without a number.
    """
    files = [e.file for e in plan.files]
    if not plan.source.layout.groups_files:
        return list(zip(plan.files, files, strict=True))
    found = dict.fromkeys(range(len(files)), snapshot_id)
    for same in grouped(zip(groups_of_files(files), range(len(files)), strict=True)).values():
        newest_first = sorted({files[i].max_sequence_number for i in same}, reverse=True)
        for i in same:
            number = snapshot_id - newest_first.index(files[i].max_sequence_number)
            found[i] = number if number > 0 else number - 1
    pairs = zip(plan.files, found.values(), strict=True)
    return [(e, replace(e.file, min_sequence_number=n, max_sequence_number=n)) for e, n in pairs]


def _renamed(file: DataFileMeta, names: _Names, ids: Mapping[int, int]) -> DataFileMeta:
    return replace(
        file,
        file_name=names.of(file.file_name),
        extra_files=tuple(names.of(name) for name in file.extra_files),
        external_path=None,
        schema_id=ids[file.schema_id],
    )


def _renamed_index(file: IndexFileMeta, names: _Names, snapshot_id: int) -> IndexFileMeta:
    vectors = file.deletion_vectors
    if vectors is not None:
        vectors = tuple(replace(v, data_file_name=names.of(v.data_file_name)) for v in vectors)
    index = file.global_index
    if index is not None and source_snapshot(index.source_meta) is not None:
        # Sequence numbers of later changes in the copy are its snapshot ids; the index must be older than these.
        index = replace(index, source_meta=written_source(snapshot_id))
    return replace(
        file, file_name=names.of(file.file_name), external_path=None, deletion_vectors=vectors, global_index=index
    )


def _data_paths(
    source: Table, target: Table, files: Sequence[tuple[ManifestEntry, ManifestEntry]]
) -> list[tuple[str, str, int]]:
    """Origin, copy and size of each data file and of its extra files, whose sizes are not recorded (0)."""
    pairs = []
    for old, new in files:
        origin = source.locations.data_file(old.partition, old.bucket, old.file)
        directory = target.locations.bucket(new.partition, new.bucket)
        pairs.append((origin, f"{directory}/{new.file.file_name}", old.file.file_size))
        origins = source.locations.bucket(old.partition, old.bucket)
        for name, copy in zip(old.file.extra_files, new.file.extra_files, strict=True):
            pairs.append((extra_file(origins, name, old.file.external_path), f"{directory}/{copy}", 0))
    return pairs


def _schema_ids(plan: CopyPlan, target: Table) -> dict[int, int]:
    """Map the schema id of each file to the target's latest schema with the same columns."""
    theirs = {s.id: s for s in target.schemas.all()}
    newest = plan.definition
    found = {}
    for number in sorted({newest.id, *(e.file.schema_id for e in plan.files)}):
        fields = plan.source.schemas.get(number).fields
        same = [i for i, schema in theirs.items() if schema.fields == fields]
        if not same:
            raise InvalidInputError(
                f"{target.name} has no schema with the columns of schema {number} of {plan.source.name}, which files"
                " were written under.",
                remedy="Copy into a table that does not exist, or use INSERT INTO .. SELECT.",
            )
        found[number] = max(same)
    return found
