"""Split size of a query: from the table's options, otherwise from Spark's settings of its file sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paimon_sql.format.options.engines.spark import SOURCE_SPLIT_TARGET_SIZE_WITH_COLUMN_PRUNING
from paimon_sql.format.options.operations.scan import SOURCE_SPLIT_OPEN_FILE_COST, SOURCE_SPLIT_TARGET_SIZE
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.scan.reporting.row_size import row_width
from paimon_sql.storage.scan.split_size import SplitSize
from paimon_sql.storage.table.table import Table


def split_size(jvm: Jvm, table: Table, columns: Sequence[DataField] | None = None) -> SplitSize:
    """The size of splits for a query of this thread's session.

    Options of the table, the session (``spark.paimon.*``) and the query override
    ``spark.sql.files.maxPartitionBytes`` and ``spark.sql.files.openCostInBytes``, whose defaults are those of the
    options.

    Args:
        jvm: the JVM.
        table: the table with the options of the read.
        columns: the columns that are read; all by default.
    """
    size, all_columns = _configured_size(jvm, table), table.schema.fields
    if columns is None or not table.options.get(SOURCE_SPLIT_TARGET_SIZE_WITH_COLUMN_PRUNING):
        return size
    return replace(size, target=size.target * max(row_width(all_columns), row_width(columns)) // row_width(columns))


def _configured_size(jvm: Jvm, table: Table) -> SplitSize:
    options = table.options
    if options.has(SOURCE_SPLIT_TARGET_SIZE) and options.has(SOURCE_SPLIT_OPEN_FILE_COST):
        return SplitSize.of(options)
    settings = jvm.settings
    return SplitSize.of(options, SplitSize(settings.filesMaxPartitionBytes(), settings.filesOpenCostInBytes()))
