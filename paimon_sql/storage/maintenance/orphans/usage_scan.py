"""Which candidates are in use: whatever snapshots, tags and changelogs of any branch lead to.

What cannot be read ends the search, unless whoever needs it has gone meanwhile: nobody could say then what is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import MissingFileError
from paimon_sql.format.metadata.data_file import FileSource
from paimon_sql.format.metadata.manifest import FileKind, ManifestFileMeta
from paimon_sql.format.metadata.snapshot import Changelog, Snapshot
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.execution.task_size import share
from paimon_sql.storage.execution.threads import spread
from paimon_sql.storage.expressions.kernels.name_hashes import Hashes, name_hashes, places
from paimon_sql.storage.retention.retained_references import (
    RetainedReference,
    changelogs_of,
    reference_of_snapshot,
    references_of_branches,
)
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.table import Table

COMES, MOVES, GOES = 1, 2, -1
_LEAST_MANIFESTS = 8

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ReadTask:
    """Manifests to be read by one worker: their names and their bytes in all."""

    table: Table
    names: tuple[str, ...]
    size: int
    threads: int


@dataclass(frozen=True)
class Named:
    """The files that a manifest names: the hash of each name, and `COMES`, `MOVES` (of a compaction) or `GOES`."""

    hashes: Hashes
    kinds: npt.NDArray[np.int8]


@dataclass(frozen=True)
class NamedCandidates:
    """The same of candidates alone, which stand for themselves by their places."""

    places: npt.NDArray[np.int64]
    kinds: npt.NDArray[np.int8]


@dataclass(frozen=True)
class Needs:
    """What somebody needs: the manifests of live files, of a changelog and of new rows, and metadata files by name."""

    data: Sequence[ManifestFileMeta] = ()
    changelog: Sequence[ManifestFileMeta] = ()
    rows: Sequence[ManifestFileMeta] = ()
    names: frozenset[str] = frozenset()


@dataclass
class UsageScan:
    """Finds out which candidates are used; whatever was read once is not read again when it is asked once more.

    Args:
        table: the table.
        candidates: hashes of file names, sorted, each once.
        executor: runs the reading of manifests.
        tasks: how many tasks there are; as many as are worth it by default.
        threads: how many threads each task uses.
    """

    table: Table
    candidates: Hashes
    executor: Executor
    tasks: int | None
    threads: int
    _manifests: dict[str, NamedCandidates | None] = field(default_factory=dict)
    _indexes: dict[str, frozenset[str]] = field(default_factory=dict)

    @property
    def manifests_read(self) -> int:
        """How many manifests were read."""
        return len(self._manifests)

    def used(self, branches: Sequence[Table]) -> Flags:
        """Whether each candidate is used.

        Args:
            branches: the table as each of its branches sees it.

        Raises:
            PaimonError: somebody who may need files cannot be read.
        """
        found = np.zeros(len(self.candidates), np.bool_)
        if not len(self.candidates):
            return found
        for branch in branches:
            _check_history(branch)
        protectors = [p for b in branches for p in (*_expiring(b), *references_of_branches(b))]
        needs = spread(self._needs, protectors, self.threads)
        changelogs = spread(self._needs_of_changelog, [c for b in branches for c in changelogs_of(b)], self.threads)
        self._read(m for n in (*needs, *changelogs) if n for m in (*n.data, *n.changelog, *n.rows))
        for need in (*needs, *changelogs):
            if need is not None:
                self._mark(found, name_hashes(sorted(need.names)))
                self._mark_added(found, need.changelog, (COMES, MOVES))
                self._mark_added(found, need.rows, (COMES,))
        self._mark_live(found, [(p, n) for p, n in zip(protectors, needs, strict=True) if n is not None])
        return found

    def _needs(self, protector: RetainedReference) -> Needs | None:
        """What a snapshot needs; None if it has gone."""
        snapshot, lists = protector.snapshot, self.table.manifests
        names = {snapshot.base_manifest_list, snapshot.delta_manifest_list}
        try:
            data = [*lists.read_list(snapshot.base_manifest_list), *lists.read_list(snapshot.delta_manifest_list)]
            names |= self._index_names(snapshot)
        except MissingFileError as error:
            self._gone(protector, error.path)
            return None
        changelog = self._left(snapshot.changelog_manifest_list) if protector.with_changelog else []
        if protector.with_changelog and snapshot.changelog_manifest_list:
            names.add(snapshot.changelog_manifest_list)
        if snapshot.statistics:
            names.add(snapshot.statistics)
        return Needs(data, changelog, names=frozenset(names).union(m.file_name for m in (*data, *changelog)))

    def _needs_of_changelog(self, changelog: Changelog) -> Needs:
        """What a changelog needs: its changelog files, or, where a table makes none, the new rows of its commit."""
        own = changelog.changelog_manifest_list
        if own:
            metas = self._left(own)
            return Needs(changelog=metas, names=frozenset({own, *(m.file_name for m in metas)}))
        base, delta = self._left(changelog.base_manifest_list), self._left(changelog.delta_manifest_list)
        lists = {changelog.base_manifest_list, changelog.delta_manifest_list}
        return Needs(rows=delta, names=frozenset(lists).union(m.file_name for m in (*base, *delta)))

    def _left(self, name: str | None) -> list[ManifestFileMeta]:
        """The manifests of a changelog, none if it is gone: a snapshot that a tag brought back has outlived its own."""
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
        names = list(sizes)
        step = share(len(names), self.tasks, _LEAST_MANIFESTS)
        parts = [tuple(names[at : at + step]) for at in range(0, len(names), step)]
        plan = [ReadTask(self.table, part, sum(sizes[n] for n in part), self.threads) for part in parts]
        for task, found in zip(plan, self.executor.map(read_named, plan), strict=True):
            self._manifests.update(zip(task.names, map(self._among_candidates, found), strict=True))

    def _among_candidates(self, named: Named | None) -> NamedCandidates | None:
        if named is None:
            return None
        at = places(self.candidates, named.hashes)
        return NamedCandidates(at[at >= 0], named.kinds[at >= 0])

    def _mark(self, found: Flags, hashes: Hashes) -> None:
        at = places(self.candidates, hashes)
        found[at[at >= 0]] = True

    def _mark_added(self, found: Flags, manifests: Sequence[ManifestFileMeta], kinds: Sequence[int]) -> None:
        for meta in manifests:
            named = self._manifests[meta.file_name]
            if named is not None:
                found[named.places[np.isin(named.kinds, kinds)]] = True

    def _mark_live(self, found: Flags, needs: Sequence[tuple[RetainedReference, Needs]]) -> None:
        """Mark what is live in any snapshot: added more often than taken away by the manifests that make it up.

        From one snapshot to the next little changes, so only the manifests in which they differ are counted.
        """
        counts = np.zeros(len(self.candidates), np.int32)
        counted: set[str] = set()
        for protector, need in needs:
            wanted = {m.file_name for m in need.data}
            missing = next((name for name in wanted if self._manifests[name] is None), None)
            if missing is not None:
                self._gone(protector, self.table.manifests.path(missing))
                continue
            for name in counted ^ wanted:
                named = self._manifests[name]
                if named is not None:
                    np.add.at(counts, named.places, np.sign(named.kinds) if name in wanted else -np.sign(named.kinds))
            counted = wanted
            found |= counts > 0

    def _gone(self, protector: RetainedReference, path: str) -> None:
        """Nothing if somebody whose file is missing has gone."""
        if not protector.has_vanished():
            raise MissingFileError(
                f"{protector.what} needs {path}, which is missing.",
                path=path,
                remedy="Restore the file from a copy, or let go of what needs it.",
            )


def read_named(task: ReadTask) -> list[Named | None]:
    """Do one task: what each manifest names, None for one that is not there."""
    return spread(lambda name: _named(task.table, name), task.names, task.threads)


def _named(table: Table, name: str) -> Named | None:
    try:  # on the disk: what is remembered of a broken file proves nothing
        entries = table.manifests.read_uncached(name)
    except MissingFileError:
        return None
    compacted = pc.equal(pc.fill_null(entries["file_source"], int(FileSource.APPEND)), int(FileSource.COMPACT))
    added = np.where(compacted.to_numpy(), MOVES, COMES)
    kinds = np.where(entries["kind"].to_numpy() == int(FileKind.ADD), added, GOES).astype(np.int8)
    extras = entries["extra_files"].combine_chunks()
    owners = pc.list_parent_indices(extras).to_numpy()
    names = pa.concat_arrays([entries["file_name"].combine_chunks(), pc.list_flatten(extras)])
    return Named(name_hashes(names), np.concatenate([kinds, kinds[owners]]))


def _check_history(branch: Table) -> None:
    """Nothing if no snapshot is missing: what it alone needs could not be told from what nobody needs."""
    missing = branch.snapshots.directory.missing()
    if missing and branch.snapshots.directory.missing() == missing:
        path = branch.snapshots.directory.path(missing[0].start)
        if branch.snapshots.strays():
            raise MissingFileError(
                f"{path} is missing: a rollback has not come to its end.", path=path, remedy="CALL sys.repair."
            )
        later = next((i for i in branch.snapshots.directory.versions() if i >= missing[-1].stop), None)
        goes_on = "" if later is None else f", or CALL sys.repair_earliest_snapshot(.., snapshot_id => {later})"
        raise MissingFileError(
            f"{path} is missing, and nobody knows which files it needs.",
            path=path,
            remedy=f"Restore the file from a copy{goes_on}.",
        )


def _expiring(branch: Table) -> list[RetainedReference]:
    """The snapshots that an expiry has not come to an end with; the next one will, so their files are its own."""
    earliest = branch.snapshots.earliest_id() or 0
    gone = [s for s in branch.snapshots.all() if s.id < earliest]
    return [reference_of_snapshot(branch, s, with_changelog=True, speaks_for_later=False) for s in gone]
