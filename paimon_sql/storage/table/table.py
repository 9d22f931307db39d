"""Tables on disk: path, schema with the current options, and the managers of the metadata files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.layout.paths import MAIN_BRANCH, TablePaths, data_file, extra_file
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.data_file import DATA_FILE_PATH_DIRECTORY
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.execution.metrics import MetricKey
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.external.locations import NO_ACCESS, ExternalAccess
from paimon_sql.storage.metadata.catalog_environment import (
    UNLOCKED,
    MaintenanceLog,
    PartitionRegistry,
    QueryAuth,
    TableLock,
    VersionManagement,
)
from paimon_sql.storage.metadata.manifests import ManifestStore
from paimon_sql.storage.metadata.refs.branches import BranchManager
from paimon_sql.storage.metadata.refs.consumers import ConsumerManager
from paimon_sql.storage.metadata.refs.tags import TagManager
from paimon_sql.storage.metadata.schemas import SchemaManager
from paimon_sql.storage.metadata.snapshots import ChangelogManager, SnapshotManager
from paimon_sql.storage.table.layout import TableLayout, choose_layout


class Locations:
    """Paths of the files of each bucket; a partition's path is computed once."""

    def __init__(self, paths: TablePaths, schema: TableSchema) -> None:
        self.paths = paths
        self._partitions = PartitionPaths.of(schema)
        self._known: dict[bytes, str] = {}

    def partition(self, partition: bytes) -> str:
        """Return the partition's path below the table, such as ``dt=x/h=1``; empty without partitions.

        Args:
            partition: the serialized partition row.
        """
        if partition not in self._known:
            self._known[partition] = self._partitions.path(partition)
        return self._known[partition]

    def bucket(self, partition: bytes, bucket: int) -> str:
        """Return a bucket's directory."""
        return self.paths.bucket(self.partition(partition), bucket)

    def data_file(self, partition: bytes, bucket: int, file: DataFileMeta) -> str:
        """Return a data file's path."""
        return data_file(self.bucket(partition, bucket), file.file_name, file.external_path)

    def files_of(self, partition: bytes, bucket: int, file: DataFileMeta) -> list[str]:
        """Return the paths of a data file and of its extra files, such as its file indexes."""
        directory = self.bucket(partition, bucket)
        extras = [extra_file(directory, name, file.external_path) for name in file.extra_files]
        return [self.data_file(partition, bucket, file), *extras]


@dataclass(frozen=True)
class Table:
    """A table or one of its branches, opened at the current schema.

    An instance belongs to one statement: it reads each schema, and its creation time, once. Snapshots, tags and
    branches are read at every use. Pickling preserves the schemas.

    Attributes:
        name: the full name, for messages.
        path: the table's directory, with the data files of all branches.
        file_io: the file system of the table.
        schema: the stored schema, with dynamic options applied.
        branch: the branch, ``main`` for the table itself.
        read_optimized: whether reads of a primary-key table see only its max level, so that they need no merging.
        ignores_unreadable: whether a query skips data files by ``scan.ignore-lost-files`` and
            ``scan.ignore-corrupt-files``; a writer never does, because the loss would become permanent.
        run_log: its catalog's maintenance log; None without one.
        lock: its catalog's lock for creating snapshots and schemas.
        partition_registry: its catalog's partition registry for other engines; None without one.
        version_management: the server that manages its versions; None if its files determine them.
        access: its catalog's policy for locations outside of it.
        executor: reads very large manifests; None reads them in the process.
        query_auth: the authorization of queries; None if all rows and values are visible.
    """

    name: str
    path: str
    file_io: FileIO
    schema: TableSchema
    branch: str = MAIN_BRANCH
    read_optimized: bool = False
    ignores_unreadable: bool = False
    run_log: MaintenanceLog | None = None
    lock: TableLock = UNLOCKED
    partition_registry: PartitionRegistry | None = None
    version_management: VersionManagement | None = None
    access: ExternalAccess = NO_ACCESS
    executor: Executor | None = field(default=None, compare=False, repr=False)
    query_auth: QueryAuth | None = None

    def __getstate__(self) -> dict[str, object]:
        pickled = {*(f.name for f in fields(self)), "schemas"} - {"executor"}
        return {name: value for name, value in vars(self).items() if name in pickled}

    @cached_property
    def options(self) -> TableOptions:
        """The typed options."""
        return TableOptions(self.schema.options)

    def name_of_branch(self, branch: str) -> str:
        """The full name of a branch of the table, for messages; that of ``main`` is the table's own."""
        own = self.name.removesuffix(f"$branch_{self.branch}")
        return own if branch == MAIN_BRANCH else f"{own}$branch_{branch}"

    @property
    def metric_key(self) -> MetricKey:
        """What its metrics belong to."""
        return MetricKey(self.name, self.path, self.branch)

    @cached_property
    def layout(self) -> TableLayout:
        """How its rows lie in files."""
        return choose_layout(self.schema)

    @cached_property
    def paths(self) -> TablePaths:
        """The paths of the table's files."""
        return TablePaths(self.path, self.branch, self.schema.options.get(DATA_FILE_PATH_DIRECTORY.key))

    @cached_property
    def schemas(self) -> SchemaManager:
        """The schemas."""
        return SchemaManager(self.file_io, self.paths.branch_root, self.lock, self.branch)

    @cached_property
    def snapshots(self) -> SnapshotManager:
        """The snapshots."""
        return SnapshotManager(self.file_io, self.paths.branch_root, self.version_management, self.branch)

    @cached_property
    def changelogs(self) -> ChangelogManager:
        """The changelogs of expired snapshots."""
        return ChangelogManager(self.file_io, self.paths.branch_root)

    @cached_property
    def tags(self) -> TagManager:
        """The tags."""
        return TagManager(self.file_io, self.paths.branch_root, self.lock, self.branch)

    @cached_property
    def branches(self) -> BranchManager:
        """The branches of the table, including the one opened here."""
        return BranchManager(self.file_io, self.paths, self.version_management)

    @cached_property
    def consumers(self) -> ConsumerManager:
        """The consumers."""
        return ConsumerManager(self.file_io, self.paths.branch_root)

    @cached_property
    def locations(self) -> Locations:
        """The paths of the files of each bucket."""
        return Locations(self.paths, self.schema)

    @cached_property
    def manifests(self) -> ManifestStore:
        """The manifests."""
        return ManifestStore(self.file_io, self.paths, self.schema, self.access)

    @cached_property
    def created_millis(self) -> int | None:
        """The first result of `read_created_millis`."""
        return self.read_created_millis()

    def read_created_millis(self) -> int | None:
        """Return when the branch's schema file was created, in milliseconds since the epoch; None for ``main``.

        Branches copy schemas including their times, so only this distinguishes a branch from another one that reuses
        its name later.
        """
        if self.branch == MAIN_BRANCH or self.version_management is not None:
            return None
        status = self.file_io.status(self.schemas.directory.path(self.schema.id))
        return None if status is None else status.mtime_millis

    def reopened(self) -> Table:
        """Return the table for another statement, to which its schemas and its creation time may be others."""
        return replace(self)

    def at_schema(self, schema_id: int) -> Table:
        """Return the table with the columns of another schema, and the current options."""
        if schema_id == self.schema.id:
            return self
        return replace(self, schema=replace(self.schemas.get(schema_id), options=self.schema.options))

    def with_options(self, changes: Mapping[str, str]) -> Table:
        """Return the table with dynamic options, which apply to one statement and are not stored."""
        return replace(self, schema=self.schema.with_options(changes)) if changes else self
