"""A table as it stands on disk: its place, its schema under today's options, and what manages its metadata files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.layout.paths import MAIN_BRANCH, TablePaths, beside, data_file
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.data_file import DATA_FILE_PATH_DIRECTORY
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.external.policy import NO_ACCESS, ExternalAccess
from paimon_sql.storage.metadata.environment.locks import UNLOCKED, TableLock
from paimon_sql.storage.metadata.environment.maintenance_log import MaintenanceLog
from paimon_sql.storage.metadata.environment.partition_registry import PartitionRegistry
from paimon_sql.storage.metadata.environment.query_auth import QueryAuth
from paimon_sql.storage.metadata.environment.snapshot_authority import VersionManagement
from paimon_sql.storage.metadata.manifests import ManifestStore
from paimon_sql.storage.metadata.refs.branches import BranchManager
from paimon_sql.storage.metadata.refs.consumers import ConsumerManager
from paimon_sql.storage.metadata.refs.tags import TagManager
from paimon_sql.storage.metadata.schemas import SchemaManager
from paimon_sql.storage.metadata.snapshots import SnapshotManager


class Locations:
    """Where the files of each bucket of a table stand; a partition's path is worked out once."""

    def __init__(self, paths: TablePaths, schema: TableSchema) -> None:
        self.paths = paths
        self._partitions = PartitionPaths.of(schema)
        self._known: dict[bytes, str] = {}

    def partition(self, partition: bytes) -> str:
        """The partition's path below the table, such as ``dt=x/h=1``; empty without partitions.

        Args:
            partition: the serialised partition row.
        """
        if partition not in self._known:
            self._known[partition] = self._partitions.path(partition)
        return self._known[partition]

    def bucket(self, partition: bytes, bucket: int) -> str:
        """A bucket's folder."""
        return self.paths.bucket(self.partition(partition), bucket)

    def data_file(self, partition: bytes, bucket: int, file: DataFileMeta) -> str:
        """A data file's path."""
        return data_file(self.bucket(partition, bucket), file.file_name, file.external_path)

    def files_of(self, partition: bytes, bucket: int, file: DataFileMeta) -> list[str]:
        """The paths of a data file and of the extra files that belong to it."""
        return [self.data_file(partition, bucket, file), *self.extra_files_of(partition, bucket, file)]

    def extra_files_of(self, partition: bytes, bucket: int, file: DataFileMeta) -> list[str]:
        """The paths of the extra files that belong to a data file, such as its indexes."""
        folder = self.bucket(partition, bucket)
        return [beside(folder, name, file.external_path) for name in file.extra_files]


@dataclass(frozen=True)
class Table:
    """A table or one of its branches, opened at the newest schema.

    An instance belongs to one statement: it remembers what it read. Pickled, it takes along the versions of its schema,
    which never change, and nothing else.

    Attributes:
        name: the full name, for messages.
        path: the table's folder; data files of all branches stand in it.
        file_io: the file system that holds it.
        schema: the schema with dynamic options put over the stored ones.
        branch: the branch, ``main`` for the table itself.
        read_optimized: whether reads of a keyed table see its deepest level only, so that they need not merge.
        forgiving: whether a query passes over data files as ``scan.ignore-lost-files`` and
            ``scan.ignore-corrupt-files`` say; who writes never does, or would make the loss last.
        run_log: where its catalog records what is done for its maintenance; None where it is recorded nowhere.
        lock: what its catalog keeps other writers away with while a snapshot or a schema version is made.
        listing: the list of its partitions that its catalog keeps for other engines; None where it keeps none.
        authority: who keeps its versions in the place of its folder; None where the files decide.
        access: what its catalog allows its data and options to name outside of it.
        executor: who reads its manifests where they hold very much; None where the process does so by itself.
        guard: who says which of its rows and values are shown; None where all are.
    """

    name: str
    path: str
    file_io: FileIO
    schema: TableSchema
    branch: str = MAIN_BRANCH
    read_optimized: bool = False
    forgiving: bool = False
    run_log: MaintenanceLog | None = None
    lock: TableLock = UNLOCKED
    listing: PartitionRegistry | None = None
    authority: VersionManagement | None = None
    access: ExternalAccess = NO_ACCESS
    executor: Executor | None = field(default=None, compare=False, repr=False)
    guard: QueryAuth | None = None

    def __getstate__(self) -> dict[str, object]:
        taken = {*(f.name for f in fields(self)), "schemas"} - {"executor"}
        return {name: value for name, value in vars(self).items() if name in taken}

    @cached_property
    def options(self) -> TableOptions:
        """The options, read by their declarations."""
        return TableOptions(self.schema.options)

    @cached_property
    def paths(self) -> TablePaths:
        """Where the table's files stand."""
        return TablePaths(self.path, self.branch, self.schema.options.get(DATA_FILE_PATH_DIRECTORY.key))

    @cached_property
    def schemas(self) -> SchemaManager:
        """The schema versions."""
        return SchemaManager(self.file_io, self.paths.branch_root, self.lock, self.branch)

    @cached_property
    def snapshots(self) -> SnapshotManager:
        """The snapshots."""
        return SnapshotManager(self.file_io, self.paths.branch_root, self.authority, self.branch)

    @cached_property
    def tags(self) -> TagManager:
        """The tags."""
        return TagManager(self.file_io, self.paths.branch_root, self.lock, self.branch)

    @cached_property
    def branches(self) -> BranchManager:
        """The branches of the table, the one opened here among them."""
        return BranchManager(self.file_io, self.paths, self.authority)

    @cached_property
    def consumers(self) -> ConsumerManager:
        """The consumers."""
        return ConsumerManager(self.file_io, self.paths.branch_root)

    @cached_property
    def locations(self) -> Locations:
        """Where the files of each bucket stand."""
        return Locations(self.paths, self.schema)

    @cached_property
    def manifests(self) -> ManifestStore:
        """The manifests."""
        return ManifestStore(self.file_io, self.paths, self.schema, self.access)

    @cached_property
    def birth(self) -> int | None:
        """When the branch got the schema that it was opened with, in milliseconds since the epoch; None for ``main``.

        Branches take their schemas over with the times of these, so nothing else tells a branch from another one that
        gets its name later. What is remembered is what was asked first.
        """
        if self.branch == MAIN_BRANCH or self.authority is not None:
            return None
        status = self.file_io.status(self.schemas.directory.path(self.schema.id))
        return None if status is None else status.mtime_millis

    def at_schema(self, schema_id: int) -> Table:
        """The same table with the columns of another schema version, under today's options."""
        if schema_id == self.schema.id:
            return self
        return replace(self, schema=replace(self.schemas.get(schema_id), options=self.schema.options))

    def with_options(self, changes: Mapping[str, str]) -> Table:
        """The same table under dynamic options, which hold for one statement and are not stored."""
        return replace(self, schema=self.schema.with_options(changes)) if changes else self
