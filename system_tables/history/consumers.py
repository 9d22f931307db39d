"""``t$consumers``: the consumers with their next snapshots."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.types import BigIntType, string_type
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import SystemTable, column


class Consumers(SystemTable):
    """The consumers, by name."""

    name = "consumers"
    summary = "One row per consumer."
    columns = (
        column("consumer_id", string_type(False), "name"),
        column("next_snapshot_id", BigIntType(False), "snapshot it will read next; protects from there on"),
    )

    def rows(self, table: Table, predicate: Predicate | None = None) -> pa.Table:
        found = [
            {"consumer_id": name, "next_snapshot_id": consumer.next_snapshot}
            for name, consumer in table.consumers.all().items()
        ]
        return pa.Table.from_pylist(found, schema=arrow_schema(self.columns))
