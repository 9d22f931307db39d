"""Usage scan: which candidates are in use by snapshots, tags and changelogs of any branch.

Anything unreadable aborts the scan, unless its reference has vanished meanwhile, as otherwise its files are unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from paimon_sql.errors import MissingFileError
from paimon_sql.format.metadata.data_file import FileSource
from paimon_sql.format.metadata.manifest import FileKind, ManifestFileMeta
from paimon_sql.format.metadata.snapshot import Changelog, Snapshot
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.expressions.kernels.name_hashes import Hashes, name_hashes, places
from paimon_sql.storage.maintenance.orphans.candidates import Search
from paimon_sql.storage.retention import retained_references as references
from paimon_sql.storage.retention.retained_references import RetainedReference
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.table import Table

COMES, MOVES, GOES = 1, 2, -1
_MIN_MANIFESTS = 8

Flags = npt.NDArray[np.bool_]


Named = tuple[Hashes, npt.NDArray[np.int8]]
"""The entries of a manifest: name hashes, and `COMES`, `MOVES` (added by a compaction) or `GOES`."""


@dataclass(frozen=True)
class ReadTask:
    """Manifests for one worker to read: names, and total size in bytes."""

    table: Table
    names: tuple[str, ...]
    size: int
    threads: int

    def run(self) -> list[tuple[str, Named | None]]:
        """Return the entries of each manifest, None for a missing one."""
        return map_in_threads(lambda name: (name, _named(self.table, name)), self.names, self.threads)


@dataclass(frozen=True)
class NamedCandidates:
    """The entries of a manifest that are candidates, by their positions among the candidates."""

    places: npt.NDArray[np.int64]
    kinds: npt.NDArray[np.int8]


@dataclass(frozen=True)
class Needs:
    """Files that a reference needs: manifests of live files, changelogs and new rows, and metadata files by name."""

    data: Sequence[ManifestFileMeta] = ()
    changelog: Sequence[ManifestFileMeta] = ()
    rows: Sequence[ManifestFileMeta] = ()
    names: frozenset[str] = frozenset()


@dataclass
class UsageScan:
    """Finds the used candidates; when it is repeated, nothing is read twice.

    Args:
        table: the table.
        candidates: sorted distinct hashes of file names.
        search: runs the tasks that read manifests.
        threads: the number of threads per task.
    """

    table: Table
    candidates: Hashes
    search: Search
    threads: int
    _manifests: dict[str, NamedCandidates | None] = field(default_factory=dict)
    _indexes: dict[str, frozenset[str]] = field(default_factory=dict)

    @property
    def manifests_read(self) -> int:
        """The number of manifests read."""
        return len(self._manifests)

    def used(self, branches: Sequence[Table]) -> Flags:
        """Return a mask of the used candidates.

        Args:
            branches: the table on each of its branches.

        Raises:
            PaimonError: a retained reference cannot be read.
        """
        flags = np.zeros(len(self.candidates), np.bool_)
        if not len(self.candidates):
            return flags
        for branch in branches:
            _check_history(branch)
        holders = [p for b in branches for p in references.references_of_branches(b, with_expiring=True)]
        needs = map_in_threads(self._needs, holders, self.threads)
        outliving = [c for b in branches for c in references.changelogs_of(b)]
        changelogs = map_in_threads(self._needs_of_changelog, outliving, self.threads)
        self._read(m for n in (*needs, *changelogs) if n for m in (*n.data, *n.changelog, *n.rows))
        for need in (*needs, *changelogs):
            if need is not None:
                positions = places(self.candidates, name_hashes(sorted(need.names)))
                flags[positions[positions >= 0]] = True
                self._mark_added(flags, need.changelog, (COMES, MOVES))
                self._mark_added(flags, need.rows, (COMES,))
        self._mark_live(flags, [(p, n) for p, n in zip(holders, needs, strict=True) if n is not None])
        return flags

    def _needs(self, reference: RetainedReference) -> Needs | None:
        """Return what a snapshot needs; None if it has vanished."""
        snapshot, lists = reference.snapshot, self.table.manifests
        names = {snapshot.base_manifest_list, snapshot.delta_manifest_list}
        try:
            data = [*lists.read_list(snapshot.base_manifest_list), *lists.read_list(snapshot.delta_manifest_list)]
            names |= self._index_names(snapshot)
        except MissingFileError as error:
            self._check_vanished(reference, error.path)
            return None
        changelog = self._listed(snapshot.changelog_manifest_list) if reference.with_changelog else []
        if reference.with_changelog and snapshot.changelog_manifest_list:
            names.add(snapshot.changelog_manifest_list)
        if snapshot.statistics:
            names.add(snapshot.statistics)
        return Needs(data, changelog, names=frozenset(names).union(m.file_name for m in (*data, *changelog)))

    def _needs_of_changelog(self, changelog: Changelog) -> Needs:
        """Return what a changelog needs: its changelog files, otherwise the new rows of its commit."""
        changelog_list = changelog.changelog_manifest_list
        if changelog_list:
            metas = self._listed(changelog_list)
            return Needs(changelog=metas, names=frozenset({changelog_list, *(m.file_name for m in metas)}))
        lists = (changelog.base_manifest_list, changelog.delta_manifest_list)
        base, delta = map(self._listed, lists)
        return Needs(rows=delta, names=frozenset(lists).union(m.file_name for m in (*base, *delta)))

    def _listed(self, name: str | None) -> list[ManifestFileMeta]:
        """Return a list's manifests; none if it is missing: a snapshot restored from a tag outlives its changelog."""
        try:
            return self.table.manifests.read_list(name)
        except MissingFileError:
            return []

    def _index_names(self, snapshot: Snapshot) -> frozenset[str]:
        manifest = snapshot.index_manifest
        if manifest is None:
            return frozenset()
        if manifest not in self._indexes:
            files = (e.file.file_name for e in index_entries(self.table, snapshot))
            self._indexes[manifest] = frozenset({manifest, *files})
        return self._indexes[manifest]

    def _read(self, metas: Iterable[ManifestFileMeta]) -> None:
        sizes = {m.file_name: m.file_size for m in metas if m.file_name not in self._manifests}

        def task_of(names: Sequence[str]) -> ReadTask:
            return ReadTask(self.table, tuple(names), sum(sizes[n] for n in names), self.threads)

        for found in self.search.run(list(sizes), _MIN_MANIFESTS, task_of):
            self._manifests.update((name, self._among_candidates(named)) for name, named in found)

    def _among_candidates(self, named: Named | None) -> NamedCandidates | None:
        if named is None:
            return None
        hashes, kinds = named
        positions = places(self.candidates, hashes)
        return NamedCandidates(positions[positions >= 0], kinds[positions >= 0])

    def _mark_added(self, flags: Flags, manifests: Sequence[ManifestFileMeta], kinds: Sequence[int]) -> None:
        for meta in manifests:
            named = self._manifests[meta.file_name]
            if named is not None:
                flags[named.places[np.isin(named.kinds, kinds)]] = True

    def _mark_live(self, flags: Flags, needs: Sequence[tuple[RetainedReference, Needs]]) -> None:
        """Mark what is live in any snapshot: added more often than deleted by its manifests.

        Consecutive snapshots differ little, so only the manifests in which they differ are counted.
        """
        counts = np.zeros(len(self.candidates), np.int32)
        counted: set[str] = set()
        for reference, need in needs:
            current = {m.file_name for m in need.data}
            missing = next((name for name in current if self._manifests[name] is None), None)
            if missing is not None:
                self._check_vanished(reference, self.table.manifests.path(missing))
                continue
            for name in counted ^ current:
                named = self._manifests[name]
                if named is not None:
                    np.add.at(counts, named.places, np.sign(named.kinds) if name in current else -np.sign(named.kinds))
            counted = current
            flags |= counts > 0

    def _check_vanished(self, reference: RetainedReference, path: str) -> None:
        """Check that a reference with a missing file has vanished."""
        if not reference.has_vanished():
            raise MissingFileError(
                f"{reference.what} needs {path}, which is missing.",
                path=path,
                remedy="Restore the file from a copy, or delete what needs it.",
            )


