"""Each repair of a proven hazard taken out again, to see whether the model notices.

A mutation patches a few names of the product. Where the model does not notice it, the model has a gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.commit import transaction
from paimon_sql.storage.commit.checks import conflicts, primary_key
from paimon_sql.storage.commit.snapshot import carried_properties, snapshot_commit
from paimon_sql.storage.commit.snapshot.snapshot_commit import RenamingSnapshotCommit, Standing
from paimon_sql.storage.commit.transaction import Outcome, Transaction
from paimon_sql.storage.metadata.numbered_files import EARLIEST, NumberedDirectory
from paimon_sql.storage.metadata.refs.tags import is_same_commit
from paimon_sql.storage.metadata.snapshots import Rollback, SnapshotManager
from paimon_sql.storage.staging import commit_messages as messages_of
from paimon_sql.storage.staging.commit_messages import Changes
from paimon_sql.storage.staging.proposal import Validation
from paimon_sql.storage.table.table import Table

S = "paimon_sql.storage"
MUTATIONS: dict[str, Mutation] = {}


@dataclass(frozen=True)
class Mutation:
    """A repair that is taken out.

    Attributes:
        name: what the product then does wrong.
        finding: the finding that it was.
        patches: by the name of an attribute what takes its place.
        layers: the layers in which it shows.
        kinds: the kinds of tables in which it shows; all by default.
        focus: the operations that it takes; all by default.
    """

    name: str
    finding: str
    patches: Mapping[str, Any] = field(default_factory=dict)
    layers: tuple[str, ...] = ("turns",)
    kinds: tuple[str, ...] = ()
    focus: tuple[str, ...] = ()

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Let the product be as it was before the repair."""
        with ExitStack() as stack:
            for target, replacement in self.patches.items():
                stack.enter_context(mock.patch(target, replacement))
            yield


def mutation(name: str, finding: str, patches: Mapping[str, Any]) -> None:
    """Register a mutation, whose patches are attributes of modules of storage."""
    MUTATIONS[name] = Mutation(name, finding, {f"{S}.{target}": patch for target, patch in patches.items()})


def _focus() -> None:
    """Point the model to the tables and operations of the repair that is out."""
    for (kinds, focus), names in _FOCUSED.items():
        for name in names:
            MUTATIONS[name] = replace(MUTATIONS[name], kinds=kinds, focus=focus)


def _nothing(*_: object, **__: object) -> None:
    return


def _always(answer: Any) -> Callable[..., Any]:
    return lambda *_, **__: answer


# 1: files of commits whose outcome is not known.


def _close_whatever(self: Transaction) -> None:
    if self.outcome is Outcome.UNKNOWN:
        self.staged.add_paths(self.__dict__.get("_held_before", []))
    _CLOSE(self)


def _publish_forgetting(self: Transaction, *given: Any) -> bool:
    is_in_history = _PUBLISH(self, *given)
    self._taken_away = None
    return is_in_history


def _publish_noting(self: Transaction, prepared: Any, attempt: Any, owned: Any) -> bool:
    self.__dict__["_held_before"] = list(owned)
    return _PUBLISH(self, prepared, attempt, owned)


_CLOSE, _PUBLISH = Transaction.close, Transaction._publish
MUTATIONS["an abort deletes staged files whatever the outcome"] = Mutation(
    "an abort deletes staged files whatever the outcome",
    "1, 4",
    {
        f"{S}.commit.transaction.Transaction.close": _close_whatever,
        f"{S}.commit.transaction.Transaction._publish": _publish_noting,
    },
)

mutation(
    "what a rollback took away was never committed",
    "found by this model",
    {"commit.transaction.Transaction._publish": _publish_forgetting},
)


def _certain_in_doubt(self: RenamingSnapshotCommit, snapshot: Snapshot) -> Exception:
    from paimon_sql.errors import CommitConflictError

    return CommitConflictError(f"snapshot {snapshot.id} was not committed.")


mutation(
    "a lost answer counts as not committed",
    "1, low",
    {"commit.snapshot.snapshot_commit.SnapshotCommit._unknown": _certain_in_doubt},
)
MUTATIONS["a missing snapshot is certain on every store"] = Mutation(
    "a missing snapshot is certain on every store",
    "low: the rename may still arrive",
    {"tests.faults.file_system.FaultyFileIO.failures_are_final": _always(True)},
)

# 2: exactly once.

MUTATIONS["a stream's epochs are not looked for in the history"] = Mutation(
    "a stream's epochs are not looked for in the history",
    "2",
    {"tests.faults.actions.exactly_once.committed_once": lambda *_, **__: Validation("nothing", _nothing)},
)


