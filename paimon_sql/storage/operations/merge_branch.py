"""A branch merged into another: the files that one holds and the other does not are committed there as they are.

That is right only where rows are never taken away: both histories must be whole, from their first commit on, and hold
nothing but new rows. The option ``branch-merge.enabled`` keeps a table so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from paimon_sql.errors import InvalidInputError, InvalidOptionError, UnsupportedError
from paimon_sql.format.metadata.manifest import ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import FIRST_SNAPSHOT_ID, CommitKind, Snapshot
from paimon_sql.format.options.table.row_tracking import DATA_EVOLUTION_ENABLED, ROW_TRACKING_ENABLED
from paimon_sql.format.options.table.table import BRANCH_MERGE_ENABLED
from paimon_sql.storage.branches.management import branch_of
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.maintenance.after_commit import after_commit
from paimon_sql.storage.staging.commit_messages import Changes
from paimon_sql.storage.table.table import Table

_HARMLESS = (CommitKind.APPEND, CommitKind.ANALYZE)


@dataclass(frozen=True)
class BranchMerge:
    """What a merge did, or would do.

    Attributes:
        files: the entries of the files that the target gets.
        snapshot: the snapshot made; None if nothing was to do.
    """

    files: list[ManifestEntry] = field(default_factory=list)
    snapshot: Snapshot | None = None

    @property
    def rows(self) -> int:
        """The rows in the files."""
        return sum(e.file.row_count for e in self.files)

    @property
    def bytes(self) -> int:
        """The size of the files."""
        return sum(e.file.file_size for e in self.files)


def merge_branch(table: Table, source: str, target: str, *, dry_run: bool = False) -> BranchMerge:
    """Bring the rows of one branch to another, both of an append table.

    Args:
        table: the table, whichever of its branches.
        source: the branch whose rows they are.
        target: the branch that gets them.
        dry_run: only say what would be done.

    Raises:
        NotFoundError: one of them does not exist.
        InvalidOptionError: the table does not have the option.
        InvalidInputError: they are the same, a history is not whole or took rows away, or the columns differ.
        UnsupportedError: a table with a primary key or with data evolution.
    """
    if source == target:
        raise InvalidInputError(f"{table.name}: branch '{source}' cannot be merged into itself.")
    one, other = branch_of(table, source), branch_of(table, target)
    for branch in (one, other):
        _refuse_kind(branch)
        _refuse_history(branch)
    _refuse_difference(one, other)
    found = _missing(one, other)
    _refuse_schemas(one, other, found)
    if dry_run or not found:
        return BranchMerge(found)
    merged: list[ManifestEntry] = []

    def changes(latest: Snapshot | None) -> Changes:
        merged[:] = _missing(one, other)
        return Changes([_prepared(e) for e in merged])

    # The files are the source's, so that no failure may remove them.
    with Transaction(other) as transaction:
        snapshot = transaction.commit(CommitKind.APPEND, changes)
    after_commit(other)
    return BranchMerge(merged, snapshot)


def _missing(source: Table, target: Table) -> list[ManifestEntry]:
    """The files of the source that the target lacks, in the order of their rows."""
    target.snapshots.forget()
    held = set(live_files(target, target.snapshots.latest()).entries["file_name"].to_pylist())
    found = entries(live_files(source, source.snapshots.latest()).entries)
    return sorted(
        (e for e in found if e.file.file_name not in held),
        key=lambda e: (e.file.min_sequence_number, e.file.creation_time_millis or 0, e.file.file_name),
    )


def _prepared(entry: ManifestEntry) -> ManifestEntry:
    """The rows get ids of their own in the target."""
    return replace(entry, file=replace(entry.file, first_row_id=None))


def _refuse_kind(branch: Table) -> None:
    what = branch.name
    if branch.schema.primary_keys:
        raise UnsupportedError(
            f"Branches of tables with a primary key cannot be merged, but {what} has one.",
            remedy="INSERT INTO the one SELECT from the other.",
        )
    if branch.options.get(DATA_EVOLUTION_ENABLED):
        raise UnsupportedError(f"Branches with data evolution cannot be merged, but {what} has it.")
    if not branch.options.get(BRANCH_MERGE_ENABLED):
        raise InvalidOptionError(
            f"Branches can be merged where '{BRANCH_MERGE_ENABLED.key}' is 'true', but not in {what}.",
            key=BRANCH_MERGE_ENABLED.key,
            remedy="Set the option when the table is created: it keeps rows from being taken away.",
        )


def _refuse_history(branch: Table) -> None:
    """Nobody can tell which files a commit took away that is not there any more."""
    ids = branch.snapshots.directory.versions()
    earliest = branch.snapshots.earliest_id()
    what = branch.name
    if earliest is None:
        raise InvalidInputError(f"There is nothing to merge: {what} has no snapshot.", remedy="Write to it first.")
    if earliest != FIRST_SNAPSHOT_ID or ids != list(range(FIRST_SNAPSHOT_ID, len(ids) + 1)):
        raise InvalidInputError(
            f"Branches can be merged while all their snapshots are there, but {what} begins at snapshot {earliest}"
            + ("." if earliest != FIRST_SNAPSHOT_ID else " and has gaps."),
            remedy="INSERT INTO the one SELECT from the other.",
        )
    wrong = next((s for s in branch.snapshots.all() if s.commit_kind not in _HARMLESS), None)
    if wrong is not None:
        raise InvalidInputError(
            f"Branches can be merged while they only grow, but snapshot {wrong.id} of {what} is a commit of kind"
            f" {wrong.commit_kind.value}.",
            remedy="INSERT INTO the one SELECT from the other.",
        )


def _refuse_difference(source: Table, target: Table) -> None:
    names = f"{source.name} and {target.name}"
    if source.schema.fields != target.schema.fields:
        raise InvalidInputError(
            f"The columns of {names} differ: ({_columns(source)}) and ({_columns(target)}).",
            remedy="Make the same changes to both.",
        )
    if source.options.get(ROW_TRACKING_ENABLED) != target.options.get(ROW_TRACKING_ENABLED):
        raise InvalidInputError(f"Only one of {names} has '{ROW_TRACKING_ENABLED.key}'.")


def _refuse_schemas(source: Table, target: Table, files: Iterable[ManifestEntry]) -> None:
    """The files name the schemas that they were written under by number."""
    known = set(target.schemas.ids())
    for number in sorted({e.file.schema_id for e in files}):
        theirs = source.schemas.get(number)
        mine = target.schemas.get(number) if number in known else None
        if mine is None or (mine.fields, mine.partition_keys) != (theirs.fields, theirs.partition_keys):
            raise InvalidInputError(
                f"{source.name} has files written under schema {number}, which {target.name} does not have in the same"
                " form.",
                remedy="INSERT INTO the one SELECT from the other.",
            )


def _columns(table: Table) -> str:
    return ", ".join(f"{f.name} {f.type.sql()}" for f in table.schema.fields)
