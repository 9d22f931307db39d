"""Schemas of a table: find, read, and add versions (spec: Schema)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
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
from paimon_sql.storage.metadata.catalog_environment import UNLOCKED, HeldLock, TableLock
from paimon_sql.storage.metadata.directories import remove_if_dropped
from paimon_sql.storage.metadata.numbered_files import NumberedDirectory
from paimon_sql.storage.metadata.snapshots import SnapshotManager

FIRST_SCHEMA_ID = 0


class SchemaManager:
    """The schema files of one table or branch (Paimon: `SchemaManager`).

    The latest and the newest version are always read; a version that was read is immutable, so `get` reads it once.

    Args:
        file_io: the file system.
        root: the directory of the table or branch.
        lock: the lock for adding a version.
        branch: the branch to lock.
    """

    def __init__(self, file_io: FileIO, root: str, lock: TableLock = UNLOCKED, branch: str = MAIN_BRANCH) -> None:
        self.directory = NumberedDirectory(file_io, f"{root}/schema", "schema-")
        self._snapshots = SnapshotManager(file_io, root)
        self._root = root
        self._lock = lock
        self._branch = branch
        self._known: dict[int, TableSchema] = {}

    def ids(self) -> list[int]:
        """Return the ids of all versions, ascending."""
        return self.directory.versions()

    def latest(self) -> TableSchema | None:
        """Return the current schema of the table, None without a table.

        That is the newest version that descends from the version of the latest snapshot. Others are not the table's:
        REPLACE TABLE adds a version that shares no column with the one before, and that becomes current with its
        snapshot. A version that a concurrent writer based on the old definition is then obsolete.
        """
        found = self._newest_and_current()
        return None if found is None else found[1]

    def _newest_and_current(self) -> tuple[TableSchema, TableSchema] | None:
        ids, previous = self.ids(), None
        while ids:
            try:
                newest = self._read(ids[-1])
                return newest, self._current(ids, newest)
            except MissingFileError:
                if ids == previous:
                    raise
                ids, previous = self.ids(), ids  # a failed REPLACE TABLE has withdrawn its version
        return None

    def _current(self, ids: Sequence[int], newest: TableSchema) -> TableSchema:
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
        """Return the schema of the latest snapshot; None if unknown."""
        with suppress(CorruptFileError):
            newest = self._snapshots.latest()
            return None if newest is None else self.get(newest.schema_id)
        return None

    def newest(self) -> TableSchema:
        """Return the version of the maximum id, whether it is the table's current one or not.

        Raises:
            NoSuchSnapshotError: there is none, because the table was dropped.
        """
        if not (ids := self.ids()):
            raise self._missing()
        return self._read(ids[-1])

    def _missing(self) -> NoSuchSnapshotError:
        return NoSuchSnapshotError(f"{self.directory.directory} holds no schema.", name="schema")

    def get(self, schema_id: int) -> TableSchema:
        """Return the version of an id.

        Raises:
            MissingFileError: it does not exist.
            CorruptFileError: its file is invalid.
        """
        return self._known.get(schema_id) or self._read(schema_id)

    def _read(self, schema_id: int) -> TableSchema:
        schema = parse_schema(self.directory.read(schema_id), self.directory.path(schema_id))
        self._known[schema_id] = schema
        return schema

    def newest_readable(self) -> TableSchema | None:
        """Return the newest readable version, whether the table uses it or not; None without one."""
        for schema_id in reversed(self.ids()):
            with suppress(CorruptFileError, MissingFileError):
                return self.get(schema_id)
        return None

    def all(self) -> list[TableSchema]:
        """Return all versions, oldest first."""
        return [self.get(i) for i in self.ids()]

    def try_add(self, schema: TableSchema, base: TableSchema | None = None) -> bool:
        """Write a version if its id is free: True if this call created it.

        Args:
            schema: the version.
            base: the version before; None for the first one of a table.

        Raises:
            CommitConflictError: the lock was lost; nothing was written.
            NoSuchTableError: the base does not exist anymore, because the table was dropped, renamed or replaced; the
                version is withdrawn.
        """
        with self._lock.acquire(self._branch) as held_lock:
            return self.try_add_under_lock(schema, held_lock, base)

    def try_add_under_lock(self, schema: TableSchema, held_lock: HeldLock, base: TableSchema | None = None) -> bool:
        """Like `try_add`, for a caller that already holds the table's lock, if there is one."""
        path, data = self.directory.path(schema.id), schema.to_json().encode()
        held_lock.confirm()
        if not self.directory.file_io.try_create_exclusive(path, data, locked=held_lock.is_locked):
            return False
        # The directory may have been deleted while this call was paused, and recreated by it or by others.
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
            # Writers of a dropped table of the same name may have created its directory without flushing it.
            self.directory.file_io.sync([path], parent_of(self._root))
        return True

    def has(self, schema: TableSchema) -> bool:
        """Whether the stored version is the one that was read: another table's has another time, or other columns.

        Raises:
            PaimonError: the file system does not answer.
        """
        data = self.directory.find(schema.id)
        stored = None if data is None else parse_schema(data, self.directory.path(schema.id))
        if stored is None or (schema.time_millis and stored.time_millis != schema.time_millis):
            return False
        return _definition(stored) == _definition(schema)

    def _is_in_use(self, schema: TableSchema) -> bool:
        """Whether an added version is the table's, which was not replaced concurrently."""
        latest = self.latest()
        return latest is not None and latest.id >= schema.id

    def remove(self, schema_id: int) -> None:
        """Withdraw a version that no file and no snapshot uses."""
        self._known.pop(schema_id, None)
        self.directory.file_io.delete_durably(self.directory.path(schema_id))

    def evolve(self, change: Callable[[TableSchema], TableSchema], attempts: int = 10) -> TableSchema:
        """Add the next version on top of the newest one; versions of concurrent writers are built upon.

        Args:
            change: makes the next version from the current one; returning the same object means no change.
            attempts: maximum number of attempts.
        """
        for _ in range(attempts):
            found = self._newest_and_current()
            if found is None:
                raise self._missing()
            newest, current = found
            # New columns get ids that no version has, including versions that are not the table's.
            current = replace(current, highest_field_id=max(current.highest_field_id, newest.highest_field_id))
            changed = change(current)
            if changed is current:
                return changed
            changed = replace(changed, id=newest.id + 1)
            if self.try_add(changed, current) and (newest.id == current.id or self._is_in_use(changed)):
                return changed
        raise CommitConflictError(
            f"{self.directory.directory}: other jobs changed the schema {attempts} times concurrently.",
            remedy="Run the statement again.",
        )


def descends(one: TableSchema, other: TableSchema) -> bool:
    """Whether one version is derived from the other: REPLACE TABLE reuses no field id of the version before."""
    return one.id == other.id or not {f.id for f in one.fields}.isdisjoint(f.id for f in other.fields)


def _has_all_columns(schema: TableSchema) -> bool:
    """Whether no column was ever dropped; replacing the definition would drop all."""
    return len(set(field_ids(RowType(True, schema.fields)))) == schema.highest_field_id + 1


def _definition(schema: TableSchema) -> tuple[object, ...]:
    return schema.id, schema.fields, schema.partition_keys, schema.primary_keys
