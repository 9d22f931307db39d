"""Tags: snapshots retained under a name, and the success files that mark a tag or a partition as done."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from paimon_sql.errors import AlreadyExistsError, MissingFileError, NoSuchSnapshotError, did_you_mean
from paimon_sql.format.bytes.bounded import load_json
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.metadata.snapshot import Snapshot, Tag, parse_tag
from paimon_sql.format.text.instants import current_millis
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.paths import check_file_name
from paimon_sql.storage.metadata.catalog_environment import UNLOCKED, TableLock
from paimon_sql.storage.metadata.refs.named_files import NamedFiles, list_existing

_SUCCESS_DIRECTORY = "tag-success-file"
_THREADS = 8


@dataclass(frozen=True)
class NamedTag:
    """A tag with its name."""

    name: str
    tag: Tag

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that it retains."""
        return self.tag.snapshot


class TagManager(NamedFiles):
    """The tag files of one table or branch; data files are not accessed (Paimon: `TagManager`).

    Args:
        file_io: the file system.
        root: the directory of the table or branch.
        lock: the lock for creating a tag.
        branch: the branch to lock.
    """

    kind = "tag"

    def __init__(self, file_io: FileIO, root: str, lock: TableLock = UNLOCKED, branch: str = MAIN_BRANCH) -> None:
        super().__init__(file_io, root)
        self._lock = lock
        self._branch = branch

    def success_path(self, name: str) -> str:
        """Return the path of a tag's success file (Paimon: ``tag.create-success-file``)."""
        return f"{self.directory}/{_SUCCESS_DIRECTORY}/{check_tag_name(name)}{SUCCESS}"

    def all(self) -> list[NamedTag]:
        """Return all tags, sorted by name; one that is deleted concurrently is skipped.

        Raises:
            CorruptFileError: a tag file is invalid, so that its retained files are unknown.
        """
        names = self.names()
        tags = map_in_threads(self.find, names, _THREADS)
        return [NamedTag(name, tag) for name, tag in zip(names, tags, strict=True) if tag is not None]

    def exists(self, name: str) -> bool:
        """Whether the tag exists."""
        return self.file_io.exists(self.path(name))

    def find(self, name: str) -> Tag | None:
        """Return the tag of a name, None if it does not exist; CorruptFileError if its file is invalid."""
        path = self.path(name)
        data = self.file_io.read_if_exists(path)
        return None if data is None else parse_tag(data, path)

    def get(self, name: str) -> Tag:
        """Return the tag of a name.

        Raises:
            NoSuchSnapshotError: it does not exist; the message lists existing ones.
        """
        if (tag := self.find(name)) is None:
            raise self.missing(name)
        return tag

    def of_snapshot(self, snapshot_id: int) -> list[NamedTag]:
        """Return the tags of a snapshot, sorted by name."""
        return [t for t in self.all() if t.snapshot.id == snapshot_id]

    def create(self, name: str, snapshot: Snapshot, time_retained: timedelta | None = None) -> Tag:
        """Create a tag.

        Args:
            name: its name.
            snapshot: the snapshot to retain.
            time_retained: its time to live; without it the file has no creation time either.

        Raises:
            AlreadyExistsError: the tag exists.
            InvalidInputError: the name is invalid.
        """
        path, tag = self.path(name), _new(snapshot, time_retained)
        data = tag.to_json().encode()
        with self._lock.acquire(self._branch) as held_lock:
            held_lock.confirm()
            created = self.file_io.try_create_exclusive(path, data, locked=held_lock.is_locked)
        if not created:
            raise self.taken(name)
        return tag

    def replace(self, name: str, snapshot: Snapshot, time_retained: timedelta | None = None) -> None:
        """Replace the snapshot of an existing tag; the arguments are those of `create`.

        Raises:
            NoSuchSnapshotError: the tag does not exist.
        """
        self.get(name)
        self.file_io.write_durably(self.path(name), _new(snapshot, time_retained).to_json().encode())

    def rename(self, name: str, target: str) -> None:
        """Rename a tag.

        Raises:
            NoSuchSnapshotError: the tag does not exist.
            AlreadyExistsError: the new name is taken.
        """
        source, destination = self.path(name), self.path(target)
        if not self.file_io.exists(source):
            raise self.missing(name)
        if self.file_io.exists(destination) or not self.file_io.rename(source, destination):
            raise self.taken(target)

    def missing(self, name: str) -> NoSuchSnapshotError:
        """Return the error of a missing tag."""
        names = self.names()
        return NoSuchSnapshotError(
            f"Tag '{name}' does not exist: {list_existing(names)}.", name=name, remedy=did_you_mean(name, names)
        )

    def taken(self, name: str) -> AlreadyExistsError:
        """Return the error of an existing tag."""
        remedy = "Replace it, or choose another name."
        return AlreadyExistsError(f"Tag '{name}' already exists.", name=name, remedy=remedy)


def check_tag_name(name: str) -> str:
    """Return the name if it is valid for a tag.

    Raises:
        InvalidInputError: it is blank, too long, or has a slash, a backslash or a control character.
    """
    return check_file_name(name, "tag")


def is_same_commit(one: Snapshot, other: Snapshot) -> bool:
    """Whether two snapshots of one id are the same commit, and none was created after a rollback of the other.

    Compared by their manifest lists, whose names are unique per commit; other fields may differ by the writer's
    version.
    """
    return commit_key(one) == commit_key(other)


def commit_key(snapshot: Snapshot) -> tuple[int, str]:
    """Return the unique key of a commit within its table."""
    return snapshot.id, snapshot.delta_manifest_list


def _new(snapshot: Snapshot, time_retained: timedelta | None) -> Tag:
    # Old readers do not support times in a tag, so they are written only if needed.
    return Tag(snapshot) if time_retained is None else Tag(snapshot, datetime.now(), time_retained)


SUCCESS = "_SUCCESS"
_CREATION, _MODIFICATION = "creationTime", "modificationTime"


def write_success_file(file_io: FileIO, path: str) -> None:
    """Write a success file; an existing one keeps its creation time (Paimon: `SuccessFile`)."""
    now, created = current_millis(), _creation(file_io, path)
    body = {_CREATION: now if created is None else created, _MODIFICATION: now}
    file_io.write_bytes(path, json.dumps(body, indent=2).encode())


def _creation(file_io: FileIO, path: str) -> int | None:
    """Return the creation time of a success file; None if it is missing or invalid."""
    with suppress(MissingFileError, ValueError):
        body = load_json(file_io.read_bytes(path))
        created = body.get(_CREATION) if isinstance(body, dict) else None
        return created if isinstance(created, int) else None
    return None
