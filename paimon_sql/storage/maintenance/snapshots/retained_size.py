"""What the files of a table or branch are held for, in bytes: the newest snapshot, older ones, tags, changelogs.

Told from metadata alone: what a commit took away stands in its manifests, so that older snapshots need not be read
whole. The work is bounded, as only the newest snapshots, tags and changelogs are looked at. What other branches hold
besides is not counted, nor files that nobody names.
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
from paimon_sql.storage.execution.threads import spread
from paimon_sql.storage.retention.used_files import new_rows, with_kind
from paimon_sql.storage.table.changelogs import ChangelogManager
from paimon_sql.storage.table.table import Table

LOOKED_AT = 200
"""How many of the newest snapshots, and of the newest changelogs, are looked at."""
TAGS_LOOKED_AT = 20
"""How many of the newest tags older than all snapshots are looked at."""
_THREADS = 8
_FILES = pa.schema([MANIFEST_SCHEMA.field(name) for name in ("file_name", "file_size")])
_ENTRIES = pa.schema([*(MANIFEST_SCHEMA.field(name) for name in ("kind", "file_source")), *_FILES])

A = TypeVar("A")
R = TypeVar("R")


@dataclass(frozen=True)
class RetainedSize:
    """Bytes by what holds them; each file counts once, for the first that holds it.

    Attributes:
        live: data files of the newest snapshot.
        older: data files that only older snapshots hold.
        tags: data files that only tags hold.
        changelogs: files of changelogs.
        indexes: index files of the newest snapshot.
        metadata: manifests and manifest lists of the newest snapshot.
        all_snapshots: whether ``older`` and ``changelogs`` count all that there are, and not the newest alone.
        all_tags: the same of ``tags``.
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
        """All together."""
        return self.live + self.older + self.tags + self.changelogs + self.indexes + self.metadata


def held_space(table: Table, latest: Snapshot, live: pa.Table, indexes: Sequence[IndexManifestEntry]) -> RetainedSize:
    """What files are held for; what vanishes meanwhile is not counted.

    Args:
        table: the table.
        latest: its newest snapshot.
        live: the live files of that snapshot, in a table of ``MANIFEST_SCHEMA``.
        indexes: its index files.
    """
    earliest = table.snapshots.earliest_id() or latest.id
    ids = [i for i in table.snapshots.directory.versions() if earliest <= i <= latest.id]
    found = _left(table.snapshots.get, ids[-LOOKED_AT - 1 :])
    deltas = _metas(table, (s.delta_manifest_list for s in found[1:]))
    taken = _read(table, [m for m in deltas if m.num_deleted_files])
    counted = _Counted(live.select(_FILES.names))
    older = counted.add(with_kind(taken, FileKind.DELETE))
    tagged = {tag.snapshot.id: tag.snapshot for tag in table.tags.all() if tag.snapshot.id < earliest}
    looked_at = [tagged[i] for i in sorted(tagged)[-TAGS_LOOKED_AT:]]
    if looked_at:
        # What the first retained snapshot holds is no matter of tags, though nobody may have looked so far back.
        counted.pass_over(_live(table, _left(table.snapshots.get, [earliest])))
    tags = counted.add(_live(table, looked_at))
    kept = ChangelogManager(table.file_io, table.paths.branch_root)
    outliving = kept.ids()
    ended = [c for c in _left(kept.find, outliving[-LOOKED_AT:]) if c is not None]
    own = _read(table, _metas(table, (s.changelog_manifest_list for s in (*found, *ended))))
    fresh = _read(table, _metas(table, (c.delta_manifest_list for c in ended if not c.changelog_manifest_list)))
    changelogs = counted.add(with_kind(own, FileKind.ADD)) + counted.add(with_kind(new_rows(fresh), FileKind.ADD))
    lists = (latest.base_manifest_list_size or 0) + (latest.delta_manifest_list_size or 0)
    return RetainedSize(
        live=pc.sum(live["file_size"]).as_py() or 0,
        older=older,
        tags=tags,
        changelogs=changelogs,
        indexes=sum(e.file.file_size for e in indexes),
        metadata=lists + sum(m.file_size for m in manifests_of(table, latest)),
        all_snapshots=len(ids) <= LOOKED_AT + 1 and len(outliving) <= LOOKED_AT,
        all_tags=len(tagged) <= TAGS_LOOKED_AT,
    )


class _Counted:
    """The names of files that count already."""

    def __init__(self, files: pa.Table) -> None:
        self._names = [files["file_name"]]

    def pass_over(self, files: pa.Table) -> pa.Table:
        """Let files count no more; those among them that did not yet, each once."""
        known = pa.concat_arrays([c for names in self._names for c in names.chunks] or [pa.array([], pa.string())])
        names = files["file_name"].combine_chunks()
        first = np.unique(names.dictionary_encode().indices.to_numpy(), return_index=True)[1]
        once = files.take(pa.array(first, pa.int64()))
        new = once.filter(pc.invert(pc.is_in(once["file_name"], value_set=known)))
        self._names.append(new["file_name"])
        return new

    def add(self, files: pa.Table) -> int:
        """Count files: the bytes of those that did not count yet."""
        size: int = pc.sum(self.pass_over(files)["file_size"]).as_py() or 0
        return size


def _live(table: Table, snapshots: Iterable[Snapshot]) -> pa.Table:
    def live(snapshot: Snapshot) -> pa.Table:
        return live_files(table, snapshot).entries.select(_FILES.names)

    return pa.concat_tables([_FILES.empty_table(), *_left(live, list(snapshots))])


def _metas(table: Table, lists: Iterable[str | None]) -> list[ManifestFileMeta]:
    names = list(dict.fromkeys(name for name in lists if name))
    return [m for metas in _left(table.manifests.read_list, names) for m in metas]


def _read(table: Table, metas: Sequence[ManifestFileMeta]) -> pa.Table:
    names = list(dict.fromkeys(m.file_name for m in metas))
    read = [entries.select(_ENTRIES.names) for entries in _left(table.manifests.read, names)]
    return pa.concat_tables([_ENTRIES.empty_table(), *read])


def _left(function: Callable[[A], R], items: Sequence[A]) -> list[R]:
    """What is there of some files."""

    def ask(item: A) -> list[R]:
        try:
            return [function(item)]
        except (MissingFileError, CorruptFileError, NotFoundError):
            return []

    return [found for part in spread(ask, items, _THREADS) for found in part]
