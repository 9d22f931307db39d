"""Partition expiration (Paimon: `PartitionExpire`); files are deleted when the snapshots expire that still use them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError, InvalidOptionError
from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.metadata.manifest import FileKind, entries
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.format.options.table import partition as partition_options
from paimon_sql.format.rows.binary_row import RowCodec
from paimon_sql.format.text.durations import MILLISECOND
from paimon_sql.format.text.instants import epoch_millis, wall_clock_millis
from paimon_sql.format.text.values import cast_text
from paimon_sql.storage.branches.chains import Chain
from paimon_sql.storage.commit.checks.conflicts import growth_error
from paimon_sql.storage.commit.snapshot.manifests import indexes_of_partitions
from paimon_sql.storage.commit.transaction import NoChangesError, Transaction
from paimon_sql.storage.data_files.live_files import grouped, live_files
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.staging.commit_messages import Changes
from paimon_sql.storage.table.data_file_paths import data_file_paths
from paimon_sql.storage.table.partitions import PartitionTimes
from paimon_sql.storage.table.table import Table

_MAX_WEST_MILLIS = 12 * 3_600_000
_THREADS = 32


def changed_since(table: Table, millis: int) -> set[bytes]:
    """Return the serialized partitions that seem older than a time, but have a file written since.

    Manifests record a file's creation by the wall clock of its writer, in an unknown zone (Paimon's ``DataFileMeta``).
    If a file may be younger, by a clock west of this machine's zone, its modification time in the file system decides.
    A copied file is as old as its copy.

    Args:
        table: the table.
        millis: the time, in milliseconds since the epoch.
    """
    entries = live_files(table, table.snapshots.latest()).entries
    newest = entries.group_by("partition").aggregate([("creation_time_millis", "max")])
    walls = newest["creation_time_millis_max"].to_pylist()
    old = [wall is not None and epoch_millis(wall) < millis <= wall + _MAX_WEST_MILLIS for wall in walls]
    doubtful = newest["partition"].combine_chunks().filter(pa.array(old, pa.bool_()))
    if not len(doubtful):
        return set()
    is_candidate = pc.and_(
        pc.is_in(entries["partition"], value_set=doubtful),
        pc.greater_equal(entries["creation_time_millis"], millis - _MAX_WEST_MILLIS),
    )
    candidates = entries.filter(is_candidate)
    threads = table.file_io.threads_for(table.path, len(candidates), _THREADS)
    found = map_in_threads(table.file_io.status, data_file_paths(table, candidates).to_pylist(), threads)
    partitions = candidates["partition"].to_pylist()
    return {p for p, s in zip(partitions, found, strict=True) if s is not None and s.mtime_millis >= millis}


VALUES_TIME, UPDATE_TIME = "values-time", "update-time"
STRATEGIES = (VALUES_TIME, UPDATE_TIME)
_NANOS_PER_MILLI = 1_000_000


@dataclass(frozen=True)
class ExpiredPartition:
    """A partition to expire.

    Attributes:
        partition: the serialized partition.
        text: its values, such as ``dt=2024-01-31, hour=8``.
        time: its time in nanoseconds since 1970: of the wall clock by its values, otherwise of its last change.
        files: the number of its live files.
        records: the number of their rows.
        bytes: their size.
        branch: its branch, if it is not the table's.
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
    """The plan or result of a partition expiration.

    Attributes:
        partitions: the partitions, sorted by text; in chain tables the full ones after the others.
        snapshots: the snapshot that deleted each of them, None if it was not done.
        left: the number of further ones that exceed the limit.
        without_time: the texts of partitions whose values contain no time.
        oldest: the text of the oldest retained partition; None without any.
    """

    partitions: list[ExpiredPartition] = field(default_factory=list)
    snapshots: list[Snapshot | None] = field(default_factory=list)
    left: int = 0
    without_time: list[str] = field(default_factory=list)
    oldest: str | None = None


