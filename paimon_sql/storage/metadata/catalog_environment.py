"""What a catalog gives its tables: locks, version management, a maintenance log (Paimon: `CatalogEnvironment`)."""

from __future__ import annotations

import json
import logging
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import TypedDict

from paimon_sql.errors import CatalogUnavailableError, PaimonError
from paimon_sql.format.bytes.bounded import load_json
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.types import TypeJson
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.file_io import FileIO, FileStatus


class HeldLock(ABC):
    """An acquired lock; it can be lost while it is held, because locks expire.

    Attributes:
        is_locked: whether there is a lock at all; without one the file system creates files exclusively.
    """

    is_locked: bool = True

    @abstractmethod
    def confirm(self) -> None:
        """Check that the lock is still held, and renew it if the catalog can.

        Must be called immediately before a write that only the lock protects: a holder that was paused longer than the
        lock's timeout must not overwrite files of the next holder.

        Raises:
            CommitConflictError: the lock expired and was taken by another holder.
            CatalogUnavailableError: the catalog does not answer.
        """


class TableLock(ABC):
    """A lock against other writers of a table; an instance can be pickled."""

    @abstractmethod
    def acquire(self, branch: str) -> AbstractContextManager[HeldLock]:
        """Hold the lock of a branch; it is not reentrant.

        Raises:
            CommitConflictError: it could not be acquired in time; nothing was changed.
        """


@dataclass(frozen=True)
class Unlocked(TableLock, HeldLock):
    """No lock: the file system creates files exclusively."""

    is_locked = False

    def acquire(self, branch: str) -> AbstractContextManager[HeldLock]:
        return nullcontext(self)

    def confirm(self) -> None:
        return


UNLOCKED = Unlocked()


@dataclass(frozen=True)
class PartitionChange:
    """The change of a partition by one commit.

    Attributes:
        values: the partition spec, with values as strings.
        rows: rows of added files minus those of deleted files.
        size: bytes, likewise.
        files: number of files, likewise.
        last_file_millis: creation time of the newest of these files, in milliseconds since the epoch.
        buckets: number of buckets of the partition.
    """

    values: Mapping[str, str]
    rows: int
    size: int
    files: int
    last_file_millis: int
    buckets: int


class VersionManagement(ABC):
    """A table's versions, where its files alone do not determine them; an instance can be pickled.

    Snapshot and schema files are in the table's directory as usual, and old ones are read there.
    """

    @abstractmethod
    def latest(self, branch: str) -> Snapshot | None:
        """Return the latest snapshot of a branch; None for an empty one."""

    @abstractmethod
    def get(self, branch: str, snapshot_id: int) -> Snapshot | None:
        """Return the snapshot of the id; None if there is none."""

    @abstractmethod
    def commit(
        self, branch: str, snapshot: Snapshot, base: Snapshot | None, partitions: Sequence[PartitionChange]
    ) -> bool:
        """Make a snapshot the latest one of a branch: False if the latest is not its base.

        Args:
            branch: the branch.
            snapshot: the snapshot.
            base: the snapshot it was built on, None for the first one.
            partitions: its changes of partitions.

        Raises:
            AnswerLostError: it may have been committed.
            PaimonError: it was refused, and nothing was changed.
        """

    @abstractmethod
    def roll_back(self, branch: str, latest_id: int, *, snapshot_id: int | None = None, tag: str | None = None) -> None:
        """Drop the snapshots after a snapshot or a tag's snapshot, if ``latest_id`` is still the latest."""

    @abstractmethod
    def create_branch(self, branch: str, name: str, tag: str | None) -> None:
        """Create a branch of another, with only its schema or from a tag; AlreadyExistsError if it exists."""

    @abstractmethod
    def delete_branch(self, name: str) -> None:
        """Delete a branch."""

    @abstractmethod
    def rename_branch(self, name: str, target: str) -> None:
        """Rename a branch."""

    @abstractmethod
    def fast_forward(self, name: str) -> None:
        """Fast-forward ``main`` to a branch."""

    @abstractmethod
    def mark_done(self, branch: str, partition: Mapping[str, str]) -> None:
        """Mark a partition as done, by its partition spec with values as strings."""


_DONE = ".done"


def as_done(partition: Mapping[str, str]) -> dict[str, str]:
    """Return the partition whose registration marks another one as done."""
    last = [*partition][-1]
    return {**partition, last: partition[last] + _DONE}


class PartitionRegistry(ABC):
    """A metastore's list of the partitions of one table; an instance can be pickled.

    A partition spec maps each partition column, in order, to its value as a string.
    """

    @abstractmethod
    def add(self, partitions: Sequence[Mapping[str, str]]) -> None:
        """Register partitions; existing ones are not changed."""

    @abstractmethod
    def drop(self, partitions: Sequence[Mapping[str, str]]) -> None:
        """Deregister partitions; missing ones are ignored."""

    @abstractmethod
    def all(self) -> list[tuple[str, ...]]:
        """Return the values of all registered partitions."""

    @abstractmethod
    def mark_done(self, partition: Mapping[str, str]) -> None:
        """Mark a registered partition as done."""


class FieldRef(TypedDict):
    """A reference to a column, as JSON."""

    index: int
    name: str
    type: TypeJson


