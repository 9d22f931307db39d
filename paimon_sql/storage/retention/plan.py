"""The plan of an expiry: the snapshots that go and the files that go with them.

A data file goes when a commit after the first of these snapshots took it away and nobody who stays has it live; a
manifest, index or statistics file when a snapshot that goes names it and nobody who stays does. Who stays: the first
snapshot after those that go, tags, the other branches.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CorruptFileError, MissingFileError, NoSuchSnapshotError, UnsafePathError
from paimon_sql.format.metadata.data_file import FileSource
from paimon_sql.format.metadata.index_manifest import IndexManifestEntry
from paimon_sql.format.metadata.manifest import MANIFEST_SCHEMA, FileKind
from paimon_sql.format.metadata.snapshot import Changelog, Snapshot
from paimon_sql.format.options.operations.changelog import CHANGELOG_PRODUCER
from paimon_sql.format.text.instants import present_millis
from paimon_sql.storage.file_io.paths import name_of
from paimon_sql.storage.metadata.numbered_files import EARLIEST
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
from paimon_sql.storage.table.index_files import index_entries, index_path
from paimon_sql.storage.table.paths.data_file_paths import extra_file_paths
from paimon_sql.storage.table.snapshot_lineage import is_built_on
from paimon_sql.storage.table.table import Table

_PATIENCE_MILLIS = 24 * 60 * 60 * 1000
"""For how long a writer may stand still: as long as files that nobody uses stay by default."""


def without_late_snapshots(table: Table, snapshots: Sequence[Snapshot]) -> list[Snapshot]:
    """Those of some snapshots, just read, whose files are no younger than that of the next one.

    Others came late. They are left to their writers, for a day at the most.
    """
    if not _expired(table, snapshots):
        return list(snapshots)
    files = table.snapshots.directory.files()
    ages = {number: status.mtime_millis for number, status in files.items()}
    oldest = present_millis() - _PATIENCE_MILLIS

    def is_late(number: int) -> bool:
        made = ages.get(number, 0)
        following = next((ages[i] for i in sorted(ages) if i > number), made)
        return made > max(following, oldest)

    late = {s.id for s in _expired(table, snapshots) if is_late(s.id)}
    return [s for s in snapshots if s.id not in late]


def may_be_late(table: Table, snapshots: Sequence[Snapshot]) -> list[Snapshot]:
    """Those of some snapshots, just read, of which nothing tells that others were built on them."""
    return [s for s in _expired(table, snapshots) if not _was_built_upon(table, s)]


def added_by(table: Table, snapshot: Snapshot) -> pa.Array:
    """The names of the data files that a snapshot added; those of manifests that are gone are left out."""
    try:
        delta = [m.file_name for m in table.manifests.read_list(snapshot.delta_manifest_list)]
        entries = table.manifests.read_all(delta)
        added = [e.filter(pc.equal(e["kind"], int(FileKind.ADD)))["file_name"] for e in entries]
    except MissingFileError:  # an expiry was at it
        added = []
    return pa.chunked_array([c for e in added for c in e.chunks], pa.string()).combine_chunks()


def _expired(table: Table, snapshots: Sequence[Snapshot]) -> list[Snapshot]:
    """Those before the earliest, whose hint is read after them: it moves before a number becomes free."""
    earliest = table.snapshots.directory.hint(EARLIEST) or 0
    return [s for s in snapshots if s.id < earliest]


def _was_built_upon(table: Table, snapshot: Snapshot) -> bool:
    with suppress(NoSuchSnapshotError, MissingFileError):
        following = table.snapshots.get(snapshot.id + 1)
        return bool(is_built_on(table, following, snapshot, lambda: added_by(table, snapshot)))
    return False


_FILES = pa.schema([MANIFEST_SCHEMA.field(name) for name in FILE_COLUMNS])


@dataclass(frozen=True)
class ExpirationPlan:
    """Snapshots that go, and what goes with them.

    Attributes:
        snapshots: the snapshots, in order of id.
        end: the first that stays.
        files: the files that nobody needs any more.
        keeps_changelog: whether the changelogs of the snapshots outlive them.
        late: the numbers of those that may have come late: what they brought stays, and is none of the history.
    """

    snapshots: tuple[Snapshot, ...]
    end: int
    files: FilesToDelete = field(default_factory=FilesToDelete)
    keeps_changelog: bool = False
    late: frozenset[int] = frozenset()


def plan_expiry(table: Table, ids: Sequence[int], retained: Sequence[int], *, keeps_changelog: bool) -> ExpirationPlan:
    """Plan the end of some snapshots, all of them the oldest of the table.

    Args:
        table: the table.
        ids: the snapshots that go, ascending.
        retained: all that stay, ascending; numbers may be missing in both where snapshots were removed by hand.
        keeps_changelog: whether changelogs have a longer life than snapshots.

    Raises:
        PaimonError: somebody who stays cannot be read; nothing may be deleted then.
    """
    going = without_late_snapshots(table, _still_there(table, ids))
    end = table.snapshots.get(retained[0])
    if not going:
        return ExpirationPlan((), end.id)
    produces = table.options.get(CHANGELOG_PRODUCER) != "none"
    known: Lists = {}
    late = frozenset(s.id for s in may_be_late(table, going))
    taken = _taken_away(table, [*going, end], known, late)
    if keeps_changelog and not produces:
        # Level 0 files are the changelog of a table that makes none of its own.
        taken = taken.filter(pc.equal(pc.fill_null(taken["file_source"], 0), int(FileSource.COMPACT)))
    # What is live in a later snapshot is live in the first that stays or came after it, unless the history has a gap.
    # The newest is asked in any case: a writer that a rollback surprised may have built it on another history.
    asked = {retained[-1], *(b for a, b in pairwise(retained) if b != a + 1)} - {end.id}
    staying = [end, *_still_there(table, sorted(asked))]
    others, changelogs = who_else_stays(table, going[0].id, end.id)
    if not keeps_changelog:
        # Those of a time when changelogs had a longer life are still there, and need what they needed.
        changelogs = [*changelogs_of(table), *changelogs]
    protectors = [*(reference_of_snapshot(table, s) for s in staying), *others]
    uses = uses_of(table, protectors, changelogs, named_files(taken))
    files = FilesToDelete()
    add_unused(table, files, taken, uses)
    if not keeps_changelog:
        told = [s for s in going if s.id not in late]
        files.add_changelog(table, without(_changelog_files(table, told, uses, known), uses))
    lists: dict[str, int] = {}
    for s in going:
        if produces or not keeps_changelog:
            lists[s.base_manifest_list] = s.base_manifest_list_size or 0
            lists[s.delta_manifest_list] = s.delta_manifest_list_size or 0
        if s.changelog_manifest_list and not keeps_changelog:
            lists[s.changelog_manifest_list] = s.changelog_manifest_list_size or 0
    add_manifests(table, files, lists, uses, known)
    for s in going:
        if s.id not in late:
            add_indexes(table, files, s, uses)
    return ExpirationPlan(tuple(going), end.id, files, keeps_changelog, late)


def add_manifests(
    table: Table, files: FilesToDelete, lists: Mapping[str, int], uses: Uses, known: Lists | None = None
) -> None:
    """Add the manifest lists, given with their sizes, and the manifests in them that nobody uses."""
    for meta in (m for metas in lists_that_are_left(table, lists, known).values() for m in metas):
        if meta.file_name not in uses.metadata:
            files.manifests[table.paths.manifest(meta.file_name)] = meta.file_size
    # A list that cannot be read goes as well.
    files.lists.update((table.paths.manifest(n), size) for n, size in lists.items() if n not in uses.metadata)


def add_indexes(table: Table, files: FilesToDelete, snapshot: Snapshot, uses: Uses) -> None:
    """Add the index manifest, index files and statistics of a snapshot that nobody else uses."""
    manifest, statistics = snapshot.index_manifest, snapshot.statistics
    if manifest and manifest not in uses.metadata:
        path = table.paths.manifest(manifest)
        if path not in files.lists:
            entries = [e for e in _index_entries_left(table, snapshot) if e.file.file_name not in uses.metadata]
            files.indexes.update((index_path(table, e), e.file.file_size) for e in entries)
            files.lists[path] = 0
    if statistics and statistics not in uses.metadata:
        files.statistics[table.paths.statistics(statistics)] = 0


def _index_entries_left(table: Table, snapshot: Snapshot) -> list[IndexManifestEntry]:
    try:
        return index_entries(table, snapshot)
    except UnsafePathError:
        raise
    except (MissingFileError, CorruptFileError):
        return []


def _still_there(table: Table, ids: Sequence[int]) -> list[Snapshot]:
    found = []
    for snapshot_id in ids:
        try:
            found.append(table.snapshots.get(snapshot_id))
        except NoSuchSnapshotError:
            continue  # a rival's expiry was quicker
    return found


def who_else_stays(table: Table, begin: int, end: int) -> tuple[list[RetainedReference], list[Changelog]]:
    """Who may need what the snapshots of ``[begin, end)`` used, besides later snapshots: tags and other branches."""
    branches = other_branches(table)
    tags = [reference_of_tag(table, t) for t in nearest_tags(table.tags.all(), begin, end)]
    others = [p for b in branches for p in references_of_branches(b)]
    return [*tags, *others], [c for b in branches for c in changelogs_of(b)]


def _taken_away(table: Table, chain: Sequence[Snapshot], known: Lists, late: Collection[int]) -> pa.Table:
    """The files that the commits of a chain took away from what its first snapshot held, each once.

    What snapshots that may have come late brought themselves is none of it.
    """
    deltas = lists_that_are_left(table, [s.delta_manifest_list for s in chain[1:]], known)
    metas = [m for found in deltas.values() for m in found if m.num_deleted_files > 0]
    deleted = [with_kind(e, FileKind.DELETE) for e in manifests_that_are_left(table, metas)]
    # Where snapshots are missing, nobody can tell what they took away: all that the one before held is looked at.
    for a in (a for a, b in pairwise(chain) if b.id != a.id + 1):
        held = live_entries(table, a)
        own = added_by(table, a) if a.id in late else pa.array([], pa.string())
        deleted.append(held.filter(pc.invert(pc.is_in(held["file_name"], value_set=own))))
    return distinct_files(deleted)


def distinct_files(parts: Sequence[pa.Table]) -> pa.Table:
    """The files of manifest entries, each once with the same extra files, with `FILE_COLUMNS`."""
    table = pa.concat_tables([_FILES.empty_table(), *(part.select(list(FILE_COLUMNS)) for part in parts)])
    names = table["file_name"].combine_chunks()
    extras = pc.binary_join(table["extra_files"].combine_chunks(), "\0")
    codes = pc.binary_join_element_wise(names, extras, "\0").dictionary_encode().indices.to_numpy()
    first = np.unique(codes, return_index=True)[1]
    return table if len(first) == len(table) else table.take(pa.array(first))


def _changelog_files(table: Table, going: Sequence[Snapshot], uses: Uses, known: Lists) -> pa.Table:
    lists = [s.changelog_manifest_list for s in going if s.changelog_manifest_list not in uses.metadata]
    metas = [m for found in lists_that_are_left(table, lists, known).values() for m in found]
    return distinct_files([with_kind(e, FileKind.ADD) for e in manifests_that_are_left(table, metas)])


def add_unused(table: Table, files: FilesToDelete, entries: pa.Table, uses: Uses) -> None:
    """Add the data files of manifest entries that nobody uses, and the extra files that those in use have lost."""
    gone = without(entries, uses)
    files.add_data(table, gone)
    if len(gone) < len(entries):
        extras = extra_file_paths(table, entries.filter(_used(entries, uses))).to_pylist()
        files.data.update((path, 0) for path in extras if name_of(path) not in uses.data)


def without(entries: pa.Table, uses: Uses) -> pa.Table:
    """The entries of files that nobody uses."""
    return entries.filter(pc.invert(_used(entries, uses)))


def _used(entries: pa.Table, uses: Uses) -> pa.ChunkedArray:
    return pc.is_in(entries["file_name"], value_set=pa.array(list(uses.data), pa.string()))
