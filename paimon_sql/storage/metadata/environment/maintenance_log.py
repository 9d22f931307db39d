"""The record of maintenance: what was run on which table, by whom it was asked for, and what came of it.

It is kept beside the databases, a small file a run, written once the run is over. Nobody needs it to read or write a
table: a run never fails for its record, and old records go by themselves (decision 8).
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from paimon_sql.errors import MissingFileError, PaimonError
from paimon_sql.format.bytes.bounded import load_json
from paimon_sql.storage.execution.threads import spread
from paimon_sql.storage.file_io import FileIO

_LOG = logging.getLogger(__name__)
_SUFFIX = ".json"
_PRUNED_EVERY = 8
"""Once in so many runs the folder is listed for records that are too many."""

_READERS = 16


@dataclass(frozen=True)
class MaintenanceRun:
    """One run of maintenance.

    Attributes:
        started_millis: when it began, in milliseconds since the epoch.
        catalog: the catalog's name.
        procedure: the procedure; for what a commit brings about the one that would do the same.
        trigger: ``call``, or ``commit`` for what a table does by itself after one.
        database: the table's database, None where the run was about several.
        table: the table with its branch, None where the run was about several.
        arguments: the arguments that were given, as texts.
        dry_run: whether nothing was to be changed.
        snapshot_before: the table's newest snapshot before.
        snapshot_after: the newest one afterwards.
        counts: how many of what, by the names of the answer's columns.
        seconds: how long it took.
        note: what the answer says beside its numbers.
        error: why it failed; None if it did not.
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
        """The text of the record's file."""
        return json.dumps(asdict(self), ensure_ascii=False)


def parse_run(text: bytes) -> MaintenanceRun | None:
    """A record's file; None for one that is none. Members of later versions are passed over."""
    try:
        body = load_json(text)
        return MaintenanceRun(**{k: v for k, v in body.items() if k in MaintenanceRun.__dataclass_fields__})
    except (ValueError, TypeError, AttributeError):
        return None


@dataclass(frozen=True)
class MaintenanceLog:
    """The records of a catalog.

    Attributes:
        file_io: the file system that holds them.
        folder: the folder that they stand in.
        catalog: the catalog's name.
        retained: how many stay of calls, and of what commits brought about, a few more at times; 0 for none at all.
    """

    file_io: FileIO
    folder: str
    catalog: str
    retained: int

    def add(self, run: MaintenanceRun) -> None:
        """Keep a record; what prevents it is logged."""
        if self.retained < 1:
            return
        key = uuid.uuid4()
        try:
            path = f"{self.folder}/{run.trigger}-{run.started_millis:015d}-{key.hex[:12]}{_SUFFIX}"
            self.file_io.write_bytes(path, run.to_json().encode())
            if key.int % _PRUNED_EVERY == 0:
                self.prune()
        except (PaimonError, OSError) as error:
            _LOG.warning("%s: the record of %s could not be kept: %s", self.catalog, run.procedure, error)

    def prune(self) -> None:
        """Remove the oldest records that are too many: of calls, and of what commits brought about."""
        of_kinds: dict[str, list[str]] = {}
        for name, path in self._files():
            of_kinds.setdefault(name.partition("-")[0], []).append(path)
        self.file_io.delete_many(path for paths in of_kinds.values() for path in paths[: -self.retained])

    def runs(self) -> list[MaintenanceRun]:
        """All records, the oldest first; those that go meanwhile or cannot be read are passed over."""
        found = spread(self._read, [path for _, path in self._files()], _READERS)
        return sorted((run for run in found if run is not None), key=lambda run: run.started_millis)

    def _files(self) -> list[tuple[str, str]]:
        """The names and paths of the records, those of each kind from the oldest to the newest."""
        return [(s.name, s.path) for s in self.file_io.list(self.folder) if s.name.endswith(_SUFFIX)]

    def _read(self, path: str) -> MaintenanceRun | None:
        try:
            return parse_run(self.file_io.read_bytes(path))
        except MissingFileError:
            return None
