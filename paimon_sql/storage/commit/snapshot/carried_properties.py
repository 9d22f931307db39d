"""Properties that snapshots hand on to those that follow, as long as snapshots of other engines do not come between.

Snapshots expire; what one of them says of the past is known only as long as the newest one says it, too.
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

_LOOK_BACK = 10
"""How many snapshots of other engines in a row are passed over to find what is to be handed on."""


class CarriedProperty(ABC):
    """A property that is handed on.

    Args:
        key: the name of the property.
    """

    def __init__(self, key: str) -> None:
        self.key = key

    @abstractmethod
    def joined(self, snapshots: Iterable[Snapshot]) -> str | None:
        """The value behind some snapshots, given from the newest on; None if there is nothing to hand on."""


class Epochs(CarriedProperty):
    """The greatest number that each writer of numbered commits has used, the latest writer last; a bounded number."""

    most = 100

    def joined(self, snapshots: Iterable[Snapshot]) -> str | None:
        numbers: dict[str, int] = {}
        for snapshot in snapshots:
            numbers = {**self.of(snapshot), **numbers}
        kept = dict(list(numbers.items())[-self.most :])
        return json.dumps(kept, separators=(",", ":")) if kept else None

    def of(self, snapshot: Snapshot) -> dict[str, int]:
        """The numbers that a snapshot tells, that of its own writer among them."""
        numbers = self._read(snapshot.properties)
        if snapshot.commit_identifier != BATCH_COMMIT_IDENTIFIER:
            known = numbers.pop(snapshot.commit_user, snapshot.commit_identifier)
            numbers[snapshot.commit_user] = max(known, snapshot.commit_identifier)
        return numbers

    def _read(self, properties: Mapping[str, str] | None) -> dict[str, int]:
        try:
            found = load_json((properties or {}).get(self.key, "{}"))
            return {str(user): int(number) for user, number in found.items()}
        except (ValueError, TypeError, AttributeError):
            return {}


class Loads(CarriedProperty):
    """The ids of the lists of files that the latest loads have brought; a bounded number."""

    most = 20

    def joined(self, snapshots: Iterable[Snapshot]) -> str | None:
        found: dict[str, None] = {}
        for snapshot in snapshots:
            found |= dict.fromkeys(self.read(snapshot.properties))
        return self.written(list(found)[: self.most]) if found else None

    def read(self, properties: Mapping[str, str] | None) -> list[str]:
        """The ids in a snapshot's properties, the newest first."""
        return [name for name in (properties or {}).get(self.key, "").split(",") if name]

    def written(self, ids: Iterable[str]) -> str:
        """The value that names some lists."""
        return ",".join(ids)


EPOCHS = Epochs("paimon-sql.epochs")
LOADS = Loads("paimon-sql.loads")
_ALL: tuple[CarriedProperty, ...] = (EPOCHS, LOADS)


def carried_on(table: Table, latest: Snapshot | None, own: Mapping[str, str]) -> dict[str, str]:
    """The properties that the next snapshot hands on.

    Args:
        table: the table.
        latest: the snapshot that it is built on.
        own: properties of its own, which are joined with what is handed on.
    """
    chain = _chain(table, latest)
    found = {one.key: one.joined(chain) for one in _ALL}
    if own_loads := LOADS.read(own):
        before = [name for name in (found[LOADS.key] or "").split(",") if name]
        found[LOADS.key] = LOADS.written([*own_loads, *before][: LOADS.most])
    return {key: value for key, value in found.items() if value}


def _chain(table: Table, latest: Snapshot | None) -> list[Snapshot]:
    """The newest snapshots, down to one that says what came before."""
    chain: list[Snapshot] = []
    snapshot = latest
    while snapshot is not None and len(chain) < _LOOK_BACK:
        chain.append(snapshot)
        if snapshot.writer_version == WRITER_VERSION:
            break
        snapshot = snapshot_before(table, snapshot)
    return chain


def snapshot_before(table: Table, snapshot: Snapshot) -> Snapshot | None:
    """The snapshot before another one; None if there is none any more."""
    if snapshot.id == FIRST_SNAPSHOT_ID:
        return None
    try:
        return table.snapshots.get(snapshot.id - 1)
    except NoSuchSnapshotError:
        return None
