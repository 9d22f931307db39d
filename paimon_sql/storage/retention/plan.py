"""The plan of an expiration: the snapshots and files to delete.

A data file is deleted if a commit after the first expired snapshot deleted it and no retained reference has it live; a
manifest, index or statistics file if an expired snapshot refers to it and no retained reference does. Retained
references are the first retained snapshot, tags, and other branches.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CorruptFileError, MissingFileError, UnsafePathError
from paimon_sql.format.metadata.data_file import FileSource
from paimon_sql.format.metadata.index_manifest import IndexManifestEntry
from paimon_sql.format.metadata.manifest import MANIFEST_SCHEMA, FileKind
from paimon_sql.format.metadata.snapshot import Changelog, Snapshot
from paimon_sql.format.text.instants import current_millis
from paimon_sql.storage.file_io.paths import name_of
from paimon_sql.storage.metadata.numbered_files import EARLIEST
from paimon_sql.storage.metadata.snapshots import SnapshotView
from paimon_sql.storage.retention.files_to_delete import FilesToDelete
from paimon_sql.storage.retention.retained_references import (
    RetainedReference,
    Uses,
    changelogs_of,
    nearest_tags,
    other_branches,
    reference_of_snapshot,
    reference_of_tag,
    references_of_branches,
    uses_of,
)
from paimon_sql.storage.retention.used_files import (
    FILE_COLUMNS,
    Lists,
    lists_that_are_left,
    live_entries,
    manifests_that_are_left,
    named_files,
    with_kind,
)
from paimon_sql.storage.table.changelog_producer import changelog_producer
from paimon_sql.storage.table.data_file_paths import extra_file_paths
from paimon_sql.storage.table.index_files import index_entries, index_path
from paimon_sql.storage.table.snapshot_history import is_built_on
from paimon_sql.storage.table.table import Table

_MAX_LATENESS_MILLIS = 24 * 60 * 60 * 1000
"""Max time that a writer may be suspended: the default min age of orphan files."""


def without_late_snapshots(table: Table, snapshots: Sequence[Snapshot]) -> list[Snapshot]:
    """Return the snapshots, just read, whose files are not younger than that of the next one.

    Younger ones are late snapshots, which are left to their writers for up to a day.
    """
    if not _expired(table, snapshots):
        return list(snapshots)
    files = table.snapshots.directory.files()
    times = {number: status.mtime_millis for number, status in files.items()}
    oldest = current_millis() - _MAX_LATENESS_MILLIS

    def is_late(number: int) -> bool:
        time = times.get(number, 0)
        following = next((times[i] for i in sorted(times) if i > number), time)
        return time > max(following, oldest)

    late = {s.id for s in _expired(table, snapshots) if is_late(s.id)}
    return [s for s in snapshots if s.id not in late]


def may_be_late(table: Table, snapshots: Sequence[Snapshot], seen: SnapshotView) -> list[Snapshot]:
    """Return the snapshots, just read, that no other is known to be built on."""
    return [s for s in _expired(table, snapshots) if not _was_built_upon(table, s, seen)]


def added_by(table: Table, snapshot: Snapshot) -> pa.Array:
    """Return the names of the data files that a snapshot added, without those of missing manifests."""
    try:
        delta = [m.file_name for m in table.manifests.read_list(snapshot.delta_manifest_list)]
        entries = table.manifests.read_all(delta)
        added = [e.filter(pc.equal(e["kind"], int(FileKind.ADD)))["file_name"] for e in entries]
    except MissingFileError:  # a concurrent expiration
        added = []
    return pa.chunked_array([c for e in added for c in e.chunks], pa.string()).combine_chunks()


def _expired(table: Table, snapshots: Sequence[Snapshot]) -> list[Snapshot]:
    """Return the snapshots before the EARLIEST hint, read after them: it moves before an id becomes free."""
    earliest = table.snapshots.directory.hint(EARLIEST) or 0
    return [s for s in snapshots if s.id < earliest]


def _was_built_upon(table: Table, snapshot: Snapshot, seen: SnapshotView) -> bool:
    following = seen.find(snapshot.id + 1)
    with suppress(MissingFileError):
        return following is not None and bool(
            is_built_on(table, following, snapshot, lambda: added_by(table, snapshot))
        )
    return False


_FILES = pa.schema([MANIFEST_SCHEMA.field(name) for name in FILE_COLUMNS])


@dataclass(frozen=True)
class ExpirationPlan:
    """The snapshots to expire, and the files to delete with them.

    Attributes:
        snapshots: the snapshots, ordered by id.
        end: the first retained snapshot.
        files: the files that are no longer used.
        keeps_changelog: whether changelogs outlive their snapshots.
        late: the ids of possibly late snapshots: their own files are retained, and they are not part of the history.
    """

    snapshots: tuple[Snapshot, ...]
    end: int
    files: FilesToDelete = field(default_factory=FilesToDelete)
    keeps_changelog: bool = False
    late: frozenset[int] = frozenset()


def plan_expiry(
    table: Table, seen: SnapshotView, ids: Sequence[int], retained: Sequence[int], *, keeps_changelog: bool
) -> ExpirationPlan:
    """Plan the expiration of the oldest snapshots of a table.

    Args:
        table: the table.
        seen: the snapshots of the table.
        ids: the snapshots to expire, ascending.
        retained: all retained snapshots, ascending; in both ids may be missing, if snapshots were deleted manually.
        keeps_changelog: whether changelogs outlive their snapshots.

    Raises:
        PaimonError: a retained reference cannot be read; nothing may be deleted.
    """
    expired = without_late_snapshots(table, _existing(seen, ids))
    end = seen.get(retained[0])
    if not expired:
        return ExpirationPlan((), end.id)
    produces = changelog_producer(table.options).produces
    read_lists: Lists = {}
    late = frozenset(s.id for s in may_be_late(table, expired, seen))
    deleted = _deleted_files(table, [*expired, end], read_lists, late)
    if keeps_changelog and not produces:
        # Without a changelog producer, level 0 files are the changelog.
        deleted = deleted.filter(pc.equal(pc.fill_null(deleted["file_source"], 0), int(FileSource.COMPACT)))
    # What is live in a later snapshot is live in the first retained one, or was added later, unless ids are missing.
    # The newest is always checked: a writer may have built it on a history that a rollback has removed since.
    checked = {retained[-1], *(b for a, b in pairwise(retained) if b != a + 1)} - {end.id}
    retained_snapshots = [end, *_existing(seen, sorted(checked))]
    elsewhere, changelogs = other_references(table, expired[0].id, end.id)
    if not keeps_changelog:
        # Changelogs of a time when they outlived snapshots still need their files.
        changelogs = [*changelogs_of(table), *changelogs]
    references = [*(reference_of_snapshot(table, s) for s in retained_snapshots), *elsewhere]
    uses = uses_of(table, references, changelogs, named_files(deleted))
    files = FilesToDelete()
    add_unused(table, files, deleted, uses)
    if not keeps_changelog:
        in_history = [s for s in expired if s.id not in late]
        changelog_files = _changelog_files(table, in_history, uses, read_lists)
        files.add_files(table, without(changelog_files, uses), changelog=True)
    lists: dict[str, int] = {}
    for s in expired:
        if produces or not keeps_changelog:
            lists |= sizes_of_lists(s)
        if s.changelog_manifest_list and not keeps_changelog:
            lists[s.changelog_manifest_list] = s.changelog_manifest_list_size or 0
    add_manifests(table, files, lists, uses, read_lists)
    for s in expired:
        if s.id not in late:
            add_indexes(table, files, s, uses)
    return ExpirationPlan(tuple(expired), end.id, files, keeps_changelog, late)


def sizes_of_lists(snapshot: Changelog) -> dict[str, int]:
    """Return the sizes of a snapshot's base and delta manifest lists, by name; 0 if unknown."""
    return {
        snapshot.base_manifest_list: snapshot.base_manifest_list_size or 0,
        snapshot.delta_manifest_list: snapshot.delta_manifest_list_size or 0,
    }


