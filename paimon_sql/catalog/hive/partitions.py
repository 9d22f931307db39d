"""Partition registry in Hive's metastore, for Hive's readers."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pymetastore.hive_metastore.ttypes import AddPartitionsRequest, Partition, PartitionEventType

from paimon_sql.catalog.hive.client import MissingEntryError
from paimon_sql.catalog.hive.entries import Entries
from paimon_sql.catalog.hive.layout.locations import Locations
from paimon_sql.format.layout.partitions import escape_path_name
from paimon_sql.storage.metadata.environment.partition_registry import PartitionRegistry

_AT_ONCE = 500
_ALL = -1


@dataclass(frozen=True)
class HivePartitions(PartitionRegistry):
    """The registered partitions of a table.

    Attributes:
        entries: the metastore.
        database: the table's database.
        table: its name.
        folder: the parent directory of its partitions.
        locations: how entries store locations.
    """

    entries: Entries
    database: str
    table: str
    folder: str
    locations: Locations

    def add(self, partitions: Sequence[Mapping[str, str]]) -> None:
        entry = self.entries.get(self.database, self.table)
        if entry is None:
            return
        now, entries = int(time.time()), []
        for spec in partitions:
            partition = Partition(
                dbName=entry.dbName,
                tableName=entry.tableName,
                values=list(spec.values()),
                sd=copy.copy(entry.sd),
                createTime=now,
                lastAccessTime=now,
                parameters={},
            )
            path = "/".join(f"{escape_path_name(k)}={escape_path_name(v)}" for k, v in spec.items())
            self.locations.place(partition, f"{self.folder}/{path}")
            entries.append(partition)
        for start in range(0, len(entries), _AT_ONCE):
            request = AddPartitionsRequest(
                dbName=entry.dbName,
                tblName=entry.tableName,
                parts=entries[start : start + _AT_ONCE],
                ifNotExists=True,
                needResult=False,
            )
            self.entries.metastore.call("add_partitions_req", request)

    def drop(self, partitions: Sequence[Mapping[str, str]]) -> None:
        for spec in partitions:
            try:
                self.entries.metastore.call("drop_partition", self.database, self.table, list(spec.values()), False)
            except MissingEntryError:
                continue

    def all(self) -> list[tuple[str, ...]]:
        found = self.entries.metastore.call("get_partitions", self.database, self.table, _ALL)
        return [tuple(p.values) for p in found]

    def mark_done(self, partition: Mapping[str, str]) -> None:
        arguments = self.database, self.table, dict(partition), PartitionEventType.LOAD_DONE
        self.entries.metastore.call("markPartitionForEvent", *arguments)