class Node(TypedDict, total=False):
    """A predicate or a value transformation, as JSON: the members of all kinds."""

    kind: str
    function: str
    children: list[Node] | None
    literals: list[object] | None
    transform: Node
    name: str
    fieldRef: FieldRef
    type: TypeJson
    inputs: list[FieldRef | str | None] | None


@dataclass(frozen=True)
class QueryAuthResult:
    """The rows and values that a reader may see.

    Attributes:
        filters: predicates; a row is visible if all are true.
        masks: by column, the expression that replaces its values.
    """

    filters: tuple[Node, ...] = ()
    masks: Mapping[str, Node] | None = None

    @staticmethod
    def read(filters: Sequence[str], masks: Mapping[str, str]) -> QueryAuthResult:
        """Parse a server's response.

        Raises:
            CatalogUnavailableError: it is not JSON.
        """
        try:
            parsed_masks = {column: json.loads(text) for column, text in masks.items() if text}
            return QueryAuthResult(tuple(json.loads(text) for text in filters if text), parsed_masks)
        except ValueError as error:
            raise CatalogUnavailableError(
                f"The catalog's server returned an invalid query authorization: {error}"
            ) from None


class QueryAuth(ABC):
    """The authorization of queries on one table; an instance can be pickled."""

    @abstractmethod
    def authorize(self, columns: Sequence[str]) -> QueryAuthResult:
        """Return the current user's authorization for some columns.

        Raises:
            NotAllowedError: nothing is authorized.
        """


_LOG = logging.getLogger(__name__)
_SUFFIX = ".json"
_PRUNE_INTERVAL = 8
"""Average number of runs between two prunings."""

_READERS = 16


@dataclass(frozen=True)
class MaintenanceRun:
    """One maintenance run.

    Attributes:
        started_millis: start time, in milliseconds since the epoch.
        catalog: the catalog's name.
        procedure: the procedure; for maintenance after a commit the equivalent one.
        trigger: ``call``, or ``commit`` for automatic maintenance after a commit.
        database: the table's database, None for several.
        table: the table with its branch, None for several.
        arguments: the given arguments, as strings.
        dry_run: whether it was a dry run.
        snapshot_before: the table's latest snapshot before the run.
        snapshot_after: the latest one after it.
        counts: numbers of the result, by column name.
        seconds: duration.
        note: other information of the result.
        error: the error message; None on success.
    """

    started_millis: int
    catalog: str
    procedure: str
    trigger: str
    database: str | None = None
    table: str | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    dry_run: bool = False
    snapshot_before: int | None = None
    snapshot_after: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    note: str | None = None
    error: str | None = None

    def to_json(self) -> str:
        """Return the content of the record's file."""
        return json.dumps(asdict(self), ensure_ascii=False)


def parse_run(text: bytes) -> MaintenanceRun | None:
    """Parse a record's file; None for an invalid one. Unknown fields of later versions are ignored."""
    try:
        body = load_json(text)
        return MaintenanceRun(**{k: v for k, v in body.items() if k in MaintenanceRun.__dataclass_fields__})
    except (ValueError, TypeError, AttributeError):
        return None


@dataclass(frozen=True)
class MaintenanceLog:
    """The records of a catalog: one small file per run, written after the run, beside the databases.

    No read or write of a table depends on it: a run never fails because of its record, and old records are deleted
    automatically (decision 8).

    Attributes:
        file_io: the file system of the records.
        folder: their directory.
        catalog: the catalog's name.
        retained: maximum number of records of calls, and of commits, exceeded slightly between prunings; 0 disables the
            log.
    """

    file_io: FileIO
    folder: str
    catalog: str
    retained: int

    def add(self, run: MaintenanceRun) -> None:
        """Write a record; an error is only logged."""
        if self.retained < 1:
            return
        key = uuid.uuid4()
        try:
            path = f"{self.folder}/{run.trigger}-{run.started_millis:015d}-{key.hex[:12]}{_SUFFIX}"
            self.file_io.write_bytes(path, run.to_json().encode())
            if key.int % _PRUNE_INTERVAL == 0:
                self.prune()
        except (PaimonError, OSError) as error:
            _LOG.warning("%s: the record of %s could not be stored: %s", self.catalog, run.procedure, error)

    def prune(self) -> None:
        """Delete the oldest records of calls, and of commits, beyond the maximum."""
        for _, records in groupby(self._files(), lambda record: record.name.partition("-")[0]):
            self.file_io.delete_many([record.path for record in records][: -self.retained])

    def runs(self) -> list[MaintenanceRun]:
        """Return all records, oldest first; concurrently deleted and unreadable ones are skipped."""
        found = map_in_threads(self._read, [record.path for record in self._files()], _READERS)
        return sorted((run for run in found if run is not None), key=lambda run: run.started_millis)

    def _files(self) -> list[FileStatus]:
        """Return the files of the records, per trigger from oldest to newest."""
        return [s for s in self.file_io.list(self.folder) if s.name.endswith(_SUFFIX)]

    def _read(self, path: str) -> MaintenanceRun | None:
        text = self.file_io.read_if_exists(path)
        return None if text is None else parse_run(text)