def add_manifests(
    table: Table, files: FilesToDelete, lists: Mapping[str, int], uses: Uses, known: Lists | None = None
) -> None:
    """Add the unused ones of the manifest lists, given with their sizes, and of their manifests."""
    for meta in (m for metas in lists_that_are_left(table, lists, known).values() for m in metas):
        if meta.file_name not in uses.metadata:
            files.manifests[table.paths.manifest(meta.file_name)] = meta.file_size
    # An unreadable list is deleted as well.
    files.lists.update((table.paths.manifest(n), size) for n, size in lists.items() if n not in uses.metadata)


def add_indexes(table: Table, files: FilesToDelete, snapshot: Snapshot, uses: Uses) -> None:
    """Add the unused ones of a snapshot's index manifest, index files and statistics."""
    manifest, statistics = snapshot.index_manifest, snapshot.statistics
    if manifest and manifest not in uses.metadata:
        path = table.paths.manifest(manifest)
        if path not in files.lists:
            entries = [e for e in _readable_index_entries(table, snapshot) if e.file.file_name not in uses.metadata]
            files.indexes.update((index_path(table, e), e.file.file_size) for e in entries)
            files.lists[path] = 0
    if statistics and statistics not in uses.metadata:
        files.statistics[table.paths.statistics(statistics)] = 0


