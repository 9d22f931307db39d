"""``CALL sys.expire_partitions``: drop expired partitions."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.format.options import Option
from paimon_sql.format.options.table import partition as partition_options
from paimon_sql.procedures.base import Context, Int, Long, OfTable, Procedure, Record, column, detail, optional
from paimon_sql.procedures.values import NOTHING_DONE, OPTIONS, options_of
from paimon_sql.storage.maintenance.partitions.expiration import (
    PartitionExpiration,
    expire_partitions,
    plan_partition_expiry,
)

_OPTIONS: dict[str, Option[object]] = {
    "expiration_time": partition_options.PARTITION_EXPIRATION_TIME,
    "timestamp_formatter": partition_options.PARTITION_TIMESTAMP_FORMATTER,
    "timestamp_pattern": partition_options.PARTITION_TIMESTAMP_PATTERN,
    "expire_strategy": partition_options.PARTITION_EXPIRATION_STRATEGY,
    "max_expires": partition_options.PARTITION_EXPIRATION_MAX_NUM,
}
_SHOWN = 3


class ExpirePartitions(Procedure):
    """Omitted arguments default to the table's options. Files are deleted when the snapshots that use them expire."""

    summary = "Drop expired partitions."
    example = (
        "CALL sys.expire_partitions(table => 'db.t', expiration_time => '30 d', timestamp_formatter => 'yyyyMMdd')"
    )

    class Arguments(OfTable, kw_only=True):
        expiration_time: str | None = optional("How long to retain a partition, as '30 d'.")
        timestamp_formatter: str | None = optional("The format of the time in the values, as 'yyyy-MM-dd'.")
        timestamp_pattern: str | None = optional("How the time is composed of the columns, as '$dt $hour:00:00'.")
        expire_strategy: str | None = optional(
            "What decides the age: values-time, the default, for the values, or update-time for the newest file."
        )
        max_expires: Int | None = optional("Maximum number of partitions to drop in this call, the oldest first.")
        options: str | None = optional(OPTIONS)

    class Result(Record):
        expired_partitions: str = column("the values, as dt=2024-01-31, hour=8, one row per partition")
        record_count: Long = detail("number of records in its files, before merging")
        file_count: Long = detail("number of its files")
        file_size_in_bytes: Long = detail("their size in bytes")
        snapshot_id: Long | None = detail("the snapshot that dropped it")
        note: str | None = detail("why no more were dropped")

    def call(self, context: Context, arguments: Arguments) -> Iterable[Result]:
        options = options_of(arguments.options)
        for name, option in _OPTIONS.items():
            given = getattr(arguments, name)
            if given is not None and str(given).strip():
                option.read(str(given), name)
                options[option.key] = str(given)
        table = context.table(arguments.table).with_options(options)
        plan = plan_partition_expiry(table)
        done = plan if arguments.dry_run else expire_partitions(table, plan)
        note = _note(done)
        if not done.partitions:
            return [self.Result("No expired partitions.", 0, 0, 0, None, note)]
        note = "; ".join(part for part in (NOTHING_DONE if arguments.dry_run else None, note) if part) or None
        return [
            self.Result(
                expired_partitions=p.text,
                record_count=p.records,
                file_count=p.files,
                file_size_in_bytes=p.bytes,
                snapshot_id=committed.id if committed else None,
                note=note,
            )
            for p, committed in zip(done.partitions, done.snapshots, strict=True)
            if arguments.dry_run or committed is not None
        ]


def _note(done: PartitionExpiration) -> str | None:
    notes = []
    if done.left:
        notes.append(f"{done.left} more are due in later runs")
    if done.without_time:
        more = len(done.without_time) - _SHOWN
        some = "; ".join(sorted(done.without_time)[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
        notes.append(f"no time in the values of {some}")
    if not done.partitions:
        notes.insert(0, f"the oldest is {done.oldest}" if done.oldest else "no partition has a time")
    return "; ".join(notes) or None