def expired_partitions(table: Table) -> list[bytes]:
    """Return the serialized partitions that are expired by their values; none if the table does not expire them so."""
    expires = table.schema.partition_keys and table.options.get(partition_options.PARTITION_EXPIRATION_TIME) is not None
    if not expires or _strategy(table) != VALUES_TIME:
        return []
    unlimited = table.with_options({partition_options.PARTITION_EXPIRATION_MAX_NUM.key: str(2**31 - 1)})
    return [p.partition for p in plan_partition_expiry(unlimited).partitions if p.branch is None]


def plan_partition_expiry(table: Table, now_millis: int | None = None) -> PartitionExpiration:
    """Plan the expiration of partitions, the oldest first if there is a limit.

    Args:
        table: the table.
        now_millis: this machine's wall clock, in milliseconds since 1970; the current time by default.

    Raises:
        InvalidInputError: the table has no partitions, or no expiration time.
        InvalidOptionError: an option is invalid.
        UnsupportedError: the table is append-only.
    """
    expiration_time: timedelta | None = table.options.get(partition_options.PARTITION_EXPIRATION_TIME)
    if not table.schema.partition_keys:
        raise InvalidInputError(f"{table.name} has no partitions that could expire.")
    if expiration_time is None:
        raise InvalidInputError(
            f"{table.name} does not define an expiration time of partitions.",
            remedy=f"Set '{partition_options.PARTITION_EXPIRATION_TIME.key}', or give expiration_time.",
        )
    now = wall_clock_millis() if now_millis is None else now_millis
    by_update = _strategy(table) == UPDATE_TIME
    # Ages since a change are durations, whatever clocks were set to meanwhile.
    before_millis = (epoch_millis(now) if by_update else now) - expiration_time // MILLISECOND
    before = before_millis * _NANOS_PER_MILLI
    if (error := growth_error(table, CommitKind.OVERWRITE)) is not None:
        raise error
    result = PartitionExpiration()
    max_partitions = table.options.get(partition_options.PARTITION_EXPIRATION_MAX_NUM)
    if (chain := Chain.of(table)) is not None:
        result.partitions, retained, result.left = _of_chain(chain, before, max_partitions, result.without_time)
    else:
        due: list[ExpiredPartition] = []
        retained = []
        recent: set[bytes] = changed_since(table, before_millis) if by_update else set()
        for found in _partitions(table, table.snapshots.latest(), result.without_time):
            (due if found.time < before and found.partition not in recent else retained).append(found)
        due.sort(key=lambda p: (p.time, p.text))
        result.partitions, result.left = sorted(due[:max_partitions], key=_as_text), max(0, len(due) - max_partitions)
    result.snapshots = [None] * len(result.partitions)
    result.oldest = min(retained, key=lambda p: p.time).text if retained else None
    return result


def expire_partitions(table: Table, plan: PartitionExpiration) -> PartitionExpiration:
    """Execute a plan in commits of ``partition.expiration-batch-size`` partitions; return it with its snapshots.

    A partition that got new files meanwhile still expires by its values, but not by its last change.

    Raises:
        CommitConflictError: concurrent commits won every attempt.
    """
    size = table.options.get(partition_options.PARTITION_EXPIRATION_BATCH_SIZE) or len(plan.partitions) or 1
    done = 0
    for _, members in groupby(plan.partitions, key=lambda p: (p.branch or table).branch):
        of_branch = list(members)
        for batch in (of_branch[start : start + size] for start in range(0, len(of_branch), size)):
            plan.snapshots[done : done + len(batch)] = [_drop(batch[0].branch or table, batch)] * len(batch)
            done += len(batch)
    return plan


