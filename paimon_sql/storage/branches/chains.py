"""Chain tables: a snapshot branch with full partitions, and a delta branch with later changes (spec: Chain Table).

A partition that is only in the delta branch is read as its chain: the anchor, which is the nearest earlier partition of
the snapshot branch, then all later partitions of the delta branch up to the one that is read.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.options.operations import scan as scan_options
from paimon_sql.format.options.table.partition import PARTITION_TIMESTAMP_FORMATTER, PARTITION_TIMESTAMP_PATTERN
from paimon_sql.format.options.values import comma_separated
from paimon_sql.format.rows.binary_row import RowCodec
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.branches.selection import branch_of_option
from paimon_sql.storage.data_files.live_files import grouped
from paimon_sql.storage.table.partitions import PartitionTimes
from paimon_sql.storage.table.table import Table

Values = tuple[object, ...]


@dataclass(frozen=True)
class ChainPosition:
    """A partition in the chains of a table.

    Attributes:
        partition: the serialized partition.
        group: the values that select the chain.
        chain: the values along the chain; None if one of them is null, which is in no chain.
    """

    partition: bytes
    group: Values
    chain: Values | None


@dataclass(frozen=True)
class Chain:
    """The chains of a table.

    Attributes:
        table: the table, on any branch.
        snapshot_branch: the name of the branch with full partitions.
        delta_branch: the name of the branch with changes.
    """

    table: Table
    snapshot_branch: str
    delta_branch: str

    @classmethod
    def of(cls, table: Table) -> Chain | None:
        """Return the chains that the table's options declare; None unless they name both branches."""
        options = table.options
        snapshots: str | None = options.get(scan_options.SCAN_FALLBACK_SNAPSHOT_BRANCH)
        deltas: str | None = options.get(scan_options.SCAN_FALLBACK_DELTA_BRANCH)
        if not (options.get(scan_options.CHAIN_TABLE_ENABLED) and snapshots and deltas):
            return None
        return cls(table, snapshots, deltas)

    @classmethod
    def read_by(cls, table: Table) -> Chain | None:
        """Return the chains that reads of the table follow; None if it has none or is on one of their branches."""
        chain = cls.of(table)
        return None if chain is None or chain.is_snapshot_branch or chain.is_delta_branch else chain

    @property
    def is_snapshot_branch(self) -> bool:
        """Whether the table is on the branch with full partitions."""
        return self.table.branch.lower() == self.snapshot_branch.lower()

    @property
    def is_delta_branch(self) -> bool:
        """Whether the table is on the branch with changes."""
        return self.table.branch.lower() == self.delta_branch.lower()

    def snapshots(self) -> Table:
        """Return the branch with full partitions; InvalidOptionError if it does not exist."""
        return branch_of_option(self.table, self.snapshot_branch, scan_options.SCAN_FALLBACK_SNAPSHOT_BRANCH.key)

    def deltas(self) -> Table:
        """Return the branch with changes; InvalidOptionError if it does not exist."""
        return branch_of_option(self.table, self.delta_branch, scan_options.SCAN_FALLBACK_DELTA_BRANCH.key)

    def places(self, partitions: Iterable[bytes]) -> list[ChainPosition]:
        """Return the distinct partitions with their positions in chains."""
        fields = self.table.schema.partition_fields
        codec, first = RowCodec([f.type for f in fields]), len(fields) - len(self.chained_fields)
        found = []
        for partition in dict.fromkeys(partitions):
            values = codec.decode(partition)
            chain = values[first:]
            found.append(ChainPosition(partition, values[:first], None if any(v is None for v in chain) else chain))
        return found

    @property
    def chained_fields(self) -> tuple[DataField, ...]:
        """The partition columns along the chains, which are the last ones."""
        fields = self.table.schema.partition_fields
        names = comma_separated(self.table.options.get(scan_options.CHAIN_TABLE_CHAIN_PARTITION_KEYS))
        return fields[-len(names) :] if names else fields


class Timeline:
    """The partitions of a chain table by chain, in order.

    Args:
        chain: the chains.
        whole: the serialized partitions of the snapshot branch.
        changed: those of the delta branch.
    """

    def __init__(self, chain: Chain, whole: Iterable[bytes], changed: Iterable[bytes]) -> None:
        self._chain = chain
        self._whole = _by_group(chain.places(whole))
        self._changed = _by_group(chain.places(changed))
        fields = chain.chained_fields
        self._names = [f.name for f in fields]
        self._times = PartitionTimes(fields, chain.table.options)
        self._timed: dict[Values, list[tuple[int, ChainPosition]]] = {}

    def anchor(self, place: ChainPosition) -> ChainPosition | None:
        """Return the nearest full partition before one in its chain; None without one."""
        if place.chain is None:
            return None
        group = self._whole.get(place.group, [])
        before = bisect_left(group, place.chain, key=_chain_key)
        return group[before - 1] if before else None

    def is_first_needed(self, place: ChainPosition) -> bool:
        """Whether a full partition has none before it, but changes between it and the next full one."""
        if place.chain is None or self.anchor(place) is not None:
            return False
        group, changes = self._whole.get(place.group, []), self._changed.get(place.group, [])
        after = bisect_right(group, place.chain, key=_chain_key)
        first = bisect_right(changes, place.chain, key=_chain_key)
        last = bisect_left(changes, _chain_key(group[after]), key=_chain_key) if after < len(group) else len(changes)
        return first < last

    def links(self, place: ChainPosition) -> list[ChainPosition]:
        """Return the partitions of changes after a partition's anchor, up to the partition itself, in order.

        Without an anchor these are all up to it.

        Args:
            place: a partition of the delta branch.

        Raises:
            InvalidInputError: the time of the partition or its anchor cannot be parsed.
        """
        if place.chain is None:
            return [place]
        anchor = self.anchor(place)
        if anchor is None:
            changes = self._changed[place.group]
            return changes[: bisect_right(changes, place.chain, key=_chain_key)]
        after, last = self._required_time(anchor), self._required_time(place)
        timed = self._by_time(place.group)
        first, end = (bisect_right(timed, t, key=lambda timed_place: timed_place[0]) for t in (after, last))
        return [p for _, p in timed[first:end]]

    def _by_time(self, group: Values) -> list[tuple[int, ChainPosition]]:
        """Return the partitions of changes of a group by time; those without a time are in no chain."""
        if group not in self._timed:
            timed = ((self._time(p), p) for p in self._changed[group])
            self._timed[group] = sorted(((t, p) for t, p in timed if t is not None), key=lambda pair: pair[0])
        return self._timed[group]

    def _required_time(self, place: ChainPosition) -> int:
        time = self._time(place)
        if time is None:
            name = PartitionPaths.of(self._chain.table.schema).name(place.partition)
            raise InvalidInputError(
                f"{self._chain.table.name}: the partition {name} has no time as defined by"
                f" '{PARTITION_TIMESTAMP_FORMATTER.key}' and '{PARTITION_TIMESTAMP_PATTERN.key}', so its position"
                " in the chain is unknown.",
                remedy="Correct the options, or drop the partition.",
            )
        return time

    def _time(self, place: ChainPosition) -> int | None:
        return self._times.of(dict(zip(self._names, _chain_key(place), strict=True)))


def _by_group(places: Iterable[ChainPosition]) -> dict[Values, list[ChainPosition]]:
    """Group partitions by chain, in order."""
    groups = grouped((place.group, place) for place in places if place.chain is not None)
    for members in groups.values():
        members.sort(key=_chain_key)
    return groups


def _chain_key(place: ChainPosition) -> Values:
    assert place.chain is not None
    return place.chain
