"""Commit order of rows with the same key and sequence number: those of the later commit are newer.

Concurrent writers of one bucket assign the same sequence numbers. If two files contain the same key and number, the
order of the files decides (`data_files/sections.py: age`): by level, and on level 0 by max sequence number. So a file
of a later commit must not be taken for the older one, and a compaction must not move a newer file to a deeper level
while an older one, which it has not read, stays on level 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CommitConflictError
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry, entries
from paimon_sql.storage.data_files.sections import age, key_ranks
from paimon_sql.storage.staging.commit_messages import Changes
from paimon_sql.storage.staging.proposal import Proposal, Validation


def in_commit_order(proposal: Proposal) -> Changes:
    """Return the changes with new level 0 files newer than concurrently committed ones with the same sequence numbers.

    For this their max sequence numbers are raised in the metadata, as upper bounds of those in the files.
    """
    changes = proposal.changes
    fresh = _on_level_0(proposal, FileKind.ADD)
    if not fresh:
        return changes
    names = {e.file.file_name for e in fresh}
    existing = _by_bucket(_overlapping_level_0(proposal.live_after, fresh))
    raised: dict[str, DataFileMeta] = {}
    for bucket, new_files in _by_bucket(fresh).items():
        concurrent = [
            f for f in existing[bucket] if f.file_name not in names and any(_may_share_number(f, m) for m in new_files)
        ]
        oldest = min(new_files, key=age)
        if concurrent and age(oldest) < max(map(age, concurrent)):
            shift = max(f.max_sequence_number for f in concurrent) + 1 - oldest.max_sequence_number
            raised |= {f.file_name: replace(f, max_sequence_number=f.max_sequence_number + shift) for f in new_files}

    def in_order(entry: ManifestEntry) -> ManifestEntry:
        file = raised.get(entry.file.file_name)
        return entry if file is None or entry.kind is not FileKind.ADD else replace(entry, file=file)

    return replace(changes, entries=[in_order(e) for e in changes.entries]) if raised else changes


def _check_order(proposal: Proposal) -> None:
    """Check that rows a compaction leaves on level 0 are newer than those it merged."""
    table, deep = proposal.table, proposal.changes.deep
    compacted = [e for e in _on_level_0(proposal, FileKind.DELETE) if (e.partition, e.bucket) in deep]
    if not compacted:
        return
    names = {e.file.file_name for e in compacted}
    for files in _by_bucket(_overlapping_level_0(proposal.live, compacted)).values():
        merged = [f for f in files if f.file_name in names]
        for f in (f for f in files if f.file_name not in names):
            newer = [m for m in merged if age(f) < age(m) and _may_share_number(f, m)]
            low, high = key_ranks(table.schema, [f, *newer])
            if ((low[1:] <= high[0]) & (high[1:] >= low[0])).any():
                raise CommitConflictError(
                    f"{table.name}: another job wrote {f.file_name} at the same time as {newer[0].file_name}, which was"
                    " compacted without it.",
                    remedy="Run the statement again.",
                )


def _on_level_0(proposal: Proposal, kind: FileKind) -> list[ManifestEntry]:
    if proposal.latest is None or not proposal.table.schema.primary_keys:
        return []
    return [e for e in proposal.changes.entries if e.kind is kind and e.file.level == 0 and e.bucket >= 0]


def _overlapping_level_0(files: pa.Table, changed: Sequence[ManifestEntry]) -> list[ManifestEntry]:
    """Return level 0 files whose sequence numbers may overlap those of changed files."""
    first = min(e.file.min_sequence_number for e in changed)
    return entries(
        files.filter(pc.and_(pc.equal(files["level"], 0), pc.greater_equal(files["max_sequence_number"], first)))
    )


def _by_bucket(found: Iterable[ManifestEntry]) -> dict[tuple[bytes, int], list[DataFileMeta]]:
    buckets: dict[tuple[bytes, int], list[DataFileMeta]] = {}
    for e in found:
        buckets.setdefault((e.partition, e.bucket), []).append(e.file)
    return buckets


def _may_share_number(one: DataFileMeta, other: DataFileMeta) -> bool:
    """Whether two files may contain the same sequence number."""
    return one.min_sequence_number <= other.max_sequence_number and other.min_sequence_number <= one.max_sequence_number


KEEPS_ORDER = Validation("a compaction leaves no older rows of its numbers on level 0", _check_order)
