"""What a writer moved from its buffer to the local disk: sorted runs, by bucket, from the oldest to the newest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from paimon_sql.format.options import TableOptions
from paimon_sql.storage.merge.spill import spill_folder, spilled
from paimon_sql.storage.merge.windows import Run, Window
from paimon_sql.storage.write.buffer import Target


class SpilledRuns:
    """Keeps runs in files until they are taken.

    Args:
        options: the table's, which say how the files are compressed.
    """

    def __init__(self, options: TableOptions) -> None:
        self._options = options
        self._folder: TemporaryDirectory[str] | None = None
        self._runs: dict[Target, list[tuple[Run, Path]]] = {}
        self._count = 0
        self.disk_bytes = 0

    @property
    def targets(self) -> list[Target]:
        """The buckets that have runs."""
        return list(self._runs)

    def add(self, target: Target, window: Window) -> None:
        """Move sorted rows to the disk, newer than all that the bucket has there."""
        if self._folder is None:
            self._folder = spill_folder()
        path = Path(self._folder.name, f"{self._count}.arrow")
        self._count += 1
        self._runs.setdefault(target, []).append((spilled([window], path, self._options, path.name), path))
        self.disk_bytes += path.stat().st_size

    @contextmanager
    def taken(self, target: Target) -> Iterator[list[Run]]:
        """The runs of a bucket; they are gone afterwards."""
        found = self._runs.pop(target, [])
        yield [run for run, _ in found]
        for _, path in found:
            self.disk_bytes -= path.stat().st_size
            path.unlink()

    def close(self) -> None:
        """Remove all files."""
        self._runs.clear()
        if self._folder is not None:
            self._folder.cleanup()
