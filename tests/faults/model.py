"""A plain model of tables: what the rows are after some effects, as far as that is certain.

Two writers that put the same key at once may come in either order, whatever the order of their commits: rows carry
numbers that a writer takes when it begins. So a state holds, for each key, all rows that may be there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Row(NamedTuple):
    """A row of the tables of this model."""

    id: int
    v: str | None
    n: int | None
    p: str


@dataclass(frozen=True)
class Effect:
    """What an operation does to rows.

    Attributes:
        kind: ``put``, ``update``, ``delete``, ``overwrite`` or ``none``.
        rows: the rows that come, or go.
        partitions: the partitions that an overwrite replaces; None for everything.
        columns: the columns that an update sets; the other ones of the rows stay what they are.
    """

    kind: str = "none"
    rows: tuple[Row, ...] = ()
    partitions: tuple[str, ...] | None = None
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Effect:
        """An effect as a journal has it."""
        parts = stored["partitions"]
        rows = tuple(Row(*row) for row in stored["rows"])
        return cls(stored["kind"], rows, None if parts is None else tuple(parts), tuple(stored["columns"]))


NOTHING = Effect()
Writers = frozenset[str]
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Choice:
    """What one key or column may hold, and the commits that may have had the last word."""

    values: frozenset[Any] = frozenset([None])
    by: Writers = frozenset()

    def put(self, value: Any, writer: str, seen: AbstractSet[str]) -> Choice:
        """Another value; it replaces those that its writer has seen."""
        if self.by <= seen:
            return Choice(frozenset([value]), frozenset([writer]))
        return Choice(self.values | {value}, self.by | {writer})


class State(ABC):
    """The rows of a snapshot."""

    @abstractmethod
    def after(self, effect: Effect, writer: str, seen: AbstractSet[str]) -> State:
        """The state behind an effect.

        Args:
            effect: the effect.
            writer: the commit that has it.
            seen: the commits that the writer knew when it began.
        """

    @abstractmethod
    def faults(self, rows: Sequence[Row], *, shown: bool = True) -> list[str]:
        """What is wrong with rows that were read.

        Args:
            rows: the rows.
            shown: whether all rows must show; otherwise they may be behind what is held.
        """


@dataclass(frozen=True)
class AppendState(State):
    """Rows that stand for themselves; each of them is another one."""

    rows: frozenset[Row] = frozenset()

    def after(self, effect: Effect, writer: str, seen: AbstractSet[str]) -> State:
        new = frozenset(effect.rows)
        if effect.kind == "put":
            return AppendState(self.rows | new)
        if effect.kind == "update":
            values = {row.id: {name: getattr(row, name) for name in effect.columns} for row in new}
            return AppendState(frozenset(row._replace(**values.get(row.id, {})) for row in self.rows))
        if effect.kind == "delete":
            return AppendState(self.rows - new)
        if effect.kind == "overwrite":
            return AppendState(_outside(self.rows, effect.partitions) | new)
        return self

    def faults(self, rows: Sequence[Row], *, shown: bool = True) -> list[str]:
        counted = Counter(rows)
        found = [f"{row} is there {count} times" for row, count in counted.items() if count > 1]
        found += [f"{row} is invented" for row in sorted(counted.keys() - self.rows, key=repr)]
        if shown:
            found += [f"{row} is lost" for row in sorted(self.rows - counted.keys(), key=repr)]
        return found


def _outside(rows: Iterable[Row], partitions: tuple[str, ...] | None) -> frozenset[Row]:
    return frozenset(row for row in rows if partitions is not None and row.p not in partitions)


class Engine(ABC):
    """A merge engine, as a rule for one key.

    An entry is a tuple of `Choice`, one for each column behind the key, or one for the whole row.
    """

    deletes: bool = False

    @abstractmethod
    def put(self, entry: Any, row: Row, writer: str, seen: AbstractSet[str]) -> Any:
        """The entry with another row of its key."""

    def delete(self, entry: Any, row: Row, writer: str, seen: AbstractSet[str]) -> Any:
        """The entry without its row."""
        raise NotImplementedError

    @abstractmethod
    def fits(self, entry: Any, row: Row | None) -> bool:
        """Whether a row, or its absence, may be what the entry says."""


class Deduplicate(Engine):
    """The last row wins."""

    deletes = True

    def put(self, entry: Choice | None, row: Row, writer: str, seen: AbstractSet[str]) -> Choice:
        return (entry or Choice()).put(row, writer, seen)

    def delete(self, entry: Choice | None, row: Row, writer: str, seen: AbstractSet[str]) -> Choice:
        return (entry or Choice()).put(None, writer, seen)

    def fits(self, entry: Choice | None, row: Row | None) -> bool:
        return row in (entry or Choice()).values


class FirstRow(Engine):
    """The first row wins."""

    def put(self, entry: Choice | None, row: Row, writer: str, seen: AbstractSet[str]) -> Choice:
        if entry is None:
            return Choice(frozenset([row]), frozenset([writer]))
        return entry if entry.by <= seen else Choice(entry.values | {row}, entry.by | {writer})

    def fits(self, entry: Choice | None, row: Row | None) -> bool:
        return row in (entry or Choice()).values


class PartialUpdate(Engine):
    """The last value of each column wins that is not null.

    Rows that a compaction has merged bear the number of the latest of them. So a value that a writer has replaced can
    come back where another one, at work at the same time, put the key: the format knows no better without a sequence
    field. An entry is a tuple of all rows that were put, each with its writer and the commits that this one had seen.
    """

    def put(self, entry: Any, row: Row, writer: str, seen: AbstractSet[str]) -> Any:
        return (*(entry or ()), (row, writer, frozenset(seen)))

    def fits(self, entry: Any, row: Row | None) -> bool:
        if entry is None or row is None:
            return entry is row
        return all(getattr(row, name) in self._values(entry, name) for name in ("v", "n"))

    def _values(self, entry: Any, name: str) -> set[Any]:
        put = [one for one in entry if getattr(one[0], name) is not None]
        left = {getattr(one[0], name) for one in put if not any(self._replaces(entry, other, one) for other in put)}
        return left or {None}

    def _replaces(self, entry: Any, later: Any, earlier: Any) -> bool:
        """Whether a writer knew the other's value, and no third one was at work at the same time."""
        if earlier[1] not in later[2]:
            return False
        return not any(one[1] not in later[2] and later[1] not in one[2] for one in entry if one is not later)