def _of_chain(
    chain: Chain, before: int, max_partitions: int, without_time: list[str]
) -> tuple[list[ExpiredPartition], list[ExpiredPartition], int]:
    """Return the partitions of a chain table to expire, those to retain, and how many more full ones are due.

    Delta partitions expire before the full partitions that they are read with.

    A full partition expires with the delta partitions after it up to the next full one, and those before the first. The
    last full one before the time is retained with all after it, and so is a chain with less than two of them.

    Args:
        chain: the chains.
        before: the time, in nanoseconds of the wall clock since 1970, before which partitions are due.
        max_partitions: max number of full partitions per chain.
        without_time: the texts of partitions without a time are added to it.
    """
    if _strategy(chain.table) != VALUES_TIME:
        raise InvalidOptionError(
            f"{chain.table.name} is a chain table, whose partitions expire only by their values.",
            key=partition_options.PARTITION_EXPIRATION_STRATEGY.key,
            remedy=f"Set '{partition_options.PARTITION_EXPIRATION_STRATEGY.key}' to '{VALUES_TIME}'.",
        )
    full, changed = (
        {p.partition: replace(p, branch=branch) for p in _partitions(branch, branch.snapshots.latest(), without_time)}
        for branch in (chain.snapshots(), chain.deltas())
    )
    groups = grouped((place.group, full[place.partition]) for place in chain.places(full))
    ends: dict[tuple[object, ...], int] = {}
    expired, left = [], 0
    for group, members in groups.items():
        due = sorted((p for p in members if p.time < before), key=lambda p: (p.time, p.text))
        to_expire = due[:-1][:max_partitions]
        left += len(due[:-1]) - len(to_expire)
        expired += to_expire
        if to_expire:
            ends[group] = due[len(to_expire)].time
    candidates = [place for place in chain.places(changed) if place.group in ends]
    changes = [p for p in candidates if changed[p.partition].time < ends[p.group]]
    expired = [*sorted((changed[p.partition] for p in changes), key=_as_text), *sorted(expired, key=_as_text)]
    expired_ids = {id(p) for p in expired}
    return expired, [p for p in (*full.values(), *changed.values()) if id(p) not in expired_ids], left


def _as_text(partition: ExpiredPartition) -> bytes:
    """Return the sort key of Java's order of strings."""
    return partition.text.encode("utf-16-be", "surrogatepass")


def _drop(table: Table, batch: Sequence[ExpiredPartition]) -> Snapshot | None:
    last = {p.partition: p.time for p in batch}

    def changes(latest: Snapshot | None) -> Changes:
        live = live_files(table, latest).entries
        expired = live.filter(pc.is_in(live["partition"], value_set=pa.array(list(last), pa.binary())))
        if _strategy(table) == UPDATE_TIME:
            current = {p.partition: p.time for p in _partitions(table, latest, [])}
            changed = [p for p in last if current.get(p) != last[p]]
            is_changed = pc.is_in(expired["partition"], value_set=pa.array(changed, pa.binary()))
            expired = expired.filter(pc.invert(is_changed))
        if not len(expired):
            raise NoChangesError  # concurrent commits changed or dropped all of the partitions
        removed = [replace(e, kind=FileKind.DELETE) for e in entries(expired)]
        partitions = frozenset(expired["partition"].to_pylist())
        return Changes(removed, [], indexes_of_partitions(table, latest, partitions))

    with Transaction(table) as transaction:
        return transaction.commit_unless_empty(CommitKind.OVERWRITE, changes)


def _partitions(table: Table, snapshot: Snapshot | None, without_time: list[str]) -> Iterator[ExpiredPartition]:
    """Yield the partitions that have files with the times of their ages; collect those without a time."""
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
        text = ", ".join(
            f"{f.name}={default_name if values[f.name] is None else cast_text(values[f.name], f.type)}" for f in fields
        )
        changed = row["creation_time_millis_max"]
        if by_update:
            time = None if changed is None else epoch_millis(changed) * _NANOS_PER_MILLI
        else:
            time = times.of(values)
        if time is None:
            without_time.append(text)
            continue
        counts = (row["file_name_count"], row["row_count_sum"], row["file_size_sum"])
        yield ExpiredPartition(row["partition"], text, time, *counts)


def _strategy(table: Table) -> str:
    """Return the strategy: whether a partition is as old as its values, or as its last change."""
    strategy = table.options.get(partition_options.PARTITION_EXPIRATION_STRATEGY).strip()
    if strategy not in STRATEGIES:
        key = partition_options.PARTITION_EXPIRATION_STRATEGY.key
        raise InvalidOptionError(
            f"The option '{key}' cannot be '{strategy}'.", key=key, remedy=f"Use {' or '.join(STRATEGIES)}."
        )
    return strategy
