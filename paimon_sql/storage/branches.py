"""A table's branches on disk: each has schemas, snapshots and tags of its own and shares the table's data files."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_sql.format.paths import MAIN_BRANCH, TablePaths
from paimon_sql.storage.file_io import FileIO

_PREFIX = "branch-"


@dataclass(frozen=True)
class Branch:
    """A branch: its name, and when its folder was made or last changed, in milliseconds since the epoch."""

    name: str
    time_millis: int


class BranchManager:
    """The branches of one table, whichever of them it was opened by; ``main`` is not counted among them.

    Args:
        file_io: the file system.
        paths: the paths of any branch of the table.
    """

    def __init__(self, file_io: FileIO, paths: TablePaths) -> None:
        self.file_io = file_io
        self._paths = paths

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

    def root(self, name: str) -> str:
        """The folder of what a branch has of its own."""
        return self._paths.of_branch(name).branch_root
