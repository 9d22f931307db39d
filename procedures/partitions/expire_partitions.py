"""``CALL sys.expire_partitions``: drop the partitions whose time is over."""

from __future__ import annotations

from typing import Any

from paimon_sql.format.options import Option
from paimon_sql.format.options.table.partition import (
    PARTITION_EXPIRATION_MAX_NUM,
    PARTITION_EXPIRATION_STRATEGY,
    PARTITION_EXPIRATION_TIME,
    PARTITION_TIMESTAMP_FORMATTER,
    PARTITION_TIMESTAMP_PATTERN,
)
from paimon_sql.format.schema.types import BigIntType, IntType, string_type
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE, OPTIONS, options_of
from paimon_sql.storage.maintenance.partitions.expiration import (
    PartitionExpiration,
    expire_partitions,
    plan_partition_expiry,
)

_OPTIONS: dict[str, Option[Any]] = {
    "expiration_time": PARTITION_EXPIRATION_TIME,
    "timestamp_formatter": PARTITION_TIMESTAMP_FORMATTER,
    "timestamp_pattern": PARTITION_TIMESTAMP_PATTERN,
    "expire_strategy": PARTITION_EXPIRATION_STRATEGY,
    "max_expires": PARTITION_EXPIRATION_MAX_NUM,
}
_SHOWN = 3


class ExpirePartitions(Procedure):
    """What is left out comes from the table. The files go when the snapshots expire that still use them."""

    name = "expire_partitions"
    summary = "Drop the partitions whose time is over."
    arguments = (
        TABLE,
        Argument("expiration_time", string_type(), "How long a partition lives, as '30 d'."),
        Argument("timestamp_formatter", string_type(), "How the time is written in the values, as 'yyyy-MM-dd'."),
        Argument("timestamp_pattern", string_type(), "How it is put together from the columns, as '$dt $hour:00:00'."),
        Argument(
            "expire_strategy",
            string_type(),
            "What tells the age: values-time, the default, for the values, or update-time for the newest file.",
        ),
        Argument("max_expires", IntType(), "How many partitions go at most in this call, the oldest first."),
        OPTIONS,
        DRY_RUN,
    )
    results = (
        result("expired_partitions", string_type(), "the values, as dt=2024-01-31, hour=8, one row a partition"),
    )
    details = (
        result("record_count", BigIntType(), "the records in its files, before merging"),
        result("file_count", BigIntType(), "its files"),
        result("file_size_in_bytes", BigIntType(), "their bytes"),
        result("snapshot_id", BigIntType(), "the snapshot without it"),
        result("note", string_type(), "why no more went"),
    )
    example = (
        "CALL sys.expire_partitions(table => 'db.t', expiration_time => '30 d', timestamp_formatter => 'yyyyMMdd')"
    )

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        options = options_of(arguments["options"])
        for name, option in _OPTIONS.items():
            given = arguments[name]
            if given is not None and str(given).strip():
                option.read(str(given), name)
                options[option.key] = str(given)
        dry_run = bool(arguments["dry_run"])
        table = context.table(arguments["table"]).with_options(options)
        plan = plan_partition_expiry(table)
        done = plan if dry_run else expire_partitions(table, plan)
        note = _note(done)
        if not done.partitions:
            return [("No expired partitions.", 0, 0, 0, None, note)]
        note = "; ".join(part for part in (NOTHING_DONE if dry_run else None, note) if part) or None
        return [
            (p.text, p.records, p.files, p.bytes, made and made.id, note)
            for p, made in zip(done.partitions, done.snapshots, strict=True)
            if dry_run or made is not None
        ]


def _note(done: PartitionExpiration) -> str | None:
    notes = []
    if done.left:
        notes.append(f"{done.left} more are due in later runs")
    if done.without_time:
        more = len(done.without_time) - _SHOWN
        some = "; ".join(sorted(done.without_time)[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
        notes.append(f"no time is told by {some}")
    if not done.partitions:
        notes.insert(0, f"the oldest is {done.oldest}" if done.oldest else "no partition tells its time")
    return "; ".join(notes) or None
