"""Checks of the catalog and of the store of its warehouse: what commits rely on."""

from __future__ import annotations

import time
import uuid
from abc import abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from paimon_sql.catalog.warehouse import WarehouseCatalog
from paimon_sql.shell.doctor.base import Check, Finding, Place, State
from paimon_sql.storage.file_io import FileIO

T = TypeVar("T")
_RIVALS = 8
_SKEW_SECONDS = 60


class CatalogCheck(Check):
    """The catalog opens, and lists its databases."""

    name = "catalog"

    def findings(self, place: Place) -> Iterator[Finding]:
        databases = place.catalog.list_databases()
        kind = place.options.get("metastore", "filesystem")
        where = place.catalog.options.get("warehouse", "")
        yield Finding(State.OK, f"The {kind} catalog of {where} has {len(databases)} databases.")


@dataclass(frozen=True)
class _Store:
    """The store of a warehouse, and a directory in it that is only for a check."""

    file_io: FileIO
    directory: str

    def path(self, name: str) -> str:
        """The path of a file in the directory."""
        return f"{self.directory}/{name}"


@contextmanager
def _probed(catalog: WarehouseCatalog) -> Iterator[_Store]:
    io, warehouse = catalog.file_io, catalog.warehouse
    directory, was_there = f"{warehouse}/.paimon-sql-doctor-{uuid.uuid4()}", io.exists(warehouse)
    try:
        yield _Store(io, directory)
    finally:
        io.delete_dir(directory, recursive=True)
        if not was_there:
            io.delete_dir(warehouse)


class ProbingCheck(Check):
    """A check that needs a directory in the warehouse."""

    def findings(self, place: Place) -> Iterator[Finding]:
        if not isinstance(place.catalog, WarehouseCatalog):
            yield Finding(State.SKIPPED, "The catalog's server has no warehouse directory to write to.")
            return
        with _probed(place.catalog) as store:
            yield from self.probe(store)

    @abstractmethod
    def probe(self, store: _Store) -> Iterator[Finding]:
        """Look at a store, and say what was found."""


class StoreCheck(ProbingCheck):
    """Files can be written, read, listed and deleted, and are seen at once."""

    name = "store"

    def probe(self, store: _Store) -> Iterator[Finding]:
        io, path = store.file_io, store.path("a")
        _, write_seconds = _timed(lambda: io.write_durably(path, b"1"))
        data, read_seconds = _timed(lambda: io.read_bytes(path))
        problems = []
        if data != b"1":
            problems.append("a file that was just written is read with another content")
        if [status.name for status in io.list(store.directory)] != ["a"]:
            problems.append("a file that was just written is not listed")
        if not io.delete(path) or io.exists(path):
            problems.append("a file that was deleted is still there")
        for problem in problems:
            yield Finding(State.FAILED, f"The store is not consistent: {problem}.", "Use a store that is.")
        if not problems:
            took = f"A file is written in {write_seconds * 1000:.0f} ms, read in {read_seconds * 1000:.0f} ms."
            yield Finding(State.OK, took)


class CommitCheck(Check):
    """Of several writers that create one file, exactly one succeeds; where the store cannot do that, a lock does."""

    name = "commits"

    def findings(self, place: Place) -> Iterator[Finding]:
        catalog = place.catalog
        if not isinstance(catalog, WarehouseCatalog):
            yield Finding(State.OK, "The catalog's server decides commits.")
            return
        io = catalog.file_io
        if not io.can_create_exclusively(catalog.warehouse):
            if catalog.takes_locks:
                yield Finding(State.OK, "The store has no conditional creation; the catalog's lock decides commits.")
                return
            yield Finding(
                State.FAILED,
                "The store cannot create a file only if it does not exist, so that commits are refused.",
                "Use a JDBC or Hive catalog with 'lock.enabled' = 'true', or a store with conditional writes.",
            )
            return
        with _probed(catalog) as store:
            yield self._with_rivals(store)
            yield self._of_conditions(store)

    def _with_rivals(self, store: _Store) -> Finding:
        path = store.path("snapshot")
        with ThreadPoolExecutor(_RIVALS) as pool:
            contents = [str(number).encode() for number in range(_RIVALS)]
            won = list(pool.map(lambda data: store.file_io.try_create_exclusive(path, data), contents))
        winners = [data for data, has_won in zip(contents, won, strict=True) if has_won]
        if len(winners) == 1 and store.file_io.read_bytes(path) == winners[0]:
            return Finding(State.OK, f"Of {_RIVALS} writers of one file exactly one wins.")
        return Finding(
            State.FAILED,
            f"{len(winners)} of {_RIVALS} writers created the same file: concurrent commits would lose rows.",
            "Use another store, or a JDBC or Hive catalog with 'lock.enabled' = 'true'.",
        )

    def _of_conditions(self, store: _Store) -> Finding:
        io, path = store.file_io, store.path("hint")
        io.write_bytes(path, b"1")
        replaced = io.replace_if(path, b"0", b"2"), io.replace_if(path, b"1", b"2")
        deleted = io.delete_if(path, b"1".__eq__), io.delete_if(path, b"2".__eq__)
        if replaced == deleted == (False, True):
            return Finding(State.OK, "Files are replaced and deleted only if they are unchanged.")
        return Finding(State.FAILED, "Files are replaced or deleted although they were changed.", "Use another store.")


class ClockCheck(ProbingCheck):
    """The clocks of this machine and of the store agree."""

    name = "clock"

    def probe(self, store: _Store) -> Iterator[Finding]:
        before = time.time()
        store.file_io.write_bytes(store.path("now"), b"1")
        status = store.file_io.status(store.path("now"))
        after = time.time()
        stored = (status.mtime_millis if status is not None else 0) / 1000
        skew = max(before - stored, stored - after, 0.0)
        if skew > _SKEW_SECONDS:
            yield Finding(
                State.WARNING,
                f"The clock of this machine and that of the store differ by {skew:.0f} s: snapshots and orphan files"
                " expire too early or too late.",
                "Synchronize the clock, for example by chrony.",
            )
        else:
            yield Finding(State.OK, f"The clocks of this machine and of the store differ by at most {skew:.0f} s.")


def _timed(action: Callable[[], T]) -> tuple[T, float]:
    started = time.monotonic()
    return action(), time.monotonic() - started
