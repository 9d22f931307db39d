"""Metadata-only aggregates: counts of rows and values, minima and maxima, from the statistics in manifests.

They are exact for tables whose files hold final rows, as long as no row is deleted by a deletion vector, which
statistics ignore. Strings and floating-point numbers have no exact bounds: those of strings are
truncated, and bounds never include NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema import types as t
from paimon_sql.storage.data_files.live_files import ScanMetrics, deletions_of, values_of_partitions
from paimon_sql.storage.expressions.partial_aggregation import (
    CountRows,
    CountValues,
    Extreme,
    PartialAggregate,
    PartialAggregation,
)
from paimon_sql.storage.expressions.predicates import Predicate, canonical_floats
from paimon_sql.storage.scan.files_to_read import BranchFiles
from paimon_sql.storage.scan.layout import ScanLayout, column_stats
from paimon_sql.storage.scan.plan import MICROS
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.change_range import change_range_to_read

_TRUNCATED = (t.VarCharType, t.VarBinaryType)
_INSTANTS = (t.TimestampType, t.LocalZonedTimestampType)
_ONE_ROW = pa.table([pa.nulls(1)], names=[""]).select([])


@dataclass(frozen=True)
class MetadataAggregates:
    """The result of an aggregation, with the snapshot and the metrics of its scan.

    ``rows`` has the columns of the groups, then one column per aggregate; one row per group. Without groups there is
    exactly one row, even if it has no columns.
    """

    rows: pa.Table
    snapshot: Snapshot | None
    metrics: ScanMetrics


def metadata_aggregates(
    table: Table, wanted: PartialAggregation, predicate: Predicate | None = None
) -> MetadataAggregates | None:
    """Compute an aggregation from metadata; None if metadata cannot answer it exactly.

    Args:
        table: the table, under the options of the read.
        wanted: the aggregation.
        predicate: the condition on rows.
    """
    keys = set(table.schema.partition_keys)
    decided = predicate is None or predicate.columns() <= keys
    if not table.layout.has_final_rows or not decided or not keys.issuperset(wanted.groups):
        return None
    if not all(_is_exact(table, a) for a in wanted.aggregates) or change_range_to_read(table) is not None:
        return None
    found = ScanLayout.of(table).files_to_read(table, predicate)
    if found.chain is not None or found.version.created_from_millis is not None or len(found.parts) != 1:
        return None
    (part,) = found.parts
    # A file without rows adds no group.
    entries = part.live.entries.filter(pc.greater(part.live.entries["row_count"], 0))
    deleted = _deleted(part, entries)
    columns = None if deleted.null_count else _columns(part.table, entries, deleted, wanted)
    if columns is None:
        return None
    rows = _merged(part.table, entries, wanted, columns)
    return MetadataAggregates(rows, found.version.snapshot, part.live.metrics)


def _is_exact(table: Table, aggregate: PartialAggregate) -> bool:
    if isinstance(aggregate, CountRows | CountValues):
        return True
    if not isinstance(aggregate, Extreme):
        return False
    kind = table.schema.field(aggregate.column).type
    if not t.is_ordered(kind) or t.is_floating(kind):
        return False
    if isinstance(kind, _TRUNCATED):
        return aggregate.column in table.schema.partition_keys  # values of partitions are not truncated
    return not isinstance(kind, _INSTANTS) or kind.precision <= MICROS


def _columns(table: Table, entries: pa.Table, deleted: pa.Array, wanted: PartialAggregation) -> list[pa.Array] | None:
    """Each file's value for each aggregate, one array per aggregate; None if a file lacks one."""
    rows, has_no_deletes = entries["row_count"].combine_chunks(), not pc.any(pc.greater(deleted, 0)).as_py()
    found: list[pa.Array] = []
    if wanted.groups and not has_no_deletes:
        return None  # all rows of a group may be deleted
    for aggregate in wanted.aggregates:
        if isinstance(aggregate, CountRows):
            found.append(pc.subtract(rows, deleted))
            continue
        if not has_no_deletes:
            return None
        stats = column_stats(table, entries, *aggregate.columns)
        if not isinstance(aggregate, Extreme):
            found.append(pc.subtract(rows, stats.null_count))
            if stats.null_count.null_count:
                return None
            continue
        found.append(stats.minimum if aggregate.function == "min" else stats.maximum)
        # A file without a bound may only hold nulls.
        known = pc.or_kleene(found[-1].is_valid(), pc.equal(stats.null_count, rows)).fill_null(False)
        if not pc.all(known, min_count=0).as_py():
            return None
    return found


def _deleted(part: BranchFiles, entries: pa.Table) -> pa.Array:
    """The number of rows of each file that a deletion vector deletes; null if unknown."""
    names = entries["file_name"].combine_chunks()
    deletions = deletions_of(part.table, part.snapshot)
    if not deletions:
        return pa.repeat(pa.scalar(0, pa.int64()), len(names))
    at = pc.index_in(names, value_set=pa.array([name for _, _, name in deletions], pa.string()))
    counts = pa.array([d.range.cardinality for d in deletions.values()], pa.int64()).take(at)
    return pc.if_else(at.is_valid(), counts, pa.scalar(0, pa.int64()))


def _group_values(table: Table, entries: pa.Table, column: str) -> pa.Array:
    """Each file's value of a partition column; 0.0 and -0.0 are one group to Spark."""
    values = values_of_partitions(table, entries, column)
    return canonical_floats(values) if pa.types.is_floating(values.type) else values


def _merged(table: Table, entries: pa.Table, wanted: PartialAggregation, columns: Sequence[pa.Array]) -> pa.Table:
    """The values of all files, merged by group."""
    if not wanted.groups and not wanted.aggregates:
        return _ONE_ROW  # Arrow's kernels give no rows for a table without columns
    if not len(entries) and not wanted.groups:
        return pa.table([pa.repeat(a.neutral, 1) for a in wanted.aggregates], names=wanted.names)
    keys, values = [f"k{i}" for i in range(len(wanted.groups))], [f"v{i}" for i in range(len(columns))]
    groups = [_group_values(table, entries, name) for name in wanted.groups]
    functions = [a.function if isinstance(a, Extreme) else "sum" for a in wanted.aggregates]
    computed = list(zip(values, functions, strict=True))
    made = pa.TableGroupBy(pa.table([*groups, *columns], names=[*keys, *values]), keys).aggregate(computed)
    return pa.table([*(made[k] for k in keys), *(made[f"{v}_{how}"] for v, how in computed)], names=wanted.names)
