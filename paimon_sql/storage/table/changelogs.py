"""Long-lived changelogs: ``changelog/changelog-N`` copies the expired ``snapshot-N`` (Paimon: `ChangelogManager`)."""

from __future__ import annotations

from dataclasses import replace

from paimon_sql.errors import MissingFileError
from paimon_sql.format.metadata.snapshot import Changelog, Snapshot, parse_snapshot
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.metadata.numbered_files import LATEST, NumberedDirectory
from paimon_sql.storage.table.table import Table


class ChangelogManager:
    """The changelog files of one table or branch."""

    def __init__(self, file_io: FileIO, root: str) -> None:
        self.directory = NumberedDirectory(file_io, f"{root}/changelog", "changelog-")

    def ids(self) -> list[int]:
        """Return the ids of all changelogs, ascending."""
        return self.directory.versions()

    def find(self, snapshot_id: int) -> Changelog | None:
        """Return the changelog of an id, None if it does not exist; CorruptFileError if its file is invalid."""
        try:
            return parse_snapshot(self.directory.read(snapshot_id), self.directory.path(snapshot_id))
        except MissingFileError:
            return None

    def all(self) -> list[Changelog]:
        """Return all changelogs in order of id; one that is deleted concurrently is skipped."""
        found = (self.find(i) for i in self.ids())
        return [c for c in found if c is not None]

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
