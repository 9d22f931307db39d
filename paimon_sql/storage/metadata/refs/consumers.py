"""A table's consumers on disk: how far each named reader has come, so that snapshots wait for it."""

from __future__ import annotations

from paimon_sql.errors import MissingFileError
from paimon_sql.format.metadata.snapshot import Consumer, parse_consumer
from paimon_sql.storage.file_io import FileIO, FileStatus
from paimon_sql.storage.metadata.refs.names import check_file_name

_PREFIX = "consumer-"


class ConsumerManager:
    """The consumer files of one table or branch."""

    def __init__(self, file_io: FileIO, root: str) -> None:
        self.file_io = file_io
        self.directory = f"{root}/consumer"

    def path(self, name: str) -> str:
        """Where a consumer's progress stands; InvalidInputError for a name that can be none."""
        return f"{self.directory}/{_PREFIX}{check_file_name(name, 'consumer')}"

    def files(self) -> list[FileStatus]:
        """The consumer files, sorted by name; strange files are passed over."""
        found = self.file_io.list(self.directory)
        return [s for s in found if not s.is_dir and s.name.startswith(_PREFIX) and len(s.name) > len(_PREFIX)]

    def names(self) -> list[str]:
        """The names of all consumers, sorted."""
        return [s.name.removeprefix(_PREFIX) for s in self.files()]

    def all(self) -> dict[str, Consumer]:
        """All consumers by name; one that leaves meanwhile is passed over.

        Raises:
            CorruptFileError: a file does not tell how far its consumer has come.
        """
        found = {name: self.find(name) for name in self.names()}
        return {name: consumer for name, consumer in found.items() if consumer is not None}

    def find(self, name: str) -> Consumer | None:
        """How far a consumer has come, None if there is none of that name."""
        path = self.path(name)
        try:
            return parse_consumer(self.file_io.read_bytes(path), path)
        except MissingFileError:
            return None

    def min_next_snapshot(self) -> int | None:
        """The least snapshot that any consumer still wants, None without consumers; CorruptFileError as `all`."""
        return min((c.next_snapshot for c in self.all().values()), default=None)

    def reset(self, name: str, next_snapshot: int) -> None:
        """Set how far a consumer has come, making it if need be."""
        self.file_io.write_durably(self.path(name), Consumer(next_snapshot).to_json().encode())

    def remove(self, name: str) -> bool:
        """Forget a consumer: True if there was one of that name."""
        return self.file_io.delete_durably(self.path(name))

    def expire(self, before_millis: int) -> list[str]:
        """Forget the consumers whose files were not touched since a time; their names.

        Args:
            before_millis: milliseconds since the epoch.
        """
        stale = [s for s in self.files() if s.mtime_millis < before_millis]
        self.file_io.delete_many([s.path for s in stale])
        if stale:
            self.file_io.sync_directory(self.directory)
        return [s.name.removeprefix(_PREFIX) for s in stale]
