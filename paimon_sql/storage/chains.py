"""Chain tables: a branch with whole partitions and one with what changed since, partition by partition.

A partition that only the delta branch has is read as its chain: the nearest earlier partition of the snapshot branch,
the anchor, and behind it all partitions of the delta branch up to the one asked for (spec: Chain Table).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from paimon_sql.errors import InvalidInputError, InvalidOptionError, NotFoundError
from paimon_sql.format.binary_row import RowCodec
from paimon_sql.format.options.partition import PARTITION_TIMESTAMP_FORMATTER, PARTITION_TIMESTAMP_PATTERN
from paimon_sql.format.options.scan import (
    CHAIN_TABLE_CHAIN_PARTITION_KEYS,
    CHAIN_TABLE_ENABLED,
    SCAN_FALLBACK_DELTA_BRANCH,
    SCAN_FALLBACK_SNAPSHOT_BRANCH,
)
from paimon_sql.format.options.values import comma_separated
from paimon_sql.format.partition import PartitionPaths
from paimon_sql.storage.branching import branch_of
from paimon_sql.storage.partition_times import PartitionTimes
from paimon_sql.storage.table import Table

Values = tuple[Any, ...]


@dataclass(frozen=True)
class Place:
    """Where a partition stands.

    Attributes:
        partition: its values, serialised.
        group: the values by which chains are kept apart.
        chain: the values along which its chain runs; None if one of them is null, which has no place in a chain.
    """

    partition: bytes
    group: Values
    chain: Values | None


@dataclass(frozen=True)
class Chain:
    """The chains of a table.

    Attributes:
        table: the table, on whichever branch.
        snapshot_branch: the name of the branch with whole partitions.
        delta_branch: the name of the branch with changes.
    """

    table: Table
    snapshot_branch: str
    delta_branch: str

    @classmethod
    def of(cls, table: Table) -> Chain | None:
        """The chains that a table's options declare; None if they do not, or do not name both branches."""
        options = table.options
        snapshots: str | None = options.get(SCAN_FALLBACK_SNAPSHOT_BRANCH)
        deltas: str | None = options.get(SCAN_FALLBACK_DELTA_BRANCH)
        if not (options.get(CHAIN_TABLE_ENABLED) and snapshots and deltas):
            return None
        return cls(table, snapshots, deltas)

    @property
    def is_whole(self) -> bool:
        """Whether the table is read with both branches beside it, being neither of them."""
        return not (self.is_snapshot_branch or self.is_delta_branch)

    @property
    def is_snapshot_branch(self) -> bool:
        """Whether the table is the branch with whole partitions."""
        return self.table.branch.lower() == self.snapshot_branch.lower()

    @property
    def is_delta_branch(self) -> bool:
        """Whether the table is the branch with changes."""
        return self.table.branch.lower() == self.delta_branch.lower()

    def snapshots(self) -> Table:
        """The branch with whole partitions; InvalidOptionError if there is none of that name."""
        return self._branch(self.snapshot_branch, SCAN_FALLBACK_SNAPSHOT_BRANCH.key)

    def deltas(self) -> Table:
        """The branch with changes; InvalidOptionError if there is none of that name."""
        return self._branch(self.delta_branch, SCAN_FALLBACK_DELTA_BRANCH.key)

    def places(self, partitions: Iterable[bytes]) -> list[Place]:
        """Where partitions stand, each once."""
        fields = self.table.schema.partition_fields
        codec, first = RowCodec([f.type for f in fields]), len(fields) - self._chained
        found = []
        for partition in dict.fromkeys(partitions):
            values = codec.decode(partition)
            chain = values[first:]
            found.append(Place(partition, values[:first], None if any(v is None for v in chain) else chain))
        return found

    def times(self, places: Iterable[Place]) -> Mapping[bytes, int | None]:
        """The time of each partition, in nanoseconds of the wall clock since 1970; None where its values tell none."""
        fields = self.table.schema.partition_fields[-self._chained :]
        times = PartitionTimes(fields, self.table.options)
        names = [f.name for f in fields]
        return {p.partition: times.of(dict(zip(names, p.chain, strict=True))) if p.chain else None for p in places}

    def links(self, asked: Place, anchor: Place | None, deltas: Iterable[Place]) -> list[Place]:
        """The partitions of changes that lie between an anchor and a partition, in their order, that partition last.

        Args:
            asked: the partition, which the delta branch has.
            anchor: the whole partition nearest before it; None if there is none.
            deltas: the partitions of the delta branch.

        Raises:
            InvalidInputError: the partition or the anchor tells no time.
        """
        if asked.chain is None:
            return [asked]
        group = [p for p in deltas if p.group == asked.group and p.chain is not None]
        if anchor is None:
            return sorted((p for p in group if _along(p) <= asked.chain), key=_along)
        times = self.times([*group, asked, anchor])
        after, last = (self._told(p, times[p.partition]) for p in (anchor, asked))
        found = [p for p in group if (time := times[p.partition]) is not None and after < time <= last]
        return sorted(found, key=lambda p: (times[p.partition], p.chain))

    def _told(self, place: Place, time: int | None) -> int:
        if time is None:
            raise InvalidInputError(
                f"The partition {PartitionPaths.of(self.table.schema).name(place.partition)} tells no time as"
                f" '{PARTITION_TIMESTAMP_FORMATTER.key}' and '{PARTITION_TIMESTAMP_PATTERN.key}' want it,"
                " so its place in the chain is not known.",
                remedy="Mend the options, or drop the partition.",
            )
        return time

    @property
    def _chained(self) -> int:
        """How many of the partition columns, the last ones, the chains run along."""
        names = comma_separated(self.table.options.get(CHAIN_TABLE_CHAIN_PARTITION_KEYS))
        return len(names or self.table.schema.partition_keys)

    def _branch(self, name: str, key: str) -> Table:
        try:
            other = branch_of(self.table, name)
        except NotFoundError as error:
            raise InvalidOptionError(
                f"{self.table.name}: the option '{key}' names branch '{name}', which does not exist.",
                key=key,
                remedy="Unset the option, or make the branch.",
            ) from error
        return replace(other, read_optimized=self.table.read_optimized)


def keeps_deletes(table: Table) -> bool:
    """Whether deletes stay whatever is compacted: those of a chain table are for rows of other partitions too."""
    return bool(table.options.get(CHAIN_TABLE_ENABLED))


def anchor_of(asked: Place, snapshots: Iterable[Place]) -> Place | None:
    """The whole partition nearest before one in its chain; None if there is none."""
    if asked.chain is None:
        return None
    before = (p for p in snapshots if p.group == asked.group and p.chain is not None and p.chain < asked.chain)
    return max(before, key=_along, default=None)


def _along(place: Place) -> Values:
    assert place.chain is not None
    return place.chain
