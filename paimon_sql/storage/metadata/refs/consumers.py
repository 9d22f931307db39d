"""Consumers: the progress of named readers, which snapshot expiration respects (Paimon: `ConsumerManager`)."""

from __future__ import annotations

from paimon_sql.format.metadata.snapshot import Consumer, parse_consumer
from paimon_sql.storage.metadata.refs.named_files import NamedFiles


class ConsumerManager(NamedFiles):
    """The consumer files of one table or branch."""

    kind = "consumer"

    def all(self) -> dict[str, Consumer]:
        """Return all consumers by name; one that is deleted concurrently is skipped.

        Raises:
            CorruptFileError: a consumer file is invalid.
        """
        found = {name: self.find(name) for name in self.names()}
        return {name: consumer for name, consumer in found.items() if consumer is not None}

    def find(self, name: str) -> Consumer | None:
        """Return a consumer's progress; None if it does not exist."""
        path = self.path(name)
        data = self.file_io.read_if_exists(path)
        return None if data is None else parse_consumer(data, path)

    def min_next_snapshot(self) -> int | None:
        """Return the minimum next snapshot of all consumers, None without consumers; CorruptFileError like `all`."""
        return min((c.next_snapshot for c in self.all().values()), default=None)

    def reset(self, name: str, next_snapshot: int) -> None:
        """Set a consumer's progress, creating the consumer if needed."""
        self.file_io.write_durably(self.path(name), Consumer(next_snapshot).to_json().encode())

    def expire(self, before_millis: int) -> list[str]:
        """Delete the consumers whose files were not modified since a time; return their names.

        Args:
            before_millis: milliseconds since the epoch.
        """
        stale = [s for s in self.files() if s.mtime_millis < before_millis]
        self.file_io.delete_many([s.path for s in stale])
        if stale:
            self.file_io.sync_directory(self.directory)
        return [self.name_of(s) for s in stale]
