"""``sys.partitions``: the partitions of all tables of the catalog."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.format.arrow import arrow_schema
from paimon_sql.format.types import BigIntType, BooleanType, string_type
from paimon_sql.storage.predicates import Predicate
from paimon_sql.storage.table import Table
from paimon_sql.system_tables.base import column
from paimon_sql.system_tables.clock import epoch_millis
from paimon_sql.system_tables.every_table import NAMES, ask_tables
from paimon_sql.system_tables.partitions import Partitions
from paimon_sql.system_tables.whole_catalog import CatalogTable, View

_SHARED = ("record_count", "file_size_in_bytes", "file_count")


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
        schema = arrow_schema(self.columns)
        parts = [schema.empty_table()]
        for identifier, found in ask_tables(view.catalog, predicate, _partitions):
            if found is not None and len(found):
                columns = {
                    "database_name": pa.array([identifier.database] * len(found), pa.string()),
                    "table_name": pa.array([identifier.table] * len(found), pa.string()),
                    "partition_name": found["partition"],
                    **{name: found[name] for name in (*_SHARED, "done")},
                    "last_file_creation_time": epoch_millis(found["last_update_time"]),
                }
                parts.append(pa.table([columns[f.name] for f in schema], names=schema.names).cast(schema))
        return pa.concat_tables(parts)


def _partitions(table: Table) -> pa.Table | None:
    return Partitions().rows(table) if table.schema.partition_keys else None
