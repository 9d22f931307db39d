"""The proposal of a commit: changes, scope of an overwrite, and validations, such as that the table is the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CommitConflictError, InvalidInputError, NoSuchTableError
from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry, entries, manifest_table, merge_entries
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.storage.data_files.live_files import filter_partitions, live_files, partition_values
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.metadata.schemas import descends
from paimon_sql.storage.staging.commit_messages import Changes, CommitMessage
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class Proposal:
    """The changes of one commit attempt.

    Attributes:
        table: the table.
        base: the snapshot that the changes were computed from; None if they depend on none.
        latest: the newest snapshot, to commit on; None for the first commit.
        kind: the kind of the commit.
        changes: the changes.
    """

    table: Table
    base: Snapshot | None
    latest: Snapshot | None
    kind: CommitKind
    changes: Changes

    @cached_property
    def live(self) -> pa.Table:
        """The live files before the commit, in the changed partitions."""
        partitions = {e.partition for e in self.changes.entries} | {e.partition for e in self.changes.indexes}
        return live_files(self.table, self.latest, partitions=partitions).entries

    @cached_property
    def live_after(self) -> pa.Table:
        """The live files after the commit, in the same partitions."""
        return merge_entries([self.live, manifest_table(self.changes.entries)])


@dataclass(frozen=True)
class Validation:
    """A condition for committing changes, checked in every attempt.

    Attributes:
        name: the condition as a statement.
        check: raises `CommitConflictError` or `ConstraintViolationError` if it is violated.
    """

    name: str
    check: Callable[[Proposal], None]


@dataclass(frozen=True)
class Overwrite:
    """The scope of an overwrite: partitions that match ``partitions``, or with ``dynamic`` those of its rows.

    With neither, the whole table.
    """

    partitions: Predicate | None = None
    dynamic: bool = False

    def __str__(self) -> str:
        if self.dynamic:
            return "overwrite of the partitions of the rows"
        return "overwrite of the whole table" if self.partitions is None else f"overwrite where {self.partitions}"

    def replaces(self, table: Table, partitions: Collection[bytes]) -> frozenset[bytes]:
        """Return those partitions of new rows that the overwrite replaces; to the others it appends.

        In a static overwrite only deletes are outside: those of keys that move into a replaced partition.
        """
        if self.dynamic or self.partitions is None:
            return frozenset(partitions)
        serialized = pa.array(sorted(partitions), pa.binary())
        matches = pc.fill_null(self.partitions.evaluate(partition_values(table, serialized)), False)
        return frozenset(serialized.filter(matches).to_pylist())

    def check_rows(self, table: Table, messages: Sequence[CommitMessage]) -> None:
        """Check that all new rows are in replaced partitions, as otherwise they would be appended to old ones.

        Raises:
            InvalidInputError: the partition of a row does not match the condition.
        """
        new = {m.partition for m in messages for f in m.new_files if f.row_count > (f.delete_row_count or 0)}
        if outside := new - self.replaces(table, new):
            paths = PartitionPaths.of(table.schema)
            raise InvalidInputError(
                f"{table.name}: an overwrite contains rows of the partition {min(map(paths.name, outside))},"
                " which its condition does not replace.",
                remedy="Leave these rows out, widen the condition, or append them with a separate statement.",
            )


def overwritten(
    table: Table, latest: Snapshot | None, overwrite: Overwrite, messages: Sequence[CommitMessage]
) -> list[ManifestEntry]:
    """Return the DELETE entries of an overwrite on top of a snapshot."""
    touched = {m.partition for m in messages} if overwrite.dynamic else None
    live = live_files(table, latest, partitions=touched).entries
    if not overwrite.dynamic:
        live = filter_partitions(table, live, overwrite.partitions)
    return [replace(e, kind=FileKind.DELETE) for e in entries(live)]


def is_same_table(table: Table) -> bool:
    """Whether the schema that the table was opened with still exists, unchanged, in its directory.

    A schema file is written once. That of another table with the same name has another creation time or other columns;
    a branch with the same name has another file time. With version management the server compares the table's id.

    Raises:
        PaimonError: the file system cannot be read.
    """
    if table.version_management is not None:
        return True
    return table.schemas.has(table.schema) and table.created_millis == table.read_created_millis()


def require_same_table(table: Table) -> None:
    """Check that the table is still the one that was opened.

    Raises:
        NoSuchTableError: it was dropped, renamed or replaced.
    """
    if not is_same_table(table):
        raise changed_table(table)


def changed_table(table: Table) -> NoSuchTableError:
    """Return the error for a statement whose table was dropped or replaced."""
    return NoSuchTableError(
        f"{table.name} was dropped, renamed or replaced while the statement ran; nothing was committed.",
        name=table.name,
        remedy="Run the statement again if there is a table of this name.",
    )


def conflict_error(table: Table, what: str) -> CommitConflictError:
    """Return the error for a statement that another one was faster than, or undid."""
    return CommitConflictError(f"{table.name}: {what}", remedy="Run the statement again.")


def _check_definition(proposal: Proposal) -> None:
    """Reject a commit after REPLACE TABLE, or a rollback past one: the new columns would not show its rows."""
    table, latest = proposal.table, proposal.latest
    if latest is None or latest.schema_id == table.schema.id or table.version_management is not None:
        return
    if not descends(table.schema, table.schemas.get(latest.schema_id)):
        raise changed_table(table)


SAME_TABLE = Validation(
    "the table is the one that the statement was planned on", lambda proposal: require_same_table(proposal.table)
)
SAME_DEFINITION = Validation("the table's definition was not replaced", _check_definition)
