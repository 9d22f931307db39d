"""Size of retained files by what retains them: the newest snapshot, older ones, tags, changelogs.

Computed from metadata only: what a commit deleted is in its manifests, so that older snapshots need not be read fully.
The work is bounded, as only the newest snapshots, tags and changelogs are read. Files of other branches, and files that
nothing refers to, are not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CorruptFileError, MissingFileError, NotFoundError
from paimon_sql.format.metadata.index_manifest import IndexManifestEntry
from paimon_sql.format.metadata.manifest import MANIFEST_SCHEMA, FileKind, ManifestFileMeta
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.data_files.live_files import live_files, manifests_of
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.metadata.snapshots import SnapshotView
from paimon_sql.storage.retention.retained_references import file_names, new_rows, with_kind
from paimon_sql.storage.table.table import Table

MAX_SNAPSHOTS = 200
"""Max number of snapshots, and of changelogs, to read, from the newest."""
TAGS_LOOKED_AT = 20
"""Max number of tags older than all snapshots to read, from the newest."""
_THREADS = 8
_FILES = pa.schema([MANIFEST_SCHEMA.field(name) for name in ("file_name", "file_size")])
_ENTRIES = pa.schema([*(MANIFEST_SCHEMA.field(name) for name in ("kind", "file_source")), *_FILES])

A = TypeVar("A")
R = TypeVar("R")


@dataclass(frozen=True)
class RetainedSize:
    """Bytes by what retains them; each file counts once, for the first reference that retains it.

    Attributes:
        live: data files of the newest snapshot.
        older: data files that only older snapshots retain.
        tags: data files that only tags retain.
        changelogs: files of changelogs.
        indexes: index files of the newest snapshot.
        metadata: manifests and manifest lists of the newest snapshot.
        all_snapshots: whether ``older`` and ``changelogs`` include all, not only the newest.
        all_tags: whether ``tags`` includes all.
    """

    live: int = 0
    older: int = 0
    tags: int = 0
    changelogs: int = 0
    indexes: int = 0
    metadata: int = 0
    all_snapshots: bool = True
    all_tags: bool = True

    @property
    def total(self) -> int:
        """The sum."""
        return self.live + self.older + self.tags + self.changelogs + self.indexes + self.metadata


def held_space(
    table: Table, seen: SnapshotView, latest: Snapshot, live: pa.Table, indexes: Sequence[IndexManifestEntry]
) -> RetainedSize:
    """Compute the retained size; what vanishes meanwhile is not counted.

    Args:
        table: the table.
        seen: its snapshots.
        latest: its newest snapshot.
        live: the live files of that snapshot, in a table of ``MANIFEST_SCHEMA``.
        indexes: its index files.
    """
    earliest = table.snapshots.earliest_id() or latest.id
    ids = [i for i in table.snapshots.directory.versions() if earliest <= i <= latest.id]
    snapshots = _existing(seen.get, ids[-MAX_SNAPSHOTS - 1 :])
    deltas = _metas(table, (s.delta_manifest_list for s in snapshots[1:]))
    with_deletes = _read(table, [m for m in deltas if m.num_deleted_files])
    counter = _Counter(live.select(_FILES.names))
    older = counter.add(with_kind(with_deletes, FileKind.DELETE))
    tagged = {tag.snapshot.id: tag.snapshot for tag in table.tags.all() if tag.snapshot.id < earliest}
    tagged_snapshots = [tagged[i] for i in sorted(tagged)[-TAGS_LOOKED_AT:]]
    if tagged_snapshots:
        # Files of the first retained snapshot do not count for tags, even if the deltas read do not reach so far back.
        counter.pass_over(_live(table, _existing(seen.get, [earliest])))
    tags = counter.add(_live(table, tagged_snapshots))
    manager = table.changelogs
    changelog_ids = manager.ids()
    outliving = [c for c in _existing(manager.find, changelog_ids[-MAX_SNAPSHOTS:]) if c is not None]
    logs = _read(table, _metas(table, (s.changelog_manifest_list for s in (*snapshots, *outliving))))
    added = _read(table, _metas(table, (c.delta_manifest_list for c in outliving if not c.changelog_manifest_list)))
    changelogs = counter.add(with_kind(logs, FileKind.ADD)) + counter.add(with_kind(new_rows(added), FileKind.ADD))
    lists = (latest.base_manifest_list_size or 0) + (latest.delta_manifest_list_size or 0)
    return RetainedSize(
        live=pc.sum(live["file_size"]).as_py() or 0,
        older=older,
        tags=tags,
        changelogs=changelogs,
        indexes=sum(e.file.file_size for e in indexes),
        metadata=lists + sum(m.file_size for m in manifests_of(table, latest)),
        all_snapshots=len(ids) <= MAX_SNAPSHOTS + 1 and len(changelog_ids) <= MAX_SNAPSHOTS,
        all_tags=len(tagged) <= TAGS_LOOKED_AT,
    )


class _Counter:
    """Counts each file once, by name."""

    def __init__(self, files: pa.Table) -> None:
        self._counted = [files]

    def pass_over(self, files: pa.Table) -> pa.Table:
        """Exclude files from counting; return the distinct ones that were not yet counted or excluded."""
        counted = file_names(self._counted)
        names = files["file_name"].combine_chunks()
        first = np.unique(names.dictionary_encode().indices.to_numpy(), return_index=True)[1]
        once = files.take(pa.array(first, pa.int64()))
        new = once.filter(pc.invert(pc.is_in(once["file_name"], value_set=counted)))
        self._counted.append(new)
        return new

    def add(self, files: pa.Table) -> int:
        """Count files; return the bytes of those that were not yet counted or excluded."""
        size: int = pc.sum(self.pass_over(files)["file_size"]).as_py() or 0
        return size


def _live(table: Table, snapshots: Iterable[Snapshot]) -> pa.Table:
    found = _existing(lambda s: live_files(table, s).entries.select(_FILES.names), list(snapshots))
    return pa.concat_tables([_FILES.empty_table(), *found])


def _metas(table: Table, lists: Iterable[str | None]) -> list[ManifestFileMeta]:
    names = list(dict.fromkeys(name for name in lists if name))
    return [m for metas in _existing(table.manifests.read_list, names) for m in metas]


def _read(table: Table, metas: Sequence[ManifestFileMeta]) -> pa.Table:
    names = list(dict.fromkeys(m.file_name for m in metas))
    read = [entries.select(_ENTRIES.names) for entries in _existing(table.manifests.read, names)]
    return pa.concat_tables([_ENTRIES.empty_table(), *read])


def _existing(function: Callable[[A], R], items: Sequence[A]) -> list[R]:
    """Return the results for the items that exist and are readable."""

    def attempt(item: A) -> list[R]:
        try:
            return [function(item)]
        except (MissingFileError, CorruptFileError, NotFoundError):
            return []

    return [found for part in map_in_threads(attempt, items, _THREADS) for found in part]
