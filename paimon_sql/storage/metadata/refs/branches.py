"""A table's branches on disk: each has schemas, snapshots and tags of its own and shares the table's data files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from paimon_sql.errors import AlreadyExistsError, InvalidInputError, NotFoundError
from paimon_sql.format.layout.paths import MAIN_BRANCH, SCHEMA, TablePaths
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.paths import temporary_sibling
from paimon_sql.storage.file_io.symlinks import refuse_links
from paimon_sql.storage.metadata.environment.snapshot_authority import VersionManagement
from paimon_sql.storage.metadata.refs.names import check_file_name

_PREFIX = "branch-"
_LEFTOVER = re.compile(r"\.branch-.+\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp", re.DOTALL)
"""A branch that was being made or deleted when its process ended."""


@dataclass(frozen=True)
class Branch:
    """A branch: its name, and when its folder was made or last changed, in milliseconds since the epoch."""

    name: str
    time_millis: int


class BranchManager:
    """The branches of one table, whichever of them it was opened by; ``main`` is not counted among them.

    A branch comes and goes in one step where the file system can rename a folder: it is made under a hidden name, and
    gets one before it is deleted.

    Args:
        file_io: the file system.
        paths: the paths of any branch of the table.
        authority: who renames and removes branches; without it that is done in the folder.
    """

    def __init__(self, file_io: FileIO, paths: TablePaths, authority: VersionManagement | None = None) -> None:
        self.file_io = file_io
        self._paths = paths
        self._authority = authority

    def all(self) -> list[Branch]:
        """The branches, sorted by name; strange files are passed over."""
        found = self.file_io.list(self._paths.branches())
        return [
            Branch(s.name.removeprefix(_PREFIX), s.mtime_millis)
            for s in found
            if s.is_dir and s.name.startswith(_PREFIX) and len(s.name) > len(_PREFIX)
        ]

    def names(self) -> list[str]:
        """The names of the branches, sorted."""
        return [b.name for b in self.all()]

    def exists(self, name: str) -> bool:
        """Whether there is a branch of that name; ``main`` always is."""
        return name == MAIN_BRANCH or name in self.names()

    def require(self, name: str) -> None:
        """Nothing if there is a branch of that name.

        Raises:
            NotFoundError: there is none; the message lists those that there are.
        """
        if not self.exists(name):
            names = self.names()
            held = f"there are {', '.join(names[:10])}{' ...' if len(names) > 10 else ''}" if names else "there is none"
            raise NotFoundError(f"Branch '{name}' does not exist: beside main {held}.", name=name)

    def root(self, name: str) -> str:
        """The folder of what a branch has of its own."""
        return self._paths.of_branch(name).branch_root

    def create(self, name: str, files: Mapping[str, bytes]) -> None:
        """Make a branch of these files.

        Args:
            name: its name.
            files: their contents by the paths below the branch's folder, in the order in which they are to be written
                where nothing can be renamed: then the branch is there from its first schema on.

        Raises:
            AlreadyExistsError: there is a branch of that name.
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
            is_there = self._moved(hidden, root)
        except Exception:
            if self.file_io.answers_are_final(root):
                self.file_io.delete_dir(hidden, recursive=True)
            raise  # otherwise it may get its name later, and must have its files then
        if not is_there:
            self.file_io.delete_dir(hidden, recursive=True)
            raise _taken(name)

    def _write(self, folder: str, files: Mapping[str, bytes]) -> None:
        for path, data in files.items():
            self.file_io.write_durably(f"{folder}/{path}", data)

    def rename(self, name: str, target: str) -> None:
        """Give a branch another name; on an object store its files move one by one.

        Raises:
            AlreadyExistsError: there is a branch of the new name.
        """
        if self._authority is not None:
            self._authority.rename_branch(name, target)
        elif not self._moved(self.root(name), self.root(target)):
            raise _taken(target)

    def remove(self, name: str) -> None:
        """Remove a branch's own files; the data that it refers to stays."""
        if self._authority is not None:
            self._authority.delete_branch(name)
            return
        root = self.root(name)
        refuse_links(self.file_io, [f"{root}/{SCHEMA}"], lambda path: self._paths.root)
        if self.file_io.is_object_store(root):
            self.file_io.delete_dir(f"{root}/{SCHEMA}", recursive=True)
        else:
            hidden = temporary_sibling(root)
            root = hidden if self._moved(root, hidden) else root
        self.file_io.delete_dir(root, recursive=True)

    def sweep(self, before_millis: int) -> int:
        """Remove what interrupted creations and deletions left before a time: how many there were.

        Args:
            before_millis: milliseconds since the epoch.
        """
        found = self.file_io.list(self._paths.branches())
        left = [s for s in found if s.is_dir and _LEFTOVER.fullmatch(s.name) and s.mtime_millis < before_millis]
        return sum(self.file_io.delete_dir(s.path, recursive=True) for s in left)

    def _moved(self, source: str, target: str) -> bool:
        """Whether a folder got its new name; a rival may take it between two looks."""
        try:
            return self.file_io.rename(source, target)
        except OSError:
            if self.file_io.exists(target):
                return False
            raise


def check_branch_name(name: str) -> str:
    """The name itself, if it can be a new branch's.

    Raises:
        InvalidInputError: it is ``main`` or a number, blank, too long, or holds what SQL or a path could not.
    """
    if name == MAIN_BRANCH:
        raise InvalidInputError(f"'{MAIN_BRANCH}' is the table itself and no name for a branch.")
    check_file_name(name, "branch")
    if name.isdecimal():
        raise InvalidInputError(
            f"'{name}' cannot be the name of a branch: it is a number.", remedy="Choose a name with a letter in it."
        )
    if "$" in name:
        raise InvalidInputError(
            f"'{name}' cannot be the name of a branch: '$' stands between the parts of a table's name.",
            remedy="Choose a name without it.",
        )
    return name


def _taken(name: str) -> AlreadyExistsError:
    return AlreadyExistsError(f"Branch '{name}' already exists.", name=name, remedy="Choose another name.")
