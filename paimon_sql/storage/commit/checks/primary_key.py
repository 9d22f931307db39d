"""Checks of commits to primary-key tables: the order of rows of one key, and the chains of chain tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import ConstraintViolationError
from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.branches.chains import Chain, Timeline
from paimon_sql.storage.commit.checks import conflicts
from paimon_sql.storage.commit.checks.conflicts import CommitLayout
from paimon_sql.storage.data_files.live_files import by_bucket, live_files
from paimon_sql.storage.data_files.lsm_tree import age, key_ranks
from paimon_sql.storage.staging.commit_messages import Changes
from paimon_sql.storage.staging.proposal import Proposal, Validation, conflict_error
from paimon_sql.storage.table.table import Table


def _check_order(proposal: Proposal) -> None:
    """Check that rows a compaction leaves on level 0 are newer than those it merged."""
    table, deep = proposal.table, proposal.changes.deep
    compacted = [e for e in _on_level_0(proposal, FileKind.DELETE) if (e.partition, e.bucket) in deep]
    if not compacted:
        return
    names = {e.file.file_name for e in compacted}
    for files in by_bucket(_overlapping_level_0(proposal.live, compacted)).values():
        merged = [f for f in files if f.file_name in names]
        for f in (f for f in files if f.file_name not in names):
            newer = [m for m in merged if age(f) < age(m) and _may_share_number(f, m)]
            low, high = key_ranks(table.schema, [f, *newer])
            if ((low[1:] <= high[0]) & (high[1:] >= low[0])).any():
                what = f"another job wrote {f.file_name} at the same time as {newer[0].file_name}, which was"
                raise conflict_error(table, f"{what} compacted without it.")


def _on_level_0(proposal: Proposal, kind: FileKind) -> list[ManifestEntry]:
    if proposal.latest is None:
        return []
    return [e for e in proposal.changes.entries if e.kind is kind and e.file.level == 0 and e.bucket >= 0]


def _overlapping_level_0(files: pa.Table, changed: Sequence[ManifestEntry]) -> list[ManifestEntry]:
    """Return level 0 files whose sequence numbers may overlap those of changed files."""
    first = min(e.file.min_sequence_number for e in changed)
    overlaps = pc.and_(pc.equal(files["level"], 0), pc.greater_equal(files["max_sequence_number"], first))
    return entries(files.filter(overlaps))


def _may_share_number(one: DataFileMeta, other: DataFileMeta) -> bool:
    """Whether two files may contain the same sequence number."""
    return one.min_sequence_number <= other.max_sequence_number and other.min_sequence_number <= one.max_sequence_number


KEEPS_ORDER = Validation("a compaction leaves no older rows of its numbers on level 0", _check_order)


class KeyCommits(CommitLayout):
    """Commits of rows that sequence numbers order.

    Concurrent writers of one bucket assign the same sequence numbers. If two files contain the same key and number, the
    order of the files decides (`lsm_tree.age`): by level, and on level 0 by max sequence number. So a file of a later
    commit must not be taken for the older one, and a compaction must not move a newer file to a deeper level while an
    older one, which it has not read, stays on level 0.
    """

    validations = (*conflicts.OF_KEYS, KEEPS_ORDER)

    def in_commit_order(self, proposal: Proposal) -> Changes:
        """Return the changes with new level 0 files newer than concurrent ones with the same sequence numbers.

        For this their max sequence numbers are raised in the metadata, as upper bounds of those in the files.
        """
        changes = proposal.changes
        fresh = _on_level_0(proposal, FileKind.ADD)
        if not fresh:
            return changes
        names = {e.file.file_name for e in fresh}
        existing = by_bucket(_overlapping_level_0(proposal.live_after, fresh))
        raised: dict[str, DataFileMeta] = {}
        for bucket, new_files in by_bucket(fresh).items():
            others = (f for f in existing[bucket] if f.file_name not in names)
            concurrent = [f for f in others if any(_may_share_number(f, m) for m in new_files)]
            oldest = min(new_files, key=age)
            if concurrent and age(oldest) < max(map(age, concurrent)):
                shift = max(f.max_sequence_number for f in concurrent) + 1 - oldest.max_sequence_number
                for f in new_files:
                    raised[f.file_name] = replace(f, max_sequence_number=f.max_sequence_number + shift)

        def in_order(entry: ManifestEntry) -> ManifestEntry:
            file = raised.get(entry.file.file_name)
            return entry if file is None or entry.kind is not FileKind.ADD else replace(entry, file=file)

        return replace(changes, entries=[in_order(e) for e in changes.entries]) if raised else changes


def _check_overwrite(proposal: Proposal) -> None:
    """Check that an overwrite drops no full partition that later changes need."""
    table, latest, changes = proposal.table, proposal.latest, proposal.changes
    chain = Chain.of(table)
    if chain is None or not (chain.is_snapshot_branch or chain.is_delta_branch):
        return
    added = {e.partition for e in changes.entries if e.kind is FileKind.ADD}
    deleted = {e.partition for e in changes.entries} - added
    if chain.is_snapshot_branch:
        if not added:
            _check(chain, deleted, _partitions(table, latest), _newest(chain.deltas()))
        return
    full = _newest(chain.snapshots())
    changed = (_partitions(table, latest) - deleted) | added
    _check(chain, {e.partition for e in changes.entries} & full, full, changed)


def _check_append(proposal: Proposal) -> None:
    """Check that new rows hide no partition: one in the table's own branch is read instead of the other branches'."""
    table, latest, changes = proposal.table, proposal.latest, proposal.changes
    chain = Chain.read_by(table)
    if chain is None:
        return
    added = {e.partition for e in changes.entries if e.kind is FileKind.ADD} - _partitions(table, latest)
    hidden = sorted(added & (_newest(chain.snapshots()) | _newest(chain.deltas()))) if added else []
    if hidden:
        raise ConstraintViolationError(
            f"{table.name}: new rows of partition {PartitionPaths.of(table.schema).name(hidden[0])} would hide"
            f" all of its rows in the branches '{chain.snapshot_branch}' and '{chain.delta_branch}'.",
            remedy=f"Write into {table.name}$branch_{chain.delta_branch}, or INSERT OVERWRITE the partition.",
        )


KEEPS_CHAINS = Validation("chains keep the whole partitions that they begin with", _check_overwrite)
HIDES_NO_PARTITION = Validation("new rows hide no partition of a chain's branches", _check_append)


class ChainCommits(CommitLayout):
    """Commits to a chain table and its branches.

    A full partition that is overwritten in the delta branch is outdated, and so dropped. Dropping one without an
    earlier full partition is rejected if later changes need it. So are new rows of the table's own branch that would be
    read before their partition's rows in the other branches.
    """

    append_validations = (HIDES_NO_PARTITION,)
    overwrite_validations = (KEEPS_CHAINS,)

    def outdated_partitions(self, table: Table, overwritten: Iterable[bytes]) -> tuple[Table, list[bytes]] | None:
        chain = Chain.of(table)
        if chain is None or not chain.is_delta_branch:
            return None
        snapshots = chain.snapshots()
        found = sorted(set(overwritten) & _newest(snapshots))
        return (snapshots, found) if found else None


def _check(chain: Chain, dropped: set[bytes], full: set[bytes], changed: set[bytes]) -> None:
    if not dropped:
        return
    timeline = Timeline(chain, full, changed)
    for place in chain.places(sorted(dropped)):
        if timeline.is_first_needed(place):
            raise ConstraintViolationError(
                f"{chain.table.name}: the whole partition"
                f" {PartitionPaths.of(chain.table.schema).name(place.partition)} cannot be dropped: later ones of"
                f" branch '{chain.delta_branch}' depend on it, and there is no whole one before it.",
                remedy="CALL sys.compact_chain_table for the next of them first, or drop them too.",
            )


def _newest(table: Table) -> set[bytes]:
    return _partitions(table, table.snapshots.latest())


def _partitions(table: Table, snapshot: Snapshot | None) -> set[bytes]:
    return set(live_files(table, snapshot).partitions)
