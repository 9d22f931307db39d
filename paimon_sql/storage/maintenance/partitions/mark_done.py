"""Partitions marked as done: others are told that all of their rows have come."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.options.table.partition import PARTITION_END_INPUT_TO_DONE
from paimon_sql.storage.maintenance.partitions.done_actions import DoneAction, done_actions
from paimon_sql.storage.table.table import Table


def mark_done(actions: Iterable[DoneAction], folders: Iterable[str]) -> None:
    """Tell of each partition, in order.

    Args:
        actions: how.
        folders: the partitions' folders below the table's.

    Raises:
        PaimonError: somebody could not be told; those before have been.
    """
    actions = list(actions)
    for folder in folders:
        for action in actions:
            action.tell(folder)


def mark_written_partitions(table: Table, partitions: Iterable[bytes]) -> list[str]:
    """Mark the partitions of a batch write as done if the table wants that; their folders.

    Args:
        table: the table.
        partitions: the partitions, serialised.

    Raises:
        PaimonError: as `mark_done`, or an action is not possible.
    """
    if not table.schema.partition_keys or not table.options.get(PARTITION_END_INPUT_TO_DONE):
        return []
    paths = PartitionPaths.of(table.schema)
    folders = sorted({paths.path(partition) for partition in partitions})
    mark_done(done_actions(table), folders)
    return folders
