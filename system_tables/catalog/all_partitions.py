"""``sys.partitions``: the partitions of all tables of the catalog."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.format.schema.records import Long, column
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import CatalogTable, View
from paimon_sql.system_tables.every_table import NAMES, OfTable, map_tables, with_table_names
from paimon_sql.system_tables.files.partitions import Partitions
from paimon_sql.system_tables.formatting import epoch_millis


class AllPartitions(CatalogTable):
    """The partitions of all partitioned tables, as in ``t$partitions``.

    Tables that cannot be read are omitted.
    """

    name = "partitions"
    summary = "One row per partition of each partitioned table."
    is_listed = True

    class Row(OfTable):
        partition_name: str | None = column("dt=x/h=1")
        record_count: Long | None = column("records in live files, before merging")
        file_size_in_bytes: Long | None = column("size of the live files")
        file_count: Long | None = column("number of live files")
        last_file_creation_time: Long | None = column("creation of its newest file, in milliseconds since the epoch")
        done: bool | None = column("marked done (REST catalogs)")

    def rows(self, view: View, predicate: Predicate | None = None) -> pa.Table:
        answers = map_tables(view.catalog, predicate, lambda name: self._of_table(view.catalog.table(name)))
        return with_table_names(answers, self.columns[len(NAMES) :])

    def _of_table(self, table: Table) -> pa.Table | None:
        if not table.schema.partition_keys:
            return None
        found = Partitions().rows(table)
        found = found.append_column("partition_name", found["partition"])
        found = found.append_column("last_file_creation_time", epoch_millis(found["last_update_time"]))
        return found.select([f.name for f in self.columns[len(NAMES) :]])
