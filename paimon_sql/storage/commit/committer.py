"""The committer: turns changes into the next snapshot, and says for sure whether that happened.

A commit writes its manifests, then creates the snapshot's file, which only one writer can do for an id. Whoever loses
builds anew on the winner's snapshot; the data files stay as they are. Three outcomes exist: the snapshot was made, a
rival's change makes this one impossible (`CommitConflictError`), or the answer was lost and nobody can tell
(`CommitUnknownError`); only in the second case may the writer's files be removed.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paimon_sql.errors import CommitConflictError, CommitUnknownError, MissingFileError, PaimonError
from paimon_sql.format.manifest import FileKind, ManifestEntry, ManifestFileMeta
from paimon_sql.format.options.commit import COMMIT_MAX_RETRIES
from paimon_sql.format.snapshot import (
    BATCH_COMMIT_IDENTIFIER,
    FIRST_SNAPSHOT_ID,
    CommitKind,
    Operation,
    Snapshot,
    parse_snapshot,
)
from paimon_sql.storage.commit.conflicts import check_conflicts
from paimon_sql.storage.commit.manifest_merge import merge_manifests
from paimon_sql.storage.commit.messages import Changes, CommitMessage, append_changes, compact_changes
from paimon_sql.storage.table import Table
from paimon_sql.storage.versioned import EARLIEST, LATEST

WRITER_VERSION = "paimon-sql"


@dataclass(frozen=True)
class Attempt:
    """The manifests of one attempt: what the snapshot names, and what to remove if the attempt fails."""

    snapshot: Snapshot
    files: list[str]


class Committer:
    """Commits for one writer.

    Args:
        table: the table.
        commit_user: the writer's identity; a new one by default.
        operation: the statement behind the commits, kept in the snapshots.
    """

    def __init__(self, table: Table, commit_user: str | None = None, operation: Operation | None = None) -> None:
        self.table = table
        self.commit_user = commit_user or str(uuid.uuid4())
        self.operation = operation

    def append(self, messages: Sequence[CommitMessage], identifier: int = BATCH_COMMIT_IDENTIFIER) -> list[Snapshot]:
        """Commit new rows, then, as a snapshot of its own, the compactions that came with them.

        Returns:
            The snapshots made: none if nothing changed.

        Raises:
            CommitConflictError: a rival removed files that the new rows replace. A compaction that a rival made
                impossible is given up quietly instead.
        """
        made = []
        rows, compaction = append_changes(messages), compact_changes(messages)
        if not rows.is_empty():
            kind = CommitKind.OVERWRITE if rows.has_deletes() else CommitKind.APPEND
            made.append(self.commit(kind, lambda latest: rows, identifier))
        if not compaction.is_empty():
            try:
                made.append(self.commit(CommitKind.COMPACT, lambda latest: compaction, identifier))
            except CommitConflictError:
                self._discard(compaction)
        return made

    def compact(self, messages: Sequence[CommitMessage], identifier: int = BATCH_COMMIT_IDENTIFIER) -> Snapshot | None:
        """Commit a compaction; None if nothing changed, CommitConflictError if a rival was quicker."""
        changes = compact_changes(messages)
        if changes.is_empty():
            return None
        try:
            return self.commit(CommitKind.COMPACT, lambda latest: changes, identifier)
        except CommitConflictError:
            self._discard(changes)
            raise

    def overwrite(
        self,
        messages: Sequence[CommitMessage],
        removed: Callable[[Snapshot | None], list[ManifestEntry]],
        identifier: int = BATCH_COMMIT_IDENTIFIER,
    ) -> Snapshot | None:
        """Replace files by others; None if nothing changed.

        Args:
            messages: the new rows.
            removed: given the snapshot that is built upon, the DELETE entries of what goes.
            identifier: the writer's number of the commit.
        """
        added = append_changes(messages)

        def changes(latest: Snapshot | None) -> Changes:
            return Changes([*removed(latest), *added.entries], added.changelog)

        if changes(self.table.snapshots.latest()).is_empty():
            return None
        return self.commit(CommitKind.OVERWRITE, changes, identifier)

    def commit(self, kind: CommitKind, changes: Callable[[Snapshot | None], Changes], identifier: int) -> Snapshot:
        """Make a snapshot of changes that depend on the snapshot they are put on.

        Raises:
            CommitConflictError: the changes cannot be put on the newest snapshot, or rivals won too often.
            CommitUnknownError: whether the snapshot was made cannot be found out.
        """
        attempts = self.table.options.get(COMMIT_MAX_RETRIES) + 1
        for attempt in range(attempts):
            self.table.snapshots.forget()
            latest = self.table.snapshots.latest()
            wanted = changes(latest)
            check_conflicts(self.table, latest, wanted.entries)
            prepared = self._prepare(kind, latest, wanted, identifier)
            if self._create(prepared):
                self._write_hints(prepared.snapshot)
                return prepared.snapshot
            self.table.file_io.delete_many(prepared.files)
            time.sleep(min(10.0, 0.01 * 2**attempt) * random.random())
        raise CommitConflictError(
            f"{self.table.name}: {attempts} rivals committed first, one after the other.",
            remedy="Run the statement again, or raise commit.max-retries.",
        )

    def _prepare(self, kind: CommitKind, latest: Snapshot | None, changes: Changes, identifier: int) -> Attempt:
        table = self.table
        store = table.manifests
        base = [] if latest is None else self._manifests(latest)
        merged, merged_files = merge_manifests(table, base)
        delta = [store.write(changes.entries, table.schema.id)] if changes.entries else []
        base_list, base_size = store.write_list(merged)
        delta_list, delta_size = store.write_list(delta)
        files = [*merged_files, *(m.file_name for m in delta), base_list, delta_list]
        changelog_list = changelog_size = None
        if changes.changelog:
            changelog = store.write(changes.changelog, table.schema.id)
            changelog_list, changelog_size = store.write_list([changelog])
            files += [changelog.file_name, changelog_list]
        added = sum(_rows(e) for e in changes.entries)
        snapshot = Snapshot(
            id=FIRST_SNAPSHOT_ID if latest is None else latest.id + 1,
            uuid=str(uuid.uuid4()),
            schema_id=table.schema.id,
            base_manifest_list=base_list,
            base_manifest_list_size=base_size,
            delta_manifest_list=delta_list,
            delta_manifest_list_size=delta_size,
            changelog_manifest_list=changelog_list,
            changelog_manifest_list_size=changelog_size,
            index_manifest=latest.index_manifest if latest else None,
            commit_user=self.commit_user,
            commit_identifier=identifier,
            commit_kind=kind,
            time_millis=int(time.time() * 1000),
            total_record_count=(latest.total_record_count or 0 if latest else 0) + added,
            delta_record_count=added,
            changelog_record_count=sum(e.file.row_count for e in changes.changelog) if changes.changelog else None,
            watermark=latest.watermark if latest else None,
            statistics=latest.statistics if latest else None,
            next_row_id=latest.next_row_id if latest else 0,
            operation=self.operation,
            writer_version=WRITER_VERSION,
        )
        return Attempt(snapshot, [store.path(name) for name in files])

    def _manifests(self, snapshot: Snapshot) -> list[ManifestFileMeta]:
        store = self.table.manifests
        return [*store.read_list(snapshot.base_manifest_list), *store.read_list(snapshot.delta_manifest_list)]

    def _create(self, attempt: Attempt) -> bool:
        """Whether the snapshot is ours; an answer that was lost is looked for in the file itself."""
        snapshot, directory = attempt.snapshot, self.table.snapshots.directory
        path = directory.path(snapshot.id)
        try:
            if directory.file_io.try_create_exclusive(path, snapshot.to_json().encode()):
                return True
            lost = None
        except PaimonError as error:
            lost = error
        except OSError as error:
            lost = PaimonError(str(error))
        try:
            return parse_snapshot(directory.read(snapshot.id), path).uuid == snapshot.uuid
        except MissingFileError:
            if lost is not None:
                raise lost from None
            raise self._unknown(snapshot) from None
        except PaimonError:
            raise self._unknown(snapshot) from lost

    def _unknown(self, snapshot: Snapshot) -> CommitUnknownError:
        return CommitUnknownError(
            f"{self.table.name}: whether snapshot {snapshot.id} was committed could not be found out.",
            commit_user=snapshot.commit_user,
            commit_identifier=snapshot.commit_identifier,
            remedy=f"Look for commit user {snapshot.commit_user} in $snapshots before you run the statement again.",
        )

    def _write_hints(self, snapshot: Snapshot) -> None:
        # The snapshot stands: a hint that cannot be written is none of the statement's business.
        try:
            self.table.snapshots.directory.write_hint(LATEST, snapshot.id)
            if snapshot.id == FIRST_SNAPSHOT_ID:
                self.table.snapshots.directory.write_hint(EARLIEST, snapshot.id)
        except (PaimonError, OSError):
            return

    def _discard(self, changes: Changes) -> None:
        added = [e for e in [*changes.entries, *changes.changelog] if e.kind == FileKind.ADD]
        removed = {e.file.file_name for e in changes.entries if e.kind == FileKind.DELETE}
        locations = self.table.locations
        self.table.file_io.delete_many(
            [
                path
                for e in added
                if e.file.file_name not in removed
                for path in locations.files_of(e.partition, e.bucket, e.file)
            ]
        )


def _rows(entry: ManifestEntry) -> int:
    return entry.file.row_count if entry.kind == FileKind.ADD else -entry.file.row_count
