"""Carried properties: properties that each snapshot inherits, unless snapshots of other engines come in between.

As snapshots expire, what they record of the past is only known as long as the newest snapshot has it.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

from paimon_sql.errors import NoSuchSnapshotError
from paimon_sql.format.bytes.bounded import load_json
from paimon_sql.format.metadata.snapshot import BATCH_COMMIT_IDENTIFIER, FIRST_SNAPSHOT_ID, Snapshot
from paimon_sql.storage.metadata.rollback_marks import WRITER_VERSION
from paimon_sql.storage.table.table import Table

_MAX_FOREIGN = 10
"""Max number of consecutive snapshots of other engines to skip in search of carried properties."""


class CarriedProperty(ABC):
    """A property that snapshots carry.

    Args:
        key: the name of the property.
    """

    def __init__(self, key: str) -> None:
        self.key = key

    @abstractmethod
    def joined(self, snapshots: Iterable[Snapshot]) -> str | None:
        """Return the value after these snapshots, given newest first; None without a value."""


class Epochs(CarriedProperty):
    """The max identifier of each user with numbered commits, the latest users last; limited in number."""

    most = 100

    def joined(self, snapshots: Iterable[Snapshot]) -> str | None:
        numbers: dict[str, int] = {}
        for snapshot in snapshots:
            numbers = {**self.of(snapshot), **numbers}
        newest = dict(list(numbers.items())[-self.most :])
        return json.dumps(newest, separators=(",", ":")) if newest else None

    def of(self, snapshot: Snapshot) -> dict[str, int]:
        """Return the identifiers recorded in a snapshot, including its own."""
        numbers = self._read(snapshot.properties)
        if snapshot.commit_identifier != BATCH_COMMIT_IDENTIFIER:
            carried = numbers.pop(snapshot.commit_user, snapshot.commit_identifier)
            numbers[snapshot.commit_user] = max(carried, snapshot.commit_identifier)
        return numbers

    def _read(self, properties: Mapping[str, str] | None) -> dict[str, int]:
        try:
            found = load_json((properties or {}).get(self.key, "{}"))
            return {str(user): int(number) for user, number in found.items()}
        except (ValueError, TypeError, AttributeError):
            return {}


class Loads(CarriedProperty):
    """The ids of the file lists of the latest loads; limited in number."""

    most = 20

    def joined(self, snapshots: Iterable[Snapshot]) -> str | None:
        found: dict[str, None] = {}
        for snapshot in snapshots:
            found |= dict.fromkeys(self.read(snapshot.properties))
        return self.written(list(found)[: self.most]) if found else None

    def read(self, properties: Mapping[str, str] | None) -> list[str]:
        """Return the ids in a snapshot's properties, newest first."""
        return [name for name in (properties or {}).get(self.key, "").split(",") if name]

    def written(self, ids: Iterable[str]) -> str:
        """Return the value for these ids."""
        return ",".join(ids)


EPOCHS = Epochs("paimon-sql.epochs")
LOADS = Loads("paimon-sql.loads")
_ALL: tuple[CarriedProperty, ...] = (EPOCHS, LOADS)


def carried_properties(table: Table, latest: Snapshot | None, own: Mapping[str, str]) -> dict[str, str]:
    """Return the carried properties of the next snapshot.

    Args:
        table: the table.
        latest: the snapshot to build on.
        own: properties of the commit, which are combined with carried ones.
    """
    chain = _chain(table, latest)
    found = {carried.key: carried.joined(chain) for carried in _ALL}
    if own_loads := LOADS.read(own):
        before = [name for name in (found[LOADS.key] or "").split(",") if name]
        found[LOADS.key] = LOADS.written([*own_loads, *before][: LOADS.most])
    return {key: value for key, value in found.items() if value}


def _chain(table: Table, latest: Snapshot | None) -> list[Snapshot]:
    """Return the newest snapshots, down to one with carried properties."""
    chain: list[Snapshot] = []
    snapshot = latest
    while snapshot is not None and len(chain) < _MAX_FOREIGN:
        chain.append(snapshot)
        if snapshot.writer_version == WRITER_VERSION:
            break
        snapshot = snapshot_before(table, snapshot)
    return chain


def snapshot_before(table: Table, snapshot: Snapshot) -> Snapshot | None:
    """Return the previous snapshot; None if it does not exist."""
    if snapshot.id == FIRST_SNAPSHOT_ID:
        return None
    try:
        return table.snapshots.get(snapshot.id - 1)
    except NoSuchSnapshotError:
        return None