mutation(
    "epochs of expired snapshots are forgotten",
    "2",
    {
        "commit.snapshot.carried_properties._ALL": {carried_properties.LOADS: carried_properties._joined_loads},
        "commit.snapshot.carried_properties._is_incomplete": _always(False),
    },
)

# 3: stalled writers and hints.

mutation(
    "a snapshot is not looked for after its creation",
    "3",
    {"commit.snapshot.snapshot_commit.standing_of": _always(Standing.IN_HISTORY)},
)


def _write_hint(self: NumberedDirectory, name: str, version: int) -> int:
    self.reset_hint(name, version)
    return version


mutation(
    "a hint is not flushed before snapshots go", "9", {"metadata.numbered_files.NumberedDirectory.sync_hint": _nothing}
)
mutation(
    "a change of columns is not looked for after a REPLACE",
    "11",
    {"metadata.schemas.SchemaManager._is_in_use": _always(True), "metadata.schemas.descends": _always(True)},
)
mutation(
    "tags of dropped commits outlive a rollback", "8", {"maintenance.snapshots.rollback._was_dropped": _always(False)}
)
mutation("hints may fall", "3, 7", {"metadata.numbered_files.NumberedDirectory.advance_hint": _write_hint})


def _claim_blindly(table: Table, end: int) -> bool:
    table.snapshots.directory.reset_hint(EARLIEST, end)
    return True


mutation(
    "the slower of two expiries sets EARLIEST back",
    "7",
    {"maintenance.snapshots.expiration._advance_hints": _claim_blindly},
)

# 5: identity of tables.

mutation(
    "the identity of a table is not compared",
    "5",
    {
        "staging.proposal.is_same_table": _always(True),
        "commit.snapshot.snapshot_commit.is_same_table": _always(True),
        "operations.replace_table.is_same_table": _always(True),
    },
)
mutation("a definition that was replaced is not noticed", "5, 11", {"staging.proposal.descends": _always(True)})

# 8: rollbacks.

mutation(
    "snapshots are told by their numbers alone",
    "8",
    {"commit.snapshot.snapshot_commit.is_same_commit": lambda one, other: one.id == other.id},
)


@contextmanager
def _not_held(table: Table, snapshot: Snapshot, why: str) -> Iterator[str]:
    yield why


mutation("a rollback does not hold its snapshot", "8", {"maintenance.snapshots.rollback.guard_tag": _not_held})


def _all_of(table: Table, ids: list[int], rewind: Rollback) -> dict[int, bytes]:
    return {i: table.snapshots.directory.read(i) for i in ids}


def _drop_once(table: Table, target: Snapshot, rewind: Rollback) -> int:
    from paimon_sql.storage.maintenance.snapshots.rollback import _later, drop_newest_first, overtaken

    return drop_newest_first(table, overtaken(table, _later(table, target), rewind))


mutation("a rollback looks for later snapshots once", "8", {"maintenance.snapshots.rollback._drop_later": _drop_once})

mutation(
    "a rollback drops what is built on its target meanwhile",
    "found by this model",
    {"maintenance.snapshots.rollback.overtaken": _all_of},
)


def _remove_by_number(self: SnapshotManager, snapshot: Snapshot, *, durable: bool = False, unless: Any = None) -> bool:
    path = self.directory.path(snapshot.id)
    return not (unless and unless()) and self.directory.file_io.delete(path)


mutation(
    "an expiry removes snapshots by their numbers alone",
    "found by this model",
    {"metadata.snapshots.SnapshotManager.remove": _remove_by_number},
)
mutation(
    "a branch is told by its schema alone",
    "found by this model",
    {"table.table.Table.read_created_millis": _always(None)},
)
mutation(
    "marks of rollbacks are not heeded",
    "found by this model",
    {"metadata.snapshots.Rollback.is_late": _always(False)},
)

# 9: power loss.

mutation("nothing is flushed", "9", {"file_io.local.LocalFileIO.sync": _nothing, "file_io.local._sync_file": _nothing})
mutation("staged files are not flushed", "9", {"file_io.local.LocalFileIO.sync": _nothing})
mutation("directories are not flushed", "9", {"file_io.local.LocalFileIO._sync_directories": _nothing})


def _write_unflushed(file: Any, data: bytes, *, durable: bool) -> None:
    file.write_bytes(data)


mutation("a snapshot's file is not flushed", "9", {"file_io.local._write": _write_unflushed})

# 10: loads.

