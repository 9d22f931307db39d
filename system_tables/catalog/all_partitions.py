"""``sys.partitions``: the partitions of all tables of the catalog."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.format.schema.types import BigIntType, BooleanType, string_type
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import column
from paimon_sql.system_tables.clock import epoch_millis
from paimon_sql.system_tables.every_table import NAMES, map_tables, with_table_names
from paimon_sql.system_tables.files.partitions import Partitions
from paimon_sql.system_tables.whole_catalog import CatalogTable, View


class AllPartitions(CatalogTable):
    """The partitions that hold a file now, of all tables that have partition columns; as in ``t$partitions``.

    A table that cannot be read has no row here.
    """

    name = "partitions"
    summary = "One row per partition of each partitioned table."
    is_listed = True
    columns = (
        *NAMES,
        column("partition_name", string_type(), "dt=x/h=1"),
        column("record_count", BigIntType(), "records in live files, before merging"),
        column("file_size_in_bytes", BigIntType(), "size of the live files"),
        column("file_count", BigIntType(), "number of live files"),
        column("last_file_creation_time", BigIntType(), "creation of its newest file, in milliseconds since the epoch"),
        column("done", BooleanType(), "marked done (REST catalogs)"),
    )

    def rows(self, view: View, predicate: Predicate | None = None) -> pa.Table:
        return with_table_names(map_tables(view.catalog, predicate, self._of_table), self.columns[len(NAMES) :])

    def _of_table(self, table: Table) -> pa.Table | None:
        if not table.schema.partition_keys:
            return None
        found = Partitions().rows(table)
        columns = {
            "partition_name": found["partition"],
            "last_file_creation_time": epoch_millis(found["last_update_time"]),
        }
        names = [f.name for f in self.columns[len(NAMES) :]]
        return pa.table([columns[name] if name in columns else found[name] for name in names], names=names)
