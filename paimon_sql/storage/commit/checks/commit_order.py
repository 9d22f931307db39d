"""Rows of one key and one sequence number: the later commit's is the newer one, before and after every compaction.

Writers of one bucket that run at the same time number their rows alike. Where a key has the same number in two files,
the order of the files decides (`scan/sections.py`): that of levels, and on level 0 that of the greatest sequence
numbers. So a file that comes later must not be taken for the older one, and a compaction must not bring a newer file
to a deeper level while an older one, which it has not seen, stays on level 0.
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
    """The changes, with new files of level 0 newer than those that rivals have committed under the same numbers.

    Their greatest sequence numbers are raised in the metadata, which is a bound of those in the file.
    """
    changes = proposal.changes
    fresh = _on_level_0(proposal, FileKind.ADD)
    if not fresh:
        return changes
    names = {e.file.file_name for e in fresh}
    known = _by_bucket(_overlapping_sequences(proposal.left, fresh))
    raised: dict[str, DataFileMeta] = {}
    for place, mine in _by_bucket(fresh).items():
        rivals = [f for f in known[place] if f.file_name not in names and any(_meet(f, m) for m in mine)]
        oldest = min(mine, key=age)
        if rivals and age(oldest) < max(map(age, rivals)):
            by = max(f.max_sequence_number for f in rivals) + 1 - oldest.max_sequence_number
            raised |= {f.file_name: replace(f, max_sequence_number=f.max_sequence_number + by) for f in mine}

    def in_order(entry: ManifestEntry) -> ManifestEntry:
        file = raised.get(entry.file.file_name)
        return entry if file is None or entry.kind is not FileKind.ADD else replace(entry, file=file)

    return replace(changes, entries=[in_order(e) for e in changes.entries]) if raised else changes


def _check_order(proposal: Proposal) -> None:
    """Rows that a compaction leaves on level 0 are newer than those that it has merged."""
    table, deep = proposal.table, proposal.changes.deep
    gone = [e for e in _on_level_0(proposal, FileKind.DELETE) if (e.partition, e.bucket) in deep]
    if not gone:
        return
    names = {e.file.file_name for e in gone}
    for files in _by_bucket(_overlapping_sequences(proposal.live, gone)).values():
        merged = [f for f in files if f.file_name in names]
        for f in (f for f in files if f.file_name not in names):
            newer = [m for m in merged if age(f) < age(m) and _meet(f, m)]
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


def _overlapping_sequences(known: pa.Table, changed: Sequence[ManifestEntry]) -> list[ManifestEntry]:
    """The files of level 0 whose sequence numbers may be among those of files that change."""
    first = min(e.file.min_sequence_number for e in changed)
    return entries(
        known.filter(pc.and_(pc.equal(known["level"], 0), pc.greater_equal(known["max_sequence_number"], first)))
    )


def _by_bucket(found: Iterable[ManifestEntry]) -> dict[tuple[bytes, int], list[DataFileMeta]]:
    buckets: dict[tuple[bytes, int], list[DataFileMeta]] = {}
    for e in found:
        buckets.setdefault((e.partition, e.bucket), []).append(e.file)
    return buckets


def _meet(one: DataFileMeta, other: DataFileMeta) -> bool:
    """Whether two files may hold the same sequence number."""
    return one.min_sequence_number <= other.max_sequence_number and other.min_sequence_number <= one.max_sequence_number


KEEPS_ORDER = Validation("a compaction leaves no older rows of its numbers on level 0", _check_order)
