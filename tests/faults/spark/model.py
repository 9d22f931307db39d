"""What statements do to rows beyond what the storage core's operations do: changes of rows by their id, loads."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from tests.faults.model import AppendState, Choice, Effect, KeyedState, Row, State
from tests.faults.tables import TableKind

FIRST_LOADED = 200_000
UPDATE, DELETE, MERGE, LOAD = "update", "delete", "merge", "load"


def loaded_rows(files: Iterable[int]) -> tuple[Row, ...]:
    """The rows of files that are loaded, by the files' numbers."""
    return tuple(Row(FIRST_LOADED + file * 10 + i, f"load-{file}", 1, "x") for file in files for i in range(2))


def file_of(row: Row) -> int:
    """The number of the file that a row was loaded from."""
    return (row.id - FIRST_LOADED) // 10


@dataclass(frozen=True)
class ChangedAppendState(AppendState):
    """Rows of a table without a key, whose ids are unique all the same.

    Attributes:
        loaded: the files that were loaded.
    """

    loaded: frozenset[int] = frozenset()

    def after(self, effect: Effect, writer: str, seen: AbstractSet[str]) -> State:
        given = {row.id: row for row in effect.rows}
        if effect.kind == DELETE:
            return replace(self, rows=frozenset(row for row in self.rows if row.id not in given))
        if effect.kind in (UPDATE, MERGE):
            changed = {_changed(row, given[row.id]) if row.id in given else row for row in self.rows}
            known = {row.id for row in self.rows}
            new = {row for row in effect.rows if effect.kind == MERGE and row.id not in known}
            return replace(self, rows=frozenset(changed | new))
        if effect.kind == LOAD:
            new = {row for row in effect.rows if file_of(row) not in self.loaded}
            files = {file_of(row) for row in effect.rows}
            return replace(self, rows=self.rows | new, loaded=self.loaded | files)
        after = super().after(effect, writer, seen)
        assert isinstance(after, AppendState)
        return replace(self, rows=after.rows)


def _changed(row: Row, new: Row) -> Row:
    return row._replace(v=new.v, n=new.n)


@dataclass(frozen=True)
class ChangedKeyedState(KeyedState):
    """Rows of a table with a key: an update changes a row if its key is there."""

    def after(self, effect: Effect, writer: str, seen: AbstractSet[str]) -> State:
        if effect.kind == UPDATE:
            entries = dict(self.entries)
            for row in effect.rows:
                key = self._key(row)
                entries[key] = _updated(entries.get(key, Choice()), row, writer, seen)
            return replace(self, entries=entries)
        after = super().after(effect, writer, seen)
        assert isinstance(after, KeyedState)
        return replace(self, entries=after.entries)


def _updated(entry: Choice, row: Row, writer: str, seen: AbstractSet[str]) -> Choice:
    if not entry.by <= seen:
        return Choice(entry.values | {row}, entry.by | {writer})
    if entry.values == {None}:
        return entry
    both = entry.values if None in entry.values else frozenset()
    return Choice(both | {row}, entry.by | {writer} if both else frozenset([writer]))


def empty_state(kind: TableKind) -> State:
    """The state of a new table."""
    if kind.engine is None:
        return ChangedAppendState()
    return ChangedKeyedState(kind.engine, "p" in kind.keys)
