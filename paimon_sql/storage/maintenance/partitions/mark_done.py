"""Marking partitions as done: announcing that all of their rows have arrived."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.options.table.partition import PARTITION_END_INPUT_TO_DONE
from paimon_sql.storage.maintenance.partitions.done_actions import DoneAction, done_actions
from paimon_sql.storage.table.table import Table


def mark_done(actions: Iterable[DoneAction], folders: Iterable[str]) -> None:
    """Announce partitions in order.

    Args:
        actions: the actions.
        folders: the directories of the partitions below the table's.

    Raises:
        PaimonError: an action failed; those before were done.
    """
    actions = list(actions)
    for directory in folders:
        for action in actions:
            action.announce(directory)


def mark_written_partitions(table: Table, partitions: Iterable[bytes]) -> list[str]:
    """Mark the partitions of a batch write as done if the table's options require it; return their directories.

    Args:
        table: the table.
        partitions: the serialized partitions.

    Raises:
        PaimonError: as `mark_done`, or an action is not possible.
    """
    if not table.schema.partition_keys or not table.options.get(PARTITION_END_INPUT_TO_DONE):
        return []
    paths = PartitionPaths.of(table.schema)
    directories = sorted({paths.path(partition) for partition in partitions})
    mark_done(done_actions(table), directories)
    return directories
