"""Scan request: all that Spark pushed into a scan, as data."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from paimon_sql.format.options.engines.spark import SOURCE_SPLIT_TARGET_SIZE_WITH_COLUMN_PRUNING
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.data_files.file_groups import has_data_evolution
from paimon_sql.storage.data_files.pruning.pinned_columns import pins_key
from paimon_sql.storage.expressions.partial_aggregates import PartialAggregation
from paimon_sql.storage.expressions.predicates import Predicate, all_of
from paimon_sql.storage.scan.selection.top_n import TopN
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class ScanRequest:
    """A request of Spark to a scan (Spark: ``ScanBuilder`` and its mixins).

    Attributes:
        table: the table with the options of the read.
        columns: the columns of the rows, which may include metadata columns.
        predicates: the predicates on columns of the table that could be translated.
        row_ids: the predicates on row ids.
        filters: all filters, serialized by Spark.
        limit: the maximum number of rows; None without a limit.
        top: the order and number of the first rows; None without one.
        counts_rows: whether only the number of rows is requested.
        aggregation: the aggregates that are requested instead of rows; None without.
        by_workers: whether Spark's own reader must not be used.
        reads_unindexed: whether rows that no global index covers are read, regardless of the table's search mode.
    """

    table: Table
    columns: tuple[DataField, ...]
    predicates: tuple[Predicate, ...] = ()
    row_ids: tuple[Predicate, ...] = ()
    filters: tuple[str, ...] = ()
    limit: int | None = None
    top: TopN | None = None
    counts_rows: bool = False
    aggregation: PartialAggregation | None = None
    by_workers: bool = False
    reads_unindexed: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(f.name for f in self.columns)

    @property
    def predicate(self) -> Predicate | None:
        """The conjunction of the predicates on columns of the table."""
        return all_of(list(self.predicates))

    @property
    def row_id_predicate(self) -> Predicate | None:
        """The conjunction of the predicates on row ids."""
        return all_of(list(self.row_ids))

    @property
    def is_lookup(self) -> bool:
        """Whether the predicates fix the value of each column of the primary key."""
        return pins_key(self.table.schema, self.predicate)

    @property
    def reads_metadata_columns(self) -> bool:
        """Whether metadata columns are requested, which no file stores."""
        return not set(self.table.schema.names).issuperset(self.names)

    @property
    def is_about_partitions(self) -> bool:
        """Whether the translated predicates select whole partitions."""
        keys = set(self.table.schema.partition_keys)
        return all(p.is_exact and p.columns() <= keys for p in self.predicates)

    @property
    def planning(self) -> Hashable:
        """The parts of a request that its plan depends on: requests with equal values share a plan."""
        by_columns = has_data_evolution(self.table) or self.table.options.get(
            SOURCE_SPLIT_TARGET_SIZE_WITH_COLUMN_PRUNING
        )
        predicates = (*map(id, self.predicates), None, *map(id, self.row_ids))
        return (predicates, None if self.predicates else self.limit, self.top, self.names if by_columns else None)
