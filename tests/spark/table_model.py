"""A table as plain Python sees it: rows by field id, changed by the statements that change the real one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

Value = int | str | None
Record = dict[int, Value]
Engine = Callable[["TableModel", Record, Record], Record]
"""What becomes of a record and a new one of the same key."""


@dataclass(frozen=True)
class Condition:
    """A condition in SQL, and what it says of a row's values by column name."""

    text: str
    holds: Callable[[dict[str, Value]], bool]


def _deduplicate(table: TableModel, old: Record, new: Record) -> Record:
    return new


def _partial_update(table: TableModel, old: Record, new: Record) -> Record:
    return old | {i: value for i, value in new.items() if value is not None}


def _aggregation(table: TableModel, old: Record, new: Record) -> Record:
    i = table.columns["v"]
    before, after = old.get(i), new.get(i)
    both = isinstance(before, int) and isinstance(after, int)
    return _partial_update(table, old, new | ({i: before + after} if both else {}))  # type: ignore[operator]


def _first_row(table: TableModel, old: Record, new: Record) -> Record:
    return old


ENGINES: dict[str, Engine] = {
    "deduplicate": _deduplicate,
    "partial-update": _partial_update,
    "aggregation": _aggregation,
    "first-row": _first_row,
}
"""The merge engines by their names; that of aggregation adds ``v`` up and takes the last value of other columns."""


@dataclass
class TableModel:
    """A table's columns and rows.

    Attributes:
        keys: the columns of the primary key; none of an append table.
        columns: the field id of each column, in order; columns that were dropped are forgotten, their values are not
            seen any more.
        records: the rows.
        engine: the merge engine of a keyed table.
    """

    keys: tuple[str, ...]
    columns: dict[str, int] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    ids: Iterable[int] = field(default_factory=count)
    engine: str = "deduplicate"

    def add_column(self, name: str) -> None:
        """A new column, empty in the rows that there are."""
        self.columns[name] = next(iter(self.ids))

    def rename(self, old: str, new: str) -> None:
        """The column under another name, in its place."""
        self.columns = {new if name == old else name: i for name, i in self.columns.items()}

    def drop(self, name: str) -> None:
        """The column is no more; one of the same name is another."""
        del self.columns[name]

    def insert(self, rows: Iterable[dict[str, Value]]) -> None:
        """Rows by column names; those of a keyed table are merged with the rows of their keys."""
        for row in rows:
            new = {self.columns[name]: value for name, value in row.items()}
            same = [n for n, r in enumerate(self.records) if self.keys and self.key(self.named(r)) == self.key(row)]
            if same:
                self.records[same[0]] = ENGINES[self.engine](self, self.records[same[0]], new)
            else:
                self.records.append(new)

    def delete(self, condition: Condition) -> int:
        """Rows of which the condition holds go; how many."""
        kept = [r for r in self.records if not condition.holds(self.named(r))]
        gone = len(self.records) - len(kept)
        self.records = kept
        return gone

    def update(self, condition: Condition, change: Callable[[dict[str, Value]], dict[str, Value]]) -> int:
        """Rows of which the condition holds are changed; how many."""
        chosen = [condition.holds(self.named(r)) for r in self.records]
        self.records = [self._changed(r, change) if hit else r for r, hit in zip(self.records, chosen, strict=True)]
        return sum(chosen)

    def merge(
        self,
        source: Sequence[dict[str, Value]],
        on: Sequence[str],
        doomed: Callable[[dict[str, Value]], bool],
        change: Callable[[dict[str, Value], dict[str, Value]], dict[str, Value]],
    ) -> None:
        """Matched rows go where their source row is doomed, else they are changed; other source rows are inserted."""
        by_key = {tuple(s[name] for name in on): s for s in source}
        found, left = set(), []
        for record in self.records:
            row = self.named(record)
            key = tuple(row[name] for name in on)
            if key not in by_key:
                left.append(record)
                continue
            found.add(key)
            if not doomed(by_key[key]):
                left.append(self._changed(record, lambda row, key=key: change(row, by_key[key])))  # type: ignore[misc]
        self.records = left
        self.insert(s for key, s in by_key.items() if key not in found)

    def rows(self, condition: Condition | None = None) -> list[tuple[Value, ...]]:
        """The rows of which a condition holds, with today's columns."""
        named = map(self.named, self.records)
        return [tuple(row.values()) for row in named if condition is None or condition.holds(row)]

    def named(self, record: Record) -> dict[str, Value]:
        """A row's values by today's columns."""
        return {name: record.get(i) for name, i in self.columns.items()}

    def key(self, row: dict[str, Value]) -> tuple[Value, ...]:
        """The key of a row."""
        return tuple(row[name] for name in self.keys)

    def _changed(self, record: Record, change: Callable[[dict[str, Any]], dict[str, Value]]) -> Record:
        changed = record | {self.columns[name]: value for name, value in change(self.named(record)).items()}
        return ENGINES[self.engine](self, record, changed)