mutation(
    "a load does not look for those of others",
    "10",
    {"copy.load_history.LoadHistory.not_loaded": lambda self, files: Validation("nothing", _nothing)},
)


class _Unnamed:
    key = "unnamed"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return {}


mutation(
    "the history of loads is not part of the snapshot", "10", {"copy.load_history.PendingLoad.properties": _Unnamed()}
)

# 11: REPLACE TABLE.


def _replace_in_two(made: Transaction, old: Table, messages: Any) -> Any:
    from paimon_sql.storage.operations import operations
    from paimon_sql.storage.staging.proposal import Overwrite, overwritten

    table = made.table
    table.schemas.try_add(table.schema)
    with Transaction(table, user=f"{made.user}-emptied") as emptying:
        operations.overwrite(
            emptying, [], lambda latest: overwritten(table, latest, Overwrite(), []), even_if_empty=True
        )
    return operations.append(made, messages)


MUTATIONS["REPLACE TABLE AS SELECT makes two commits"] = Mutation(
    "REPLACE TABLE AS SELECT makes two commits",
    "11",
    {"tests.faults.actions.definitions.replace_table": _replace_in_two},
)

# 13: locks.

MUTATIONS["a lock is not asked for once more"] = Mutation(
    "a lock is not asked for once more", "12, 13", {"tests.faults.leases.Lease.confirm": _nothing}
)


@contextmanager
def _unheld(self: Any, branch: str) -> Iterator[Any]:
    class Held:
        is_locked = True

        def confirm(self) -> None:
            return

    yield Held()


MUTATIONS["writers do not take the lock"] = Mutation(
    "writers do not take the lock", "13", {"tests.faults.leases.LeasedLock.acquire": _unheld}
)

# Conflicts, tags, branches, expiry, orphans: what older reviews proved.


def _without(left_out: Validation) -> Callable[[Table], tuple[Validation, ...]]:
    checked = transaction.validations_of
    return lambda table: tuple(v for v in checked(table) if v is not left_out)


_CHECKS = (*vars(conflicts).values(), primary_key.KEEPS_ORDER)
for _validation in (v for v in _CHECKS if isinstance(v, Validation)):
    mutation(
        f"not checked: {_validation.name}", "conflicts", {"commit.transaction.validations_of": _without(_validation)}
    )
MUTATIONS["changes of the same columns by others are not looked for"] = Mutation(
    "changes of the same columns by others are not looked for",
    "conflicts",
    {"tests.faults.actions.rows.columns_unchanged": lambda messages: Validation("nothing", _nothing)},
)
mutation(
    "expiry does not look for new tags and branches",
    "expiry",
    {"maintenance.snapshots.expiration.retry_on_concurrent_change": lambda t, find, *_: find()},
)
mutation(
    "orphan removal does not look for new tags and branches",
    "orphans",
    {"maintenance.orphans.removal.retry_on_concurrent_change": lambda t, f: f()},
)
_sure = _always(True)
mutation(
    "a tag does not make sure of its snapshot",
    "tags",
    {"maintenance.tags.management.is_referenced": _sure, "retention.tags.is_referenced": _sure},
)
mutation(
    "a branch does not make sure of its snapshot",
    "branches",
    {"branches.management.is_referenced": _sure, "retention.tags.is_referenced": _sure},
)
mutation("a tag is made without a guard", "found by this model", {"maintenance.tags.management.guard_tag": _not_held})
mutation("a branch is made without a guard", "found by this model", {"branches.management.guard_tag": _not_held})


def _delete_backwards(table: Table, plan: Any) -> None:
    for snapshot in reversed(plan.snapshots):
        table.file_io.delete(table.snapshots.directory.path(snapshot.id))
    plan.files.delete(table)


mutation("expiry removes snapshots first", "expiry", {"maintenance.snapshots.expiration._carry_out": _delete_backwards})


def _no_tags(tags: Any, begin: int, end: int) -> list[Any]:
    return []


mutation(
    "expiry takes snapshots that came late",
    "found by this model",
    {"retention.files_to_delete.without_late_snapshots": lambda table, snapshots: list(snapshots)},
)
mutation("expiry forgets the tags", "expiry", {"retention.retained_references.nearest_tags": _no_tags})


def _created_over(table: Table, number: int, data: bytes) -> bool:
    directory = table.snapshots.directory
    directory.file_io.write_bytes(directory.path(number), data)
    return True


mutation("a fast-forward overwrites a rival's snapshot", "13", {"operations.fast_forward._created": _created_over})