def _named(table: Table, name: str) -> Named | None:
    try:  # uncached: cached content of a broken file proves nothing
        entries = table.manifests.read_uncached(name)
    except MissingFileError:
        return None
    compacted = pc.equal(pc.fill_null(entries["file_source"], int(FileSource.APPEND)), int(FileSource.COMPACT))
    added = np.where(compacted.to_numpy(), MOVES, COMES)
    kinds = np.where(entries["kind"].to_numpy() == int(FileKind.ADD), added, GOES).astype(np.int8)
    owners = pc.list_parent_indices(entries["extra_files"].combine_chunks()).to_numpy()
    return name_hashes(references.named_files(entries)), np.concatenate([kinds, kinds[owners]])


def _check_history(branch: Table) -> None:
    """Check that no snapshot is missing, as the files that only it needs would be taken for orphans."""
    missing = branch.snapshots.directory.missing()
    if missing and branch.snapshots.directory.missing() == missing:
        path = branch.snapshots.directory.path(missing[0].start)
        if branch.snapshots.late_snapshots():
            raise MissingFileError(
                f"{path} is missing: a rollback was not completed.", path=path, remedy="CALL sys.repair."
            )
        later = next((i for i in branch.snapshots.directory.versions() if i >= missing[-1].stop), None)
        goes_on = "" if later is None else f", or CALL sys.repair_earliest_snapshot(.., snapshot_id => {later})"
        raise MissingFileError(
            f"{path} is missing, so the files that it needs are unknown.",
            path=path,
            remedy=f"Restore the file from a copy{goes_on}.",
        )
