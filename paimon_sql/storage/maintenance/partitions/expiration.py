"""Partitions whose time is over, and their removal; their files go when the snapshots expire that still use them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError, InvalidOptionError
from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.metadata.manifest import FileKind, entries
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.format.options.table.partition import (
    PARTITION_EXPIRATION_BATCH_SIZE,
    PARTITION_EXPIRATION_MAX_NUM,
    PARTITION_EXPIRATION_STRATEGY,
    PARTITION_EXPIRATION_TIME,
)
from paimon_sql.format.rows.binary_row import RowCodec
from paimon_sql.format.text.durations import MILLISECOND
from paimon_sql.format.text.values import cast_text
from paimon_sql.format.text.wall_clock import epoch_millis, wall_clock_millis
from paimon_sql.storage.branches.chains import Chain
from paimon_sql.storage.commit.checks.append_only import growth_error
from paimon_sql.storage.commit.snapshot.index_entries import indexes_of_partitions
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.execution.threads import spread
from paimon_sql.storage.staging.commit_messages import Changes
from paimon_sql.storage.table.partitioning.times import PartitionTimes
from paimon_sql.storage.table.paths.data_file_paths import data_file_paths
from paimon_sql.storage.table.table import Table

_WESTERNMOST = 12 * 3_600_000
_THREADS = 32


def changed_since(table: Table, millis: int) -> set[bytes]:
    """The partitions, serialised, that seem older than a time and have a file that was written since.

    A manifest notes the creation of a file by the wall clock of its writer, in a zone that it does not name (Paimon's
    ``DataFileMeta``). A file that may be younger by the clock of a zone further west than this machine's is looked at:
    the store tells when it was written. A copy is as old as its copying.

    Args:
        table: the table.
        millis: the time, in milliseconds since the epoch.
    """
    entries = live_files(table, table.snapshots.latest()).entries
    newest = entries.group_by("partition").aggregate([("creation_time_millis", "max")])
    walls = newest["creation_time_millis_max"].to_pylist()
    old = [wall is not None and epoch_millis(wall) < millis <= wall + _WESTERNMOST for wall in walls]
    doubtful = newest["partition"].combine_chunks().filter(pa.array(old, pa.bool_()))
    if not len(doubtful):
        return set()
    asked = pc.and_(
        pc.is_in(entries["partition"], value_set=doubtful),
        pc.greater_equal(entries["creation_time_millis"], millis - _WESTERNMOST),
    )
    chosen = entries.filter(asked)
    threads = table.file_io.threads_for(table.path, len(chosen), _THREADS)
    found = spread(table.file_io.status, data_file_paths(table, chosen).to_pylist(), threads)
    partitions = chosen["partition"].to_pylist()
    return {p for p, s in zip(partitions, found, strict=True) if s is not None and s.mtime_millis >= millis}


VALUES_TIME, UPDATE_TIME = "values-time", "update-time"
STRATEGIES = (VALUES_TIME, UPDATE_TIME)
_NANOS_A_MILLI = 1_000_000


@dataclass(frozen=True)
class ExpiredPartition:
    """A partition whose time is over.

    Attributes:
        partition: its values, serialised.
        text: its values, as ``dt=2024-01-31, hour=8``.
        time: when it was, in nanoseconds since 1970: of the wall clock as its values tell it, else of its last change.
        files: the number of its live files.
        records: the records in them.
        bytes: their size.
        branch: the branch that holds it, where that is not the table.
    """

    partition: bytes
    text: str
    time: int
    files: int
    records: int
    bytes: int
    branch: Table | None = None


@dataclass
class PartitionExpiration:
    """What an expiry of partitions does, or did.

    Attributes:
        partitions: the partitions that go, sorted by their text; of chain tables the whole ones behind the others.
        snapshots: for each of them the snapshot that took it away, None where it was not done.
        left: how many more are due but over the limit.
        without_time: the texts of partitions whose values tell no time.
        oldest: the text of the oldest partition that stays; None without any.
    """

    partitions: list[ExpiredPartition] = field(default_factory=list)
    snapshots: list[Snapshot | None] = field(default_factory=list)
    left: int = 0
    without_time: list[str] = field(default_factory=list)
    oldest: str | None = None


def expired_partitions(table: Table) -> list[bytes]:
    """The partitions, serialised, whose time is over by their values; none of tables that do not say such a time."""
    lives = table.schema.partition_keys and table.options.get(PARTITION_EXPIRATION_TIME) is not None
    if not lives or _strategy(table) != VALUES_TIME:
        return []
    unlimited = table.with_options({PARTITION_EXPIRATION_MAX_NUM.key: str(2**31 - 1)})
    return [p.partition for p in plan_partition_expiry(unlimited).partitions if p.branch is None]


def plan_partition_expiry(table: Table, now_millis: int | None = None) -> PartitionExpiration:
    """The partitions whose time is over, the oldest first where not all may go at once.

    Args:
        table: the table.
        now_millis: this machine's wall clock, in milliseconds since 1970; the present time by default.

    Raises:
        InvalidInputError: the table has no partitions, or no time is said.
        InvalidOptionError: an option cannot be understood.
        UnsupportedError: the table's files must stay as they are.
    """
    life: timedelta | None = table.options.get(PARTITION_EXPIRATION_TIME)
    if not table.schema.partition_keys:
        raise InvalidInputError(f"{table.name} has no partitions that could expire.")
    if life is None:
        raise InvalidInputError(
            f"{table.name} does not say how long a partition lives.",
            remedy=f"Set '{PARTITION_EXPIRATION_TIME.key}', or give expiration_time.",
        )
    now = wall_clock_millis() if now_millis is None else now_millis
    by_update = _strategy(table) == UPDATE_TIME
    # Ages that count from a change are lengths of time, whatever clocks were set to meanwhile.
    before_millis = (epoch_millis(now) if by_update else now) - life // MILLISECOND
    before = before_millis * _NANOS_A_MILLI
    if (refusal := growth_error(table, CommitKind.OVERWRITE)) is not None:
        raise refusal
    result = PartitionExpiration()
    most = table.options.get(PARTITION_EXPIRATION_MAX_NUM)
    if (chain := Chain.of(table)) is not None:
        result.partitions, staying, result.left = _of_chain(chain, before, most, result.without_time)
    else:
        due: list[ExpiredPartition] = []
        staying = []
        young: set[bytes] = changed_since(table, before_millis) if by_update else set()
        for found in _partitions(table, table.snapshots.latest(), result.without_time):
            (due if found.time < before and found.partition not in young else staying).append(found)
        due.sort(key=lambda p: (p.time, p.text))
        result.partitions, result.left = sorted(due[:most], key=_as_text), max(0, len(due) - most)
    result.snapshots = [None] * len(result.partitions)
    result.oldest = min(staying, key=lambda p: p.time).text if staying else None
    return result


def expire_partitions(table: Table, plan: PartitionExpiration) -> PartitionExpiration:
    """Carry out a plan, in commits of ``partition.expiration-batch-size`` partitions each; the plan with its snapshots.

    A partition that has got new files meanwhile goes with them if its values tell its time, and stays if its last
    change does.

    Raises:
        CommitConflictError: rivals committed first too often.
    """
    size = table.options.get(PARTITION_EXPIRATION_BATCH_SIZE) or len(plan.partitions) or 1
    done = 0
    for _, members in groupby(plan.partitions, key=lambda p: (p.branch or table).branch):
        of_branch = list(members)
        for batch in (of_branch[start : start + size] for start in range(0, len(of_branch), size)):
            plan.snapshots[done : done + len(batch)] = [_drop(batch[0].branch or table, batch)] * len(batch)
            done += len(batch)
    return plan


def _of_chain(
    chain: Chain, before: int, most: int, without_time: list[str]
) -> tuple[list[ExpiredPartition], list[ExpiredPartition], int]:
    """The partitions of a chain table that go, those that stay, and how many whole ones more are due.

    Changes go before the whole partitions that they are read with.

    A whole partition goes with the changes behind it up to the next, and with those before the first. The last whole
    one before the time stays with all behind it, and so does a chain without two of them.

    Args:
        chain: the chains.
        before: the time, in nanoseconds of the wall clock since 1970, before which partitions are due.
        most: how many whole partitions of a chain may go.
        without_time: takes the texts of partitions that tell no time.
    """
    if _strategy(chain.table) != VALUES_TIME:
        raise InvalidOptionError(
            f"{chain.table.name} is a chain table, whose partitions expire by their values alone.",
            key=PARTITION_EXPIRATION_STRATEGY.key,
            remedy=f"Set '{PARTITION_EXPIRATION_STRATEGY.key}' to '{VALUES_TIME}'.",
        )
    whole, changed = (
        {p.partition: replace(p, branch=branch) for p in _partitions(branch, branch.snapshots.latest(), without_time)}
        for branch in (chain.snapshots(), chain.deltas())
    )
    groups: dict[tuple[Any, ...], list[ExpiredPartition]] = {}
    for place in chain.places(whole):
        groups.setdefault(place.group, []).append(whole[place.partition])
    ends: dict[tuple[Any, ...], int] = {}
    going, left = [], 0
    for group, members in groups.items():
        due = sorted((p for p in members if p.time < before), key=lambda p: (p.time, p.text))
        gone = due[:-1][:most]
        left += len(due[:-1]) - len(gone)
        going += gone
        if gone:
            ends[group] = due[len(gone)].time
    behind = [place for place in chain.places(changed) if place.group in ends]
    changes = [p for p in behind if changed[p.partition].time < ends[p.group]]
    going = [*sorted((changed[p.partition] for p in changes), key=_as_text), *sorted(going, key=_as_text)]
    taken = {id(p) for p in going}
    return going, [p for p in (*whole.values(), *changed.values()) if id(p) not in taken], left


def _as_text(partition: ExpiredPartition) -> bytes:
    """Sorts partitions as Java sorts their texts."""
    return partition.text.encode("utf-16-be", "surrogatepass")


class _NothingLeftError(Exception):
    """Rivals have changed or dropped all of the partitions."""


def _drop(table: Table, batch: Sequence[ExpiredPartition]) -> Snapshot | None:
    last = {p.partition: p.time for p in batch}

    def changes(latest: Snapshot | None) -> Changes:
        live = live_files(table, latest).entries
        gone = live.filter(pc.is_in(live["partition"], value_set=pa.array(list(last), pa.binary())))
        if _strategy(table) == UPDATE_TIME:
            now = {p.partition: p.time for p in _partitions(table, latest, [])}
            stays = [p for p in last if now.get(p) != last[p]]
            gone = gone.filter(pc.invert(pc.is_in(gone["partition"], value_set=pa.array(stays, pa.binary()))))
        if not len(gone):
            raise _NothingLeftError
        removed = [replace(e, kind=FileKind.DELETE) for e in entries(gone)]
        partitions = frozenset(gone["partition"].to_pylist())
        return Changes(removed, [], indexes_of_partitions(table, latest, partitions))

    try:
        with Transaction(table) as transaction:
            return transaction.commit(CommitKind.OVERWRITE, changes)
    except _NothingLeftError:
        return None


def _partitions(table: Table, snapshot: Snapshot | None, without_time: list[str]) -> Iterator[ExpiredPartition]:
    """The partitions that hold files, with the time from which their age counts; those that tell none are named."""
    by_update = _strategy(table) == UPDATE_TIME
    fields = table.schema.partition_fields
    times, codec = PartitionTimes(fields, table.options), RowCodec([f.type for f in fields])
    default_name = PartitionPaths.of(table.schema).default_name
    live = live_files(table, snapshot).entries
    grouped = live.group_by("partition").aggregate(
        [("file_name", "count"), ("row_count", "sum"), ("file_size", "sum"), ("creation_time_millis", "max")]
    )
    for row in grouped.to_pylist():
        values = dict(zip((f.name for f in fields), codec.decode(row["partition"]), strict=True))
        shown = ", ".join(
            f"{f.name}={default_name if values[f.name] is None else cast_text(values[f.name], f.type)}" for f in fields
        )
        changed = row["creation_time_millis_max"]
        time = (
            times.of(values) if not by_update else None if changed is None else epoch_millis(changed) * _NANOS_A_MILLI
        )
        if time is None:
            without_time.append(shown)
            continue
        counts = (row["file_name_count"], row["row_count_sum"], row["file_size_sum"])
        yield ExpiredPartition(row["partition"], shown, time, *counts)


def _strategy(table: Table) -> str:
    """Where a partition's age counts from."""
    strategy = table.options.get(PARTITION_EXPIRATION_STRATEGY).strip()
    if strategy not in STRATEGIES:
        key = PARTITION_EXPIRATION_STRATEGY.key
        raise InvalidOptionError(
            f"The option '{key}' cannot be '{strategy}'.", key=key, remedy=f"It is {' or '.join(STRATEGIES)}."
        )
    return strategy
