"""History of snapshots: changelogs of expired ones, and whether one snapshot was built on another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.metadata.snapshot import Changelog, Snapshot, parse_snapshot
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.metadata.numbered_files import LATEST, NumberedDirectory
from paimon_sql.storage.table.table import Table


class ChangelogManager:
    """The changelog files of one table or branch (Paimon: `ChangelogManager`)."""

    def __init__(self, file_io: FileIO, root: str) -> None:
        self.directory = NumberedDirectory(file_io, f"{root}/changelog", "changelog-")

    def ids(self) -> list[int]:
        """Return the ids of all changelogs, ascending."""
        return self.directory.versions()

    def find(self, snapshot_id: int) -> Changelog | None:
        """Return the changelog of an id, None if it does not exist; CorruptFileError if its file is invalid."""
        data, path = self.directory.find(snapshot_id), self.directory.path(snapshot_id)
        return None if data is None else parse_snapshot(data, path)

    def all(self) -> list[Changelog]:
        """Return all changelogs in order of id; one that is deleted concurrently is skipped."""
        return [c for i in self.ids() if (c := self.find(i)) is not None]

    def keep(self, snapshot: Snapshot) -> None:
        """Write a snapshot that is about to expire as a changelog."""
        self.directory.file_io.write_durably(self.directory.path(snapshot.id), snapshot.to_json().encode())
        self.directory.advance_hint(LATEST, snapshot.id)

    def remove(self, snapshot_id: int) -> bool:
        """Delete a changelog's file and nothing else: True if it existed."""
        return self.directory.file_io.delete(self.directory.path(snapshot_id))


def without_lost_changelog(table: Table, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot, without its changelog if that is missing: a tag outlives the changelog of its snapshot."""
    changelog = snapshot.changelog_manifest_list
    if not changelog or table.file_io.exists(table.paths.manifest(changelog)):
        return snapshot
    return replace(
        snapshot, changelog_manifest_list=None, changelog_manifest_list_size=None, changelog_record_count=None
    )


def is_built_on(table: Table, later: Snapshot, earlier: Snapshot, added: Callable[[], pa.Array]) -> bool | None:
    """Whether a snapshot contains the files that the one before it added; None if that one added no file.

    Args:
        table: the table.
        later: the snapshot.
        earlier: a snapshot whose id is one less.
        added: returns the names of the data files that ``earlier`` added; only called if manifests were merged.

    Raises:
        MissingFileError: a manifest list or manifest is missing.
    """
    base = {m.file_name for m in table.manifests.read_list(later.base_manifest_list)}
    if base & {m.file_name for m in table.manifests.read_list(earlier.delta_manifest_list)}:
        return True
    names = added()
    if not len(names):
        return None
    merged = table.manifests.read_all(sorted(base))
    return any(pc.any(pc.is_in(e["file_name"], value_set=names)).as_py() for e in merged)