def _readable_index_entries(table: Table, snapshot: Snapshot) -> list[IndexManifestEntry]:
    try:
        return index_entries(table, snapshot)
    except UnsafePathError:
        raise
    except (MissingFileError, CorruptFileError):
        return []


def _existing(seen: SnapshotView, ids: Iterable[int]) -> list[Snapshot]:
    """Return the snapshots that have not expired concurrently."""
    return [found for i in ids if (found := seen.find(i)) is not None]


def other_references(table: Table, begin: int, end: int) -> tuple[list[RetainedReference], list[Changelog]]:
    """Return the references that may need files of the snapshots ``[begin, end)``: tags and other branches."""
    branches = other_branches(table)
    tags = [reference_of_tag(table, t) for t in nearest_tags(table.tags.all(), begin, end)]
    others = [p for b in branches for p in references_of_branches(b)]
    return [*tags, *others], [c for b in branches for c in changelogs_of(b)]


def _deleted_files(table: Table, chain: Sequence[Snapshot], read_lists: Lists, late: Collection[int]) -> pa.Table:
    """Return the files that the commits of a chain deleted from its first snapshot, each once.

    Files that possibly late snapshots added themselves are not included.
    """
    deltas = lists_that_are_left(table, [s.delta_manifest_list for s in chain[1:]], read_lists)
    metas = [m for found in deltas.values() for m in found if m.num_deleted_files > 0]
    deleted = [with_kind(e, FileKind.DELETE) for e in manifests_that_are_left(table, metas)]
    # Deletions of missing snapshots are unknown: include all live files of the snapshot before.
    for a in (a for a, b in pairwise(chain) if b.id != a.id + 1):
        live = live_entries(table, a)
        added = added_by(table, a) if a.id in late else pa.array([], pa.string())
        deleted.append(live.filter(pc.invert(pc.is_in(live["file_name"], value_set=added))))
    return distinct_files(deleted)


def distinct_files(parts: Sequence[pa.Table]) -> pa.Table:
    """Return the distinct files of manifest entries, by name and extra files, with `FILE_COLUMNS`."""
    table = pa.concat_tables([_FILES.empty_table(), *(part.select(list(FILE_COLUMNS)) for part in parts)])
    names = table["file_name"].combine_chunks()
    extras = pc.binary_join(table["extra_files"].combine_chunks(), "\0")
    codes = pc.binary_join_element_wise(names, extras, "\0").dictionary_encode().indices.to_numpy()
    first = np.unique(codes, return_index=True)[1]
    return table if len(first) == len(table) else table.take(pa.array(first))


def _changelog_files(table: Table, snapshots: Sequence[Snapshot], uses: Uses, read_lists: Lists) -> pa.Table:
    lists = [s.changelog_manifest_list for s in snapshots if s.changelog_manifest_list not in uses.metadata]
    metas = [m for found in lists_that_are_left(table, lists, read_lists).values() for m in found]
    return distinct_files([with_kind(e, FileKind.ADD) for e in manifests_that_are_left(table, metas)])


def add_unused(table: Table, files: FilesToDelete, entries: pa.Table, uses: Uses) -> None:
    """Add the unused data files of manifest entries, and extra files that files in use no longer have."""
    unused = without(entries, uses)
    files.add_files(table, unused)
    if len(unused) < len(entries):
        extras = extra_file_paths(table, entries.filter(_used(entries, uses))).to_pylist()
        files.data.update((path, 0) for path in extras if name_of(path) not in uses.data)


def without(entries: pa.Table, uses: Uses) -> pa.Table:
    """Return the entries of unused files."""
    return entries.filter(pc.invert(_used(entries, uses)))


def _used(entries: pa.Table, uses: Uses) -> pa.ChunkedArray:
    return pc.is_in(entries["file_name"], value_set=pa.array(list(uses.data), pa.string()))
