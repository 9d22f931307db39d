"""A table's schema versions on disk: find, read, and add the next one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from paimon_sql.errors import (
    CommitConflictError,
    CorruptFileError,
    MissingFileError,
    NoSuchSnapshotError,
    NoSuchTableError,
)
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.schema.schema import TableSchema, parse_schema
from paimon_sql.format.schema.types import RowType, field_ids
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.paths import parent_of
from paimon_sql.storage.metadata.directories import remove_if_dropped
from paimon_sql.storage.metadata.environment.locks import UNLOCKED, HeldLock, TableLock
from paimon_sql.storage.metadata.numbered_files import NumberedDirectory
from paimon_sql.storage.metadata.snapshots import SnapshotManager

FIRST_SCHEMA_ID = 0


class SchemaManager:
    """The schema files of one table or branch; a version never changes, so it is read once.

    Args:
        file_io: the file system.
        root: the folder of the table or branch.
        lock: what keeps others away while a version is added.
        branch: the branch that the lock is asked for.
    """

    def __init__(self, file_io: FileIO, root: str, lock: TableLock = UNLOCKED, branch: str = MAIN_BRANCH) -> None:
        self.directory = NumberedDirectory(file_io, f"{root}/schema", "schema-")
        self._snapshots = SnapshotManager(file_io, root)
        self._root = root
        self._lock = lock
        self._branch = branch
        self._known: dict[int, TableSchema] = {}

    def ids(self) -> list[int]:
        """The ids of all versions, ascending."""
        return self.directory.versions()

    def latest(self) -> TableSchema | None:
        """The version that the table has now, None where there is no table.

        That is the newest one that descends from the version of the newest snapshot. Others are none of the table's:
        REPLACE TABLE adds a version without a column of the one before, which counts from its snapshot on. A version
        that a rival built on the old definition meanwhile has ended with that.
        """
        ids, before = self.ids(), None
        while ids != before:
            try:
                return self._current(ids)
            except MissingFileError:
                ids, before = self.ids(), ids  # a REPLACE TABLE that failed has taken its version back
        return self._current(ids)

    def _current(self, ids: Sequence[int]) -> TableSchema | None:
        if not ids:
            return None
        newest = self.get(ids[-1])
        if len(ids) == 1 or _has_all_columns(newest):
            return newest
        if any(f.id == 0 for f in newest.fields) and descends(newest, self.get(ids[-2])):
            return newest
        current = self._of_newest_snapshot()
        if current is None:
            return newest
        for i in (i for i in ids if i > current.id):
            if descends(self.get(i), current):
                current = self.get(i)
        return current

    def _of_newest_snapshot(self) -> TableSchema | None:
        """The version that the newest snapshot was written under; None where that is not known."""
        self._snapshots.forget()
        try:
            newest = self._snapshots.latest()
            return None if newest is None else self.get(newest.schema_id)
        except CorruptFileError:
            return None

    def newest(self) -> TableSchema:
        """The version of the greatest id, whether it is the table's or not.

        Raises:
            NoSuchSnapshotError: there is none, as the table was dropped.
        """
        ids = self.ids()
        if not ids:
            raise self._missing()
        return self.get(ids[-1])

    def _missing(self) -> NoSuchSnapshotError:
        return NoSuchSnapshotError(f"{self.directory.directory} holds no schema.", name="schema")

    def get(self, schema_id: int) -> TableSchema:
        """The version of that id.

        Raises:
            MissingFileError: there is none.
            CorruptFileError: its file is no schema.
        """
        if schema_id not in self._known:
            self._known[schema_id] = parse_schema(self.directory.read(schema_id), self.directory.path(schema_id))
        return self._known[schema_id]

    def newest_readable(self) -> TableSchema | None:
        """The newest version that can be read, whether the table uses it or not; None without any."""
        for schema_id in reversed(self.ids()):
            try:
                return self.get(schema_id)
            except (CorruptFileError, MissingFileError):
                continue
        return None

    def all(self) -> list[TableSchema]:
        """All versions, oldest first."""
        return [self.get(i) for i in self.ids()]

    def try_add(self, schema: TableSchema, base: TableSchema | None = None) -> bool:
        """Write a version whose id is free: True if this call made it.

        Args:
            schema: the version.
            base: the version that it follows; None for the first one of a table.

        Raises:
            CommitConflictError: the lock was lost; nothing was written.
            NoSuchTableError: the base stands no more, since the table was dropped, renamed or replaced; the version
                is withdrawn.
        """
        with self._lock.held(self._branch) as hold:
            return self.try_add_under_lock(schema, hold, base)

    def try_add_under_lock(self, schema: TableSchema, hold: HeldLock, base: TableSchema | None = None) -> bool:
        """Do what `try_add` does for a caller that holds the table's lock itself, if there is one."""
        path, data = self.directory.path(schema.id), schema.to_json().encode()
        hold.confirm()
        if not self.directory.file_io.try_create_exclusive(path, data, locked=hold.is_locked):
            return False
        # The directory may have gone while this call stood still, and have been made anew by it or by others.
        if base is not None and not self.has(base):
            self.remove(schema.id)
            self.directory.file_io.delete_dir(self.directory.directory)
            remove_if_dropped(self.directory.file_io, self._root)
            raise NoSuchTableError(
                f"The table in {self._root} was dropped, renamed or replaced while its definition was changed; nothing"
                " was changed.",
                name=self._root,
                remedy="Run the statement again if there is a table of this name.",
            )
        if schema.id == FIRST_SCHEMA_ID:
            # Writers into a table of that name that was dropped may have made its directory, and not flushed it.
            self.directory.file_io.sync([path], parent_of(self._root))
        return True

    def has(self, schema: TableSchema) -> bool:
        """Whether a version stands as it was read: that of another table has another time, or other columns.

        Raises:
            PaimonError: the file system does not say.
        """
        try:
            stored = parse_schema(self.directory.read(schema.id), self.directory.path(schema.id))
        except MissingFileError:
            return False
        if schema.time_millis and stored.time_millis != schema.time_millis:
            return False
        return _definition(stored) == _definition(schema)

    def _has_come_into_use(self, schema: TableSchema) -> bool:
        """Whether a version that was just added is of the table, which was not replaced meanwhile."""
        latest = self.latest()
        return latest is not None and latest.id >= schema.id

    def remove(self, schema_id: int) -> None:
        """Take a version away again that no file and no snapshot was written under."""
        self._known.pop(schema_id, None)
        self.directory.file_io.delete_durably(self.directory.path(schema_id))

    def evolve(self, change: Callable[[TableSchema], TableSchema], attempts: int = 10) -> TableSchema:
        """Put the next version on top of the newest one; a rival's version in between is built upon.

        Args:
            change: makes the next version of the newest; giving back the same object means that nothing changes.
            attempts: how many rivals may win before this gives up.
        """
        for _ in range(attempts):
            newest, current = self.newest(), self.latest()
            if current is None:
                raise self._missing()
            # New columns take ids that no version has, those that are none of the table's among them.
            current = replace(current, highest_field_id=max(current.highest_field_id, newest.highest_field_id))
            changed = change(current)
            if changed is current:
                return changed
            changed = replace(changed, id=newest.id + 1)
            if self.try_add(changed, current) and (newest.id == current.id or self._has_come_into_use(changed)):
                return changed
        raise CommitConflictError(
            f"{self.directory.directory}: others changed the schema {attempts} times in between.",
            remedy="Run the statement again.",
        )


def descends(one: TableSchema, other: TableSchema) -> bool:
    """Whether one version was made of the other: REPLACE TABLE keeps no column, by field id, of the one before."""
    return one.id == other.id or not {f.id for f in one.fields}.isdisjoint(f.id for f in other.fields)


def _has_all_columns(schema: TableSchema) -> bool:
    """Whether no column ever went, with which a definition would have been replaced."""
    return len(set(field_ids(RowType(True, schema.fields)))) == schema.highest_field_id + 1


def _definition(schema: TableSchema) -> tuple[object, ...]:
    return schema.id, schema.fields, schema.partition_keys, schema.primary_keys
