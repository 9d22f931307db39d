"""Merge of one branch into another: the files that the target lacks are committed there, unchanged.

That is correct only for append-only histories: both must be complete from the first commit on and only add rows. The
option ``branch-merge.enabled`` keeps a table append-only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from paimon_sql.errors import InvalidInputError, InvalidOptionError, UnsupportedError
from paimon_sql.format.metadata.manifest import ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import FIRST_SNAPSHOT_ID, CommitKind, Snapshot
from paimon_sql.format.options.table.row_tracking import ROW_TRACKING_ENABLED
from paimon_sql.format.options.table.table import BRANCH_MERGE_ENABLED
from paimon_sql.storage.branches.selection import branch_of
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.operations.operations import after_commit
from paimon_sql.storage.staging.commit_messages import Changes
from paimon_sql.storage.table.table import Table

_REMEDY = "Use INSERT INTO .. SELECT."
_HARMLESS = (CommitKind.APPEND, CommitKind.ANALYZE)


@dataclass(frozen=True)
class BranchMerge:
    """The result of a merge, or its plan.

    Attributes:
        files: the entries of the files that the target gets.
        snapshot: the new snapshot; None if the target lacked no file, or in a dry run.
    """

    files: list[ManifestEntry] = field(default_factory=list)
    snapshot: Snapshot | None = None

    @property
    def rows(self) -> int:
        """The number of rows in the files."""
        return sum(e.file.row_count for e in self.files)

    @property
    def bytes(self) -> int:
        """The size of the files in bytes."""
        return sum(e.file.file_size for e in self.files)


def merge_branch(table: Table, source: str, target: str, *, dry_run: bool = False) -> BranchMerge:
    """Merge the rows of one branch into another, both of an append table.

    Args:
        table: the table, or any of its branches.
        source: the branch to merge.
        target: the branch to merge into.
        dry_run: only plan.

    Raises:
        NotFoundError: one of them does not exist.
        InvalidOptionError: the table does not have the option.
        InvalidInputError: they are the same, a history is incomplete or removed rows, or the columns differ.
        UnsupportedError: a table with a primary key or with data evolution.
    """
    if source == target:
        raise InvalidInputError(f"{table.name}: branch '{source}' cannot be merged into itself.")
    source_branch, target_branch = branch_of(table, source), branch_of(table, target)
    for branch in (source_branch, target_branch):
        _refuse_kind(branch)
        _refuse_history(branch)
    _refuse_difference(source_branch, target_branch)
    found = _missing(source_branch, target_branch)
    _refuse_schemas(source_branch, target_branch, found)
    if dry_run or not found:
        return BranchMerge(found)
    merged: list[ManifestEntry] = []

    def changes(latest: Snapshot | None) -> Changes:
        merged[:] = _missing(source_branch, target_branch)
        # The target's commit assigns new row ids.
        return Changes([replace(e, file=replace(e.file, first_row_id=None)) for e in merged])

    # The files belong to the source: the transaction stages none, so a failure does not delete them.
    with Transaction(target_branch) as transaction:
        snapshot = transaction.commit(CommitKind.APPEND, changes)
    after_commit(target_branch)
    return BranchMerge(merged, snapshot)


def _missing(source: Table, target: Table) -> list[ManifestEntry]:
    """The files of the source that the target lacks, in the order of their rows."""
    present = set(live_files(target, target.snapshots.latest()).entries["file_name"].to_pylist())
    found = entries(live_files(source, source.snapshots.latest()).entries)
    return sorted(
        (e for e in found if e.file.file_name not in present),
        key=lambda e: (e.file.min_sequence_number, e.file.creation_time_millis or 0, e.file.file_name),
    )


def _refuse_kind(branch: Table) -> None:
    what = branch.name
    if branch.schema.has_key:
        raise UnsupportedError(
            f"Branches of tables with a primary key cannot be merged, but {what} has one.",
            remedy=_REMEDY,
        )
    if branch.layout.groups_files:
        raise UnsupportedError(f"Branches with data evolution cannot be merged, but {what} has it.")
    if not branch.options.get(BRANCH_MERGE_ENABLED):
        raise InvalidOptionError(
            f"Branches can be merged where '{BRANCH_MERGE_ENABLED.key}' is 'true', but not in {what}.",
            key=BRANCH_MERGE_ENABLED.key,
            remedy="Set the option when the table is created: it prevents rows from being removed.",
        )


def _refuse_history(branch: Table) -> None:
    """Refuse an incomplete history: which files an expired commit deleted is unknown."""
    ids = branch.snapshots.directory.versions()
    earliest = branch.snapshots.earliest_id()
    what = branch.name
    if earliest is None:
        raise InvalidInputError(f"There is nothing to merge: {what} has no snapshot.", remedy="Write to it first.")
    if earliest != FIRST_SNAPSHOT_ID or ids != list(range(FIRST_SNAPSHOT_ID, len(ids) + 1)):
        raise InvalidInputError(
            f"Branches can be merged only if all their snapshots exist, but {what} begins at snapshot {earliest}"
            + ("." if earliest != FIRST_SNAPSHOT_ID else " and has gaps."),
            remedy=_REMEDY,
        )
    wrong = next((s for s in branch.snapshots.all() if s.commit_kind not in _HARMLESS), None)
    if wrong is not None:
        raise InvalidInputError(
            f"Branches can be merged only if they are append-only, but snapshot {wrong.id} of {what} is a commit"
            f" of kind {wrong.commit_kind.value}.",
            remedy=_REMEDY,
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
    """Refuse files of schemas that the target does not have: a file names its schema by id."""
    known = set(target.schemas.ids())
    for number in sorted({e.file.schema_id for e in files}):
        written = source.schemas.get(number)
        own = target.schemas.get(number) if number in known else None
        if own is None or (own.fields, own.partition_keys) != (written.fields, written.partition_keys):
            raise InvalidInputError(
                f"{source.name} has files written under schema {number}, which {target.name} does not have in the same"
                " form.",
                remedy=_REMEDY,
            )


def _columns(table: Table) -> str:
    return ", ".join(f"{f.name} {f.type.sql()}" for f in table.schema.fields)
