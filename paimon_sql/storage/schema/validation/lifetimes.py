"""Rules about automatic tags and the expiration of partitions."""

from __future__ import annotations

from collections.abc import Iterator

from paimon_sql.errors import InvalidInputError, PaimonError
from paimon_sql.format.options.operations.snapshot import SINK_PROCESS_TIME_ZONE, SINK_WATERMARK_TIME_ZONE
from paimon_sql.format.options.table.partition import PARTITION_EXPIRATION_STRATEGY, PARTITION_MARK_DONE_ACTION
from paimon_sql.storage.maintenance.partitions.expiration import STRATEGIES
from paimon_sql.storage.maintenance.partitions.mark_done import ACTIONS
from paimon_sql.storage.maintenance.tags.automatic_creation import TagPeriod
from paimon_sql.storage.metadata.definition import Definition, conflict, quoted_list
from paimon_sql.storage.schema.validation.all_tables import errors_of
from paimon_sql.storage.table.partitions import PartitionTimes
from paimon_sql.storage.table.time_travel.local_times import zone_of


def automatic_tags(table: Definition) -> Iterator[PaimonError]:
    """The period of tags is longer than their delay, and time zones exist."""
    yield from errors_of(lambda: TagPeriod.of(table.options))
    for option in (SINK_PROCESS_TIME_ZONE, SINK_WATERMARK_TIME_ZONE):
        name: str | None = table.options.get(option)
        try:
            if name is not None:
                zone_of(name)
        except InvalidInputError:
            yield conflict(
                option, f"cannot be '{name}', which is not a time zone.", "Use a name such as 'UTC' or 'Asia/Tokyo'."
            )


def partition_ends(table: Definition) -> Iterator[PaimonError]:
    """Partition times can be parsed, and the expiration strategy and mark-done actions exist."""
    if table.schema.partition_keys:
        yield from errors_of(lambda: PartitionTimes(table.schema.partition_fields, table.options))
    strategy = table.options.get(PARTITION_EXPIRATION_STRATEGY).strip()
    if strategy not in STRATEGIES:
        yield conflict(PARTITION_EXPIRATION_STRATEGY, f"cannot be '{strategy}'.", f"Use {' or '.join(STRATEGIES)}.")
    for action in table.options.get(PARTITION_MARK_DONE_ACTION).split(","):
        if action.strip() not in ACTIONS:
            yield conflict(
                PARTITION_MARK_DONE_ACTION, f"cannot be '{action.strip()}'.", f"Use some of {quoted_list(ACTIONS)}."
            )
