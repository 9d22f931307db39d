"""What this process measured of its scans and commits: the newest value of each metric of a table, and their sum.

The names are those of Apache Paimon's metrics, without the ``last`` that some begin with. Metrics are a matter of one
process: what others do with a table is not among them, nor what tasks on executors read.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

COMMIT = "commit"
SCAN = "scan"
_TABLES = 1000


@dataclass(frozen=True)
class Metric:
    """The values that were measured of one thing.

    Attributes:
        group: what was measured: ``scan`` or ``commit``.
        name: the metric.
        last: the newest value.
        greatest: the greatest.
        total: the sum of all.
        count: how many there are.
        at_millis: when the newest was measured, in milliseconds since the epoch.
    """

    group: str
    name: str
    last: float
    greatest: float
    total: float
    count: int
    at_millis: int

    def then(self, value: float, at_millis: int) -> Metric:
        """With one value more."""
        return Metric(
            self.group,
            self.name,
            value,
            max(self.greatest, value),
            self.total + value,
            self.count + 1,
            at_millis,
        )


class Measured(Protocol):
    """What has metrics: a table or a branch of it."""

    @property
    def name(self) -> str: ...

    @property
    def path(self) -> str: ...

    @property
    def branch(self) -> str: ...


@dataclass(frozen=True, order=True)
class Place:
    """What metrics are of; the same name may stand for another table in another catalog."""

    name: str
    path: str
    branch: str


class Metrics:
    """The metrics of the tables that were used last, of each branch by itself; safe to be used by several threads.

    Args:
        tables: of how many tables metrics are remembered.
    """

    def __init__(self, tables: int = _TABLES) -> None:
        self._most = tables
        self._tables: OrderedDict[Place, dict[tuple[str, str], Metric]] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, table: Measured, group: str, values: Mapping[str, float]) -> None:
        """Remember values that were measured together."""
        now, place = time.time_ns() // 1_000_000, Place(table.name, table.path, table.branch)
        with self._lock:
            known = self._tables.setdefault(place, {})
            self._tables.move_to_end(place)
            for name, value in values.items():
                before = known.get((group, name))
                first = Metric(group, name, value, value, value, 1, now)
                known[group, name] = first if before is None else before.then(value, now)
            if len(self._tables) > self._most:
                self._tables.popitem(last=False)

    def all(self) -> list[tuple[Place, Metric]]:
        """The metrics of all tables, sorted by the tables' names and their own."""
        with self._lock:
            found = [(place, m) for place, known in self._tables.items() for m in known.values()]
        return sorted(found, key=lambda row: (row[0], row[1].group, row[1].name))


METRICS = Metrics()
"""The metrics of this process."""