def _look_unordered(table: Table, prepared: Any) -> Any:
    directory, snapshot = table.snapshots.directory, prepared.snapshot
    number = snapshot.id
    ids = directory.versions()
    mine = table.snapshots.find(number)
    stands = mine is not None and is_same_commit(mine, snapshot)
    if not any(i > number for i in ids) and not stands:
        return Standing.OVERTAKEN
    return _LOOK(table, prepared)


_LOOK = snapshot_commit._look
mutation(
    "a snapshot's file is read after the directory is listed",
    "found by this model",
    {"commit.snapshot.snapshot_commit._look": _look_unordered},
)

mutation(
    "rows of one number are in the order of their writers",
    "found by this model",
    {"commit.checks.primary_key.KeyCommits.in_commit_order": lambda layout, proposal: proposal.changes},
)


def _without_marks(messages: Any) -> Changes:
    changes = messages_of.compact_changes(messages)
    files = {place: {n for n in names if not n.startswith("index-")} for place, names in changes.deep.items()}
    return replace(changes, deep={place: frozenset(names) for place, names in files.items()})


mutation(
    "a compaction does not look for rows that were marked as deleted meanwhile",
    "found by this model",
    {"commit.checks.conflicts.index_entries": _always([]), "operations.operations.compact_changes": _without_marks},
)

mutation(
    "a commit that a rollback took away is repeated whatever has become of its files",
    "found by this model",
    {"commit.transaction.require_files_of": _always(None)},
)

_PLAIN, _COMPACTED = ("append", "append partitions"), ("append compacting", "keyed compacting", "partial update")
_FOCUSED: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[str, ...]] = {
    (_PLAIN, ("stream epoch", "expire")): ("epochs of expired snapshots are forgotten",),
    (_PLAIN, ("load files",)): ("a load does not look for those of others",),
    (_PLAIN, ("expire",)): (
        "hints may fall",
        "the slower of two expiries sets EARLIEST back",
        "a hint is not flushed before snapshots go",
        "expiry takes snapshots that came late",
    ),
    (_PLAIN, ("expire", "tag", "branch")): (
        "expiry does not look for new tags and branches",
        "a tag does not make sure of its snapshot",
        "a branch does not make sure of its snapshot",
        "a tag is made without a guard",
        "a branch is made without a guard",
        "expiry forgets the tags",
        "expiry removes snapshots first",
    ),
    (_PLAIN, ("roll back",)): (
        "snapshots are told by their numbers alone",
        "a rollback looks for later snapshots once",
    ),
    (_PLAIN, ("roll back", "expire", "tag", "overwrite")): (
        "a commit that a rollback took away is repeated whatever has become of its files",
    ),
    (_PLAIN, ("roll back", "expire")): (
        "a rollback does not hold its snapshot",
        "an expiry removes snapshots by their numbers alone",
    ),
    (_PLAIN, ("roll back", "fast forward", "branch")): ("what a rollback took away was never committed",),
    (_PLAIN, ("roll back", "tag")): (
        "tags of dropped commits outlive a rollback",
        "marks of rollbacks are not heeded",
    ),
    (_PLAIN, ("replace table", "change columns")): ("a change of columns is not looked for after a REPLACE",),
    (_PLAIN, ("branch", "drop branch")): ("a branch is told by its schema alone",),
    (_PLAIN, ("branch", "fast forward")): ("a fast-forward overwrites a rival's snapshot",),
    (_PLAIN, ("remove orphans", "branch", "tag", "roll back")): (
        "orphan removal does not look for new tags and branches",
    ),
    (_COMPACTED, ("compact",)): (
        "not checked: files that go are live, and files that come are new",
        "not checked: sorted runs above level 0 do not overlap",
    ),
    (("keyed compacting", "keyed changelog"), ("compact",)): (
        "not checked: a compaction leaves no older rows of its numbers on level 0",
        "rows of one number are in the order of their writers",
    ),
    (("aggregation changelog",), ("compact",)): (
        "not checked: a compaction knew all files above level 0 and their deleted rows",
    ),
    (("keyed vectors",), ()): ("a compaction does not look for rows that were marked as deleted meanwhile",),
    (("append vectors",), ("mark deleted", "compact")): (
        "not checked: files in which rows are deleted are live",
        "not checked: no rows were deleted in files that are rewritten",
    ),
    (("append evolving",), ("update columns", "compact")): (
        "not checked: files of the same rows belong together",
        "changes of the same columns by others are not looked for",
    ),
    (("append buckets", "keyed", "keyed partitions"), ("rescale",)): (
        "not checked: a partition has one number of buckets",
    ),
}
_focus()
