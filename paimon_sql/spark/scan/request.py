"""What a query asks of a scan, as data: all that Spark pushed into it."""

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
    """A scan as it is asked for (Spark: ``ScanBuilder`` and its mixins).

    Attributes:
        table: the table, under the options of the read.
        columns: the columns of the rows; metadata columns may be among them.
        predicates: the conditions on columns of the table that could be translated.
        row_ids: those on row ids.
        filters: all conditions, serialised by Spark.
        limit: how many rows are wanted; None without a limit.
        top: of which order they are the first; None without one.
        counts_rows: only the number of rows is wanted.
        aggregation: the aggregates that are wanted instead of rows; None without.
        by_workers: Spark's own reader must not read.
        thorough: rows that no global index covers are read whatever the table's search mode.
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
    thorough: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(f.name for f in self.columns)

    @property
    def predicate(self) -> Predicate | None:
        """All conditions on columns of the table."""
        return all_of(list(self.predicates))

    @property
    def row_id_predicate(self) -> Predicate | None:
        """All conditions on row ids."""
        return all_of(list(self.row_ids))

    @property
    def is_lookup(self) -> bool:
        """Whether a condition gives a value to each column of the key."""
        return pins_key(self.table.schema, self.predicate)

    @property
    def reads_metadata_columns(self) -> bool:
        """Whether it asks for columns that no file holds."""
        return not set(self.table.schema.names).issuperset(self.names)

    @property
    def is_about_partitions(self) -> bool:
        """Whether its conditions take or leave whole partitions, as far as they could be translated."""
        keys = set(self.table.schema.partition_keys)
        return all(p.is_exact and p.columns() <= keys for p in self.predicates)

    @property
    def planning(self) -> Hashable:
        """What the plan depends on: requests that have it in common share a plan."""
        by_columns = has_data_evolution(self.table) or self.table.options.get(
            SOURCE_SPLIT_TARGET_SIZE_WITH_COLUMN_PRUNING
        )
        predicates = (*map(id, self.predicates), None, *map(id, self.row_ids))
        return (predicates, None if self.predicates else self.limit, self.top, self.names if by_columns else None)
