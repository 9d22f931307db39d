"""Files with a kind and a name, as tags and consumers are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from paimon_sql.storage.file_io import FileIO, FileStatus
from paimon_sql.storage.file_io.paths import check_file_name

_MAX_LISTED = 10


class NamedFiles:
    """Files ``<kind>-<name>`` in the directory ``<kind>`` of a table or branch; other files in it are ignored.

    Class attributes:
        kind: what the files are.
    """

    kind: ClassVar[str]

    def __init__(self, file_io: FileIO, root: str) -> None:
        self.file_io = file_io
        self.directory = f"{root}/{self.kind}"

    def path(self, name: str) -> str:
        """Return the path of a name's file; InvalidInputError for an invalid name."""
        return f"{self.directory}/{self.kind}-{check_file_name(name, self.kind)}"

    def files(self) -> list[FileStatus]:
        """Return the files, sorted by name."""
        return [s for s in self.file_io.list(self.directory) if not s.is_dir and self.name_of(s) not in ("", s.name)]

    def name_of(self, status: FileStatus) -> str:
        """Return the name that a file belongs to."""
        return status.name.removeprefix(f"{self.kind}-")

    def names(self) -> list[str]:
        """Return all names, sorted."""
        return [self.name_of(s) for s in self.files()]

    def remove(self, name: str) -> bool:
        """Delete a name's file and nothing else: True if it existed.

        The deletion is durable: files that only this one retained may be deleted next.
        """
        return self.file_io.delete_durably(self.path(name))


def list_existing(names: Sequence[str]) -> str:
    """Describe which names exist, as a part of a message."""
    if not names:
        return "there is none"
    return f"there are {', '.join(names[:_MAX_LISTED])}{' ...' if len(names) > _MAX_LISTED else ''}"
