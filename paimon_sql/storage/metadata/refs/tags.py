"""A table's tags on disk: snapshots that are kept under a name until the tag is deleted or expires."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from paimon_sql.errors import AlreadyExistsError, MissingFileError, NoSuchSnapshotError
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.metadata.snapshot import Snapshot, Tag, parse_tag
from paimon_sql.storage.execution.threads import spread
from paimon_sql.storage.file_io import FileIO, FileStatus
from paimon_sql.storage.metadata.environment.locks import UNLOCKED, TableLock
from paimon_sql.storage.metadata.refs.names import check_file_name
from paimon_sql.storage.metadata.refs.success_files import SUCCESS

_PREFIX = "tag-"
_SUCCESS_FOLDER = "tag-success-file"
_THREADS = 8


@dataclass(frozen=True)
class NamedTag:
    """A tag and its name."""

    name: str
    tag: Tag

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that it keeps."""
        return self.tag.snapshot


class TagManager:
    """The tag files of one table or branch; nothing here looks at data files.

    Args:
        file_io: the file system.
        root: the directory of the table or branch.
        lock: keeps others away while a tag is made.
        branch: the branch that the lock is asked for.
    """

    def __init__(self, file_io: FileIO, root: str, lock: TableLock = UNLOCKED, branch: str = MAIN_BRANCH) -> None:
        self.file_io = file_io
        self.directory = f"{root}/tag"
        self._lock = lock
        self._branch = branch

    def path(self, name: str) -> str:
        """Where a tag stands."""
        return f"{self.directory}/{_PREFIX}{check_tag_name(name)}"

    def files(self) -> list[FileStatus]:
        """The tag files, sorted by name; strange files are passed over."""
        found = self.file_io.list(self.directory)
        return [s for s in found if not s.is_dir and s.name.startswith(_PREFIX) and len(s.name) > len(_PREFIX)]

    def names(self) -> list[str]:
        """The names of all tags, sorted."""
        return [self.name_of(s) for s in self.files()]

    def name_of(self, status: FileStatus) -> str:
        """The name of the tag whose file that is."""
        return status.name.removeprefix(_PREFIX)

    def success_path(self, name: str) -> str:
        """Where a file stands that says that a tag is complete, if ``tag.create-success-file`` wants it."""
        return f"{self.directory}/{_SUCCESS_FOLDER}/{check_tag_name(name)}{SUCCESS}"

    def all(self) -> list[NamedTag]:
        """All tags, sorted by name; one that is deleted meanwhile is passed over.

        Raises:
            CorruptFileError: a file is no tag, so that nobody can say what it keeps.
        """
        names = self.names()
        tags = spread(self.find, names, _THREADS)
        return [NamedTag(name, tag) for name, tag in zip(names, tags, strict=True) if tag is not None]

    def exists(self, name: str) -> bool:
        """Whether there is a tag of that name."""
        return self.file_io.exists(self.path(name))

    def find(self, name: str) -> Tag | None:
        """The tag of that name, None if there is none; CorruptFileError if its file is no tag."""
        path = self.path(name)
        try:
            return parse_tag(self.file_io.read_bytes(path), path)
        except MissingFileError:
            return None

    def get(self, name: str) -> Tag:
        """The tag of that name.

        Raises:
            NoSuchSnapshotError: there is none; the message lists those that there are.
        """
        tag = self.find(name)
        if tag is None:
            raise self.missing(name)
        return tag

    def of_snapshot(self, snapshot_id: int) -> list[NamedTag]:
        """The tags that keep the snapshot of that id, sorted by name."""
        return [t for t in self.all() if t.snapshot.id == snapshot_id]

    def create(
        self,
        name: str,
        snapshot: Snapshot,
        time_retained: timedelta | None = None,
        now: Callable[[], datetime] = datetime.now,
    ) -> Tag:
        """Make a tag.

        Args:
            name: its name.
            snapshot: what it keeps.
            time_retained: how long it lives; without it the file does not tell its time of creation either.
            now: the wall clock.

        Raises:
            AlreadyExistsError: there is a tag of that name.
            InvalidInputError: the name can be none.
        """
        path, tag = self.path(name), _new(snapshot, time_retained, now)
        data = tag.to_json().encode()
        with self._lock.held(self._branch) as hold:
            hold.confirm()
            made = self.file_io.try_create_exclusive(path, data, locked=hold.is_locked)
        if not made:
            raise self.taken(name)
        return tag

    def replace(
        self,
        name: str,
        snapshot: Snapshot,
        time_retained: timedelta | None = None,
        now: Callable[[], datetime] = datetime.now,
    ) -> Tag:
        """Let an existing tag keep another snapshot; the arguments are those of `create`.

        Returns:
            The tag as it was before.

        Raises:
            NoSuchSnapshotError: there is no tag of that name.
        """
        before = self.get(name)
        self.file_io.write_durably(self.path(name), _new(snapshot, time_retained, now).to_json().encode())
        return before

    def rename(self, name: str, target: str) -> None:
        """Give a tag another name.

        Raises:
            NoSuchSnapshotError: there is no tag of that name.
            AlreadyExistsError: there is a tag of the new name.
        """
        source, destination = self.path(name), self.path(target)
        if not self.file_io.exists(source):
            raise self.missing(name)
        if self.file_io.exists(destination) or not self.file_io.rename(source, destination):
            raise self.taken(target)

    def remove(self, name: str) -> bool:
        """Remove a tag's file and nothing else: True if it was there.

        It does not come back by a loss of power: files that only it kept may be deleted next.
        """
        return self.file_io.delete_durably(self.path(name))

    def missing(self, name: str) -> NoSuchSnapshotError:
        """The error of a tag that is not there."""
        names = self.names()
        held = f"there are {', '.join(names[:10])}{' ...' if len(names) > 10 else ''}" if names else "there is none"
        return NoSuchSnapshotError(f"Tag '{name}' does not exist: {held}.", name=name)

    def taken(self, name: str) -> AlreadyExistsError:
        """The error of a tag that is there already."""
        return AlreadyExistsError(
            f"Tag '{name}' already exists.", name=name, remedy="Replace it, or choose another name."
        )


def check_tag_name(name: str) -> str:
    """The name itself, if it can be a tag's.

    Raises:
        InvalidInputError: it is blank, too long, or holds a slash, a backslash or a control character.
    """
    return check_file_name(name, "tag")


def is_same_commit(one: Snapshot, other: Snapshot) -> bool:
    """Whether two snapshots of one id are the same commit, and not one made after the other was rolled back.

    Their manifest lists tell, as no two commits share a name; other members may differ by the version that wrote them.
    """
    return commit_key(one) == commit_key(other)


def commit_key(snapshot: Snapshot) -> tuple[int, str]:
    """What tells a commit from all others of its table."""
    return snapshot.id, snapshot.delta_manifest_list


def _new(snapshot: Snapshot, time_retained: timedelta | None, now: Callable[[], datetime]) -> Tag:
    # Old readers know no times in a tag, so they are written only where they are needed.
    return Tag(snapshot) if time_retained is None else Tag(snapshot, now(), time_retained)
