"""Maintenance log: the maintenance runs of a catalog, with trigger and result.

One small file per run, written after the run, beside the databases. No read or write of a table depends on it: a run
never fails because of its record, and old records are deleted automatically (decision 8).
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from paimon_sql.errors import MissingFileError, PaimonError
from paimon_sql.format.bytes.bounded import load_json
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.file_io import FileIO

_LOG = logging.getLogger(__name__)
_SUFFIX = ".json"
_PRUNE_INTERVAL = 8
"""Average number of runs between two prunings."""

_READERS = 16


@dataclass(frozen=True)
class MaintenanceRun:
    """One maintenance run.

    Attributes:
        started_millis: start time, in milliseconds since the epoch.
        catalog: the catalog's name.
        procedure: the procedure; for maintenance after a commit the equivalent one.
        trigger: ``call``, or ``commit`` for automatic maintenance after a commit.
        database: the table's database, None for several.
        table: the table with its branch, None for several.
        arguments: the given arguments, as strings.
        dry_run: whether it was a dry run.
        snapshot_before: the table's latest snapshot before the run.
        snapshot_after: the latest one after it.
        counts: numbers of the result, by column name.
        seconds: duration.
        note: other information of the result.
        error: the error message; None on success.
    """

    started_millis: int
    catalog: str
    procedure: str
    trigger: str
    database: str | None = None
    table: str | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    dry_run: bool = False
    snapshot_before: int | None = None
    snapshot_after: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    note: str | None = None
    error: str | None = None

    def to_json(self) -> str:
        """Return the content of the record's file."""
        return json.dumps(asdict(self), ensure_ascii=False)


def parse_run(text: bytes) -> MaintenanceRun | None:
    """Parse a record's file; None for an invalid one. Unknown fields of later versions are ignored."""
    try:
        body = load_json(text)
        return MaintenanceRun(**{k: v for k, v in body.items() if k in MaintenanceRun.__dataclass_fields__})
    except (ValueError, TypeError, AttributeError):
        return None


@dataclass(frozen=True)
class MaintenanceLog:
    """The records of a catalog.

    Attributes:
        file_io: the file system of the records.
        folder: their directory.
        catalog: the catalog's name.
        retained: maximum number of records of calls, and of commits, exceeded slightly between prunings; 0 disables the
            log.
    """

    file_io: FileIO
    folder: str
    catalog: str
    retained: int

    def add(self, run: MaintenanceRun) -> None:
        """Write a record; an error is only logged."""
        if self.retained < 1:
            return
        key = uuid.uuid4()
        try:
            path = f"{self.folder}/{run.trigger}-{run.started_millis:015d}-{key.hex[:12]}{_SUFFIX}"
            self.file_io.write_bytes(path, run.to_json().encode())
            if key.int % _PRUNE_INTERVAL == 0:
                self.prune()
        except (PaimonError, OSError) as error:
            _LOG.warning("%s: the record of %s could not be kept: %s", self.catalog, run.procedure, error)

    def prune(self) -> None:
        """Delete the oldest records of calls, and of commits, beyond the maximum."""
        paths_by_trigger: dict[str, list[str]] = {}
        for name, path in self._files():
            paths_by_trigger.setdefault(name.partition("-")[0], []).append(path)
        self.file_io.delete_many(path for paths in paths_by_trigger.values() for path in paths[: -self.retained])

    def runs(self) -> list[MaintenanceRun]:
        """Return all records, oldest first; concurrently deleted and unreadable ones are skipped."""
        found = map_in_threads(self._read, [path for _, path in self._files()], _READERS)
        return sorted((run for run in found if run is not None), key=lambda run: run.started_millis)

    def _files(self) -> list[tuple[str, str]]:
        """Return names and paths of the records, per trigger from oldest to newest."""
        return [(s.name, s.path) for s in self.file_io.list(self.folder) if s.name.endswith(_SUFFIX)]

    def _read(self, path: str) -> MaintenanceRun | None:
        try:
            return parse_run(self.file_io.read_bytes(path))
        except MissingFileError:
            return None
