"""A table's schema versions on disk: find, read, and add the next one."""

from __future__ import annotations

from collections.abc import Callable

from paimon_sql.errors import CommitConflictError, NoSuchSnapshotError
from paimon_sql.format.paths import MAIN_BRANCH
from paimon_sql.format.schema import TableSchema, parse_schema
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.locks import UNLOCKED, TableLock
from paimon_sql.storage.versioned import VersionedDirectory


class SchemaManager:
    """The schema files of one table or branch; a version never changes, so it is read once.

    Args:
        file_io: the file system.
        root: the folder of the table or branch.
        lock: what keeps others away while a version is added.
        branch: the branch that the lock is asked for.
    """

    def __init__(self, file_io: FileIO, root: str, lock: TableLock = UNLOCKED, branch: str = MAIN_BRANCH) -> None:
        self.directory = VersionedDirectory(file_io, f"{root}/schema", "schema-")
        self._lock = lock
        self._branch = branch
        self._known: dict[int, TableSchema] = {}

    def ids(self) -> list[int]:
        """The ids of all versions, ascending."""
        return self.directory.versions()

    def latest(self) -> TableSchema | None:
        """The newest version, None where there is no table."""
        ids = self.ids()
        return self.get(ids[-1]) if ids else None

    def get(self, schema_id: int) -> TableSchema:
        """The version of that id.

        Raises:
            MissingFileError: there is none.
            CorruptFileError: its file is no schema.
        """
        if schema_id not in self._known:
            self._known[schema_id] = parse_schema(self.directory.read(schema_id), self.directory.path(schema_id))
        return self._known[schema_id]

    def all(self) -> list[TableSchema]:
        """All versions, oldest first."""
        return [self.get(i) for i in self.ids()]

    def try_add(self, schema: TableSchema) -> bool:
        """Write a version whose id nobody has used: True if this call made it."""
        with self._lock.held(self._branch) as locked:
            return self.try_add_under_lock(schema, locked=locked)

    def try_add_under_lock(self, schema: TableSchema, *, locked: bool) -> bool:
        """Do what `try_add` does for a caller that holds the table's lock itself, if there is one."""
        path = self.directory.path(schema.id)
        return self.directory.file_io.try_create_exclusive(path, schema.to_json().encode(), locked=locked)

    def evolve(self, change: Callable[[TableSchema], TableSchema], attempts: int = 10) -> TableSchema:
        """Put the next version on top of the newest one; a rival's version in between is built upon.

        Args:
            change: makes the next version of the newest; giving back the same object means that nothing changes.
            attempts: how many rivals may win before this gives up.
        """
        for _ in range(attempts):
            current = self.latest()
            if current is None:
                raise NoSuchSnapshotError(f"{self.directory.directory} holds no schema.", name="schema")
            changed = change(current)
            if changed is current or self.try_add(changed):
                return changed
        raise CommitConflictError(
            f"{self.directory.directory}: others changed the schema {attempts} times in between.",
            remedy="Run the statement again.",
        )