class Aggregate(Engine):
    """The greatest ``v`` and the sum of ``n``: the order does not matter."""

    def put(self, entry: Any, row: Row, writer: str, seen: AbstractSet[str]) -> Any:
        v, n = entry or (None, None)
        return max(x for x in (v, row.v, "") if x is not None) or None, (n or 0) + (row.n or 0)

    def fits(self, entry: Any, row: Row | None) -> bool:
        return bool((None if row is None else (row.v, row.n)) == entry)


@dataclass(frozen=True)
class KeyedState(State):
    """Rows of a table with a primary key: by key what may be there."""

    engine: Engine
    by_partition: bool
    entries: Mapping[Key, Any] = field(default_factory=dict)

    def _key(self, row: Row) -> Key:
        return (row.id, row.p) if self.by_partition else (row.id,)

    def after(self, effect: Effect, writer: str, seen: AbstractSet[str]) -> State:
        if effect.kind == "none":
            return self
        entries = dict(self.entries)
        if effect.kind == "overwrite":
            wanted = effect.partitions
            entries = {k: e for k, e in entries.items() if wanted is not None and k[-1] not in wanted}
        for row in effect.rows:
            key = self._key(row)
            if effect.kind == "delete":
                entries[key] = self.engine.delete(entries.get(key), row, writer, seen)
            else:
                entries[key] = self.engine.put(entries.get(key), row, writer, seen)
        return KeyedState(self.engine, self.by_partition, entries)

    def faults(self, rows: Sequence[Row], *, shown: bool = True) -> list[str]:
        found: list[str] = []
        read: dict[Key, Row] = {}
        for row in rows:
            key = self._key(row)
            if key in read:
                found.append(f"key {key} is there twice: {read[key]}, {row}")
            read[key] = row
        if not shown:
            return found + [f"{row} is invented" for key, row in read.items() if key not in self.entries]
        wrong = [
            key
            for key in sorted(read.keys() | self.entries.keys(), key=repr)
            if not self.engine.fits(self.entries.get(key), read.get(key))
        ]
        return found + [f"key {key} is {read.get(key)} instead of {_shown(self.entries.get(key))}" for key in wrong]


def _shown(entry: Any) -> str:
    if isinstance(entry, Choice):
        return " or ".join(sorted(map(repr, entry.values)))
    return repr(entry)
