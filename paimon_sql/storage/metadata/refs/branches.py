"""Branches: each has its own schemas, snapshots and tags, and shares the table's data files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from paimon_sql.errors import AlreadyExistsError, InvalidInputError, NotFoundError, did_you_mean
from paimon_sql.format.layout.paths import MAIN_BRANCH, SCHEMA, TablePaths
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.base import refuse_links
from paimon_sql.storage.file_io.paths import check_file_name, temporary_sibling
from paimon_sql.storage.metadata.catalog_environment import VersionManagement
from paimon_sql.storage.metadata.refs.named_files import list_existing

_PREFIX = "branch-"
_LEFTOVER = re.compile(r"\.branch-.+\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp", re.DOTALL)
"""A branch whose creation or deletion was interrupted."""


@dataclass(frozen=True)
class Branch:
    """A branch; ``time_millis`` is the modification time of its directory, in milliseconds since the epoch."""

    name: str
    time_millis: int


class BranchManager:
    """The branches of one table, whichever of them it was opened with; ``main`` is not included.

    Creation and deletion are atomic if the file system can rename directories: a branch is created under a hidden name,
    and renamed to one before it is deleted.

    Args:
        file_io: the file system.
        paths: the paths of any branch of the table.
        authority: the server that renames and deletes branches; without it, files are changed.
    """

    def __init__(self, file_io: FileIO, paths: TablePaths, authority: VersionManagement | None = None) -> None:
        self.file_io = file_io
        self._paths = paths
        self._authority = authority

    def all(self) -> list[Branch]:
        """Return the branches, sorted by name; other files are ignored."""
        found = self.file_io.list(self._paths.branches())
        return [
            Branch(s.name.removeprefix(_PREFIX), s.mtime_millis)
            for s in found
            if s.is_dir and s.name.startswith(_PREFIX) and len(s.name) > len(_PREFIX)
        ]

    def names(self) -> list[str]:
        """Return the names of the branches, sorted."""
        return [b.name for b in self.all()]

    def exists(self, name: str) -> bool:
        """Whether the branch exists; ``main`` always does."""
        return name == MAIN_BRANCH or name in self.names()

    def require(self, name: str) -> None:
        """Check that a branch exists.

        Raises:
            NotFoundError: it does not; the message lists existing ones.
        """
        if not self.exists(name):
            names = self.names()
            existing = list_existing(names)
            raise NotFoundError(
                f"Branch '{name}' does not exist: beside main {existing}.",
                name=name,
                remedy=did_you_mean(name, names),
            )

    def root(self, name: str) -> str:
        """Return the directory of a branch's own files."""
        return self._paths.of_branch(name).branch_root

    def create(self, name: str, files: Mapping[str, bytes]) -> None:
        """Create a branch from files.

        Args:
            name: its name.
            files: content by path below the branch's directory, in the order of writing if the store cannot rename: the
                branch then exists from its first schema on.

        Raises:
            AlreadyExistsError: the branch exists.
        """
        root = self.root(name)
        if self.file_io.is_object_store(root):
            if self.exists(name):
                raise _taken(name)
            self._write(root, files)
            return
        hidden = temporary_sibling(root)
        try:
            self._write(hidden, files)
            created = self._move(hidden, root)
        except Exception:
            if self.file_io.failures_are_final(root):
                self.file_io.delete_dir(hidden, recursive=True)
            raise  # otherwise the rename may still happen, and needs the files
        if not created:
            self.file_io.delete_dir(hidden, recursive=True)
            raise _taken(name)

    def _write(self, directory: str, files: Mapping[str, bytes]) -> None:
        for path, data in files.items():
            self.file_io.write_durably(f"{directory}/{path}", data)

    def rename(self, name: str, target: str) -> None:
        """Rename a branch; on an object store its files are moved one by one.

        Raises:
            AlreadyExistsError: the new name is taken.
        """
        if self._authority is not None:
            self._authority.rename_branch(name, target)
        elif not self._move(self.root(name), self.root(target)):
            raise _taken(target)

    def remove(self, name: str) -> None:
        """Delete a branch's own files; the data that it refers to is retained."""
        if self._authority is not None:
            self._authority.delete_branch(name)
            return
        root = self.root(name)
        refuse_links(self.file_io, [f"{root}/{SCHEMA}"], lambda path: self._paths.root)
        if self.file_io.is_object_store(root):
            self.file_io.delete_dir(f"{root}/{SCHEMA}", recursive=True)
        else:
            hidden = temporary_sibling(root)
            root = hidden if self._move(root, hidden) else root
        self.file_io.delete_dir(root, recursive=True)

    def sweep(self, before_millis: int) -> int:
        """Delete leftovers of interrupted creations and deletions from before a time; return their number.

        Args:
            before_millis: milliseconds since the epoch.
        """
        found = self.file_io.list(self._paths.branches())
        leftovers = [s for s in found if s.is_dir and _LEFTOVER.fullmatch(s.name) and s.mtime_millis < before_millis]
        return sum(self.file_io.delete_dir(s.path, recursive=True) for s in leftovers)

    def _move(self, source: str, target: str) -> bool:
        """Rename a directory; return False if the new name is taken, possibly by a concurrent process."""
        try:
            return self.file_io.rename(source, target)
        except OSError:
            if self.file_io.exists(target):
                return False
            raise


def check_branch_name(name: str) -> str:
    """Return the name if it is valid for a new branch.

    Raises:
        InvalidInputError: it is ``main`` or a number, blank, too long, or has characters that SQL or a path does not
            allow.
    """
    if name == MAIN_BRANCH:
        raise InvalidInputError(f"'{MAIN_BRANCH}' is the table itself and cannot be the name of a branch.")
    check_file_name(name, "branch")
    if name.isdecimal():
        raise InvalidInputError(
            f"'{name}' cannot be the name of a branch: it is a number.", remedy="Choose a name with a letter in it."
        )
    if "$" in name:
        raise InvalidInputError(
            f"'{name}' cannot be the name of a branch: '$' separates the parts of a table's name.",
            remedy="Choose a name without it.",
        )
    return name


def _taken(name: str) -> AlreadyExistsError:
    return AlreadyExistsError(f"Branch '{name}' already exists.", name=name, remedy="Choose another name.")
