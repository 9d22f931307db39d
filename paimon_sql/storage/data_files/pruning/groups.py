"""Data skipping of file groups: by the statistics of each column's newest file, and by row ids."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.schema.system_fields import ROW_ID
from paimon_sql.storage.data_files.file_groups import groups_of_entries, has_data_evolution, is_dedicated
from paimon_sql.storage.data_files.pruning.statistics import may_match_by_values, stats_of
from paimon_sql.storage.expressions.predicates import ColumnStats, Predicate
from paimon_sql.storage.table.table import Table


def prune_groups(table: Table, entries: pa.Table, predicate: Predicate) -> pa.Table:
    """Return the entries of groups that may contain matching rows, by the statistics of each column's newest file."""
    groups = groups_of_entries(entries)
    is_single = np.bincount(groups)[groups] == 1
    drop = np.zeros(len(entries), dtype=bool)
    drop[is_single] = ~may_match_by_values(table, entries.filter(pa.array(is_single)), predicate)
    for columns, rows in _newest_files(table, entries, groups, np.flatnonzero(~is_single)).items():
        drop[rows] = ~may_match_by_values(table, entries.take(pa.array(rows)), predicate, columns)
    if not drop.any():
        return entries
    return entries.filter(pa.array(~np.isin(groups, groups[drop])))


def stats_of_groups(table: Table, entries: pa.Table, column: str) -> ColumnStats:
    """Return statistics of one column for all rows of a file, one element per entry.

    In a group of files they are those of the column's newest file, for each of its entries.
    """
    stats = stats_of(table, entries, column)
    if not has_data_evolution(table):
        return stats
    groups = groups_of_entries(entries)
    is_single = np.bincount(groups)[groups] == 1
    newest = np.full(len(entries), -1)
    for columns, rows in _newest_files(table, entries, groups, np.flatnonzero(~is_single)).items():
        if column in columns:
            newest[groups[rows]] = rows
    source = np.where(is_single, np.arange(len(entries)), newest[groups])
    index = pa.array(source, mask=source < 0)
    minimum, maximum, nulls = (values.take(index) for values in (stats.minimum, stats.maximum, stats.null_count))
    return ColumnStats(minimum, maximum, nulls, entries["row_count"].combine_chunks())


def _newest_files(
    table: Table, entries: pa.Table, groups: np.ndarray, rows: np.ndarray
) -> dict[frozenset[str], np.ndarray]:
    """Return the rows of grouped files by the set of columns, current names, of which they are the newest file."""
    chosen = entries.select(["file_name", "schema_id", "write_cols", "max_sequence_number"]).take(pa.array(rows))
    names, schemas, written, sequences = (chosen[name].to_pylist() for name in chosen.column_names)
    current = {f.id: f.name for f in table.schema.fields}
    claimed_by_group: dict[int, set[int]] = {}
    found: dict[frozenset[str], list[int]] = {}
    for i in sorted(range(len(rows)), key=lambda i: -sequences[i]):
        if is_dedicated(names[i]):
            continue
        fields = table.schemas.get(schemas[i]).fields
        ids = {f.id for f in fields if written[i] is None or f.name in written[i]}
        claimed_ids = claimed_by_group.setdefault(int(groups[rows[i]]), set())
        columns = frozenset(current[n] for n in ids - claimed_ids if n in current)
        claimed_ids |= ids
        if columns:
            found.setdefault(columns, []).append(int(rows[i]))
    return {columns: np.array(positions) for columns, positions in found.items()}


def prune_row_ids(table: Table, entries: pa.Table, row_ids: Predicate) -> pa.Table:
    """Return the entries that may contain wanted row ids; entries without row ids in the metadata always may."""
    if not len(entries):
        return entries
    first = entries["first_row_id"].combine_chunks()
    stored = pc.match_substring(pc.binary_join(entries["write_cols"].combine_chunks(), " "), ROW_ID.name)
    known = pc.and_not(first.is_valid(), pc.fill_null(stored, False)).to_numpy(zero_copy_only=False)
    low = first.fill_null(0).to_numpy().astype(np.int64)
    high = low + entries["row_count"].to_numpy() - 1
    if has_data_evolution(table):
        groups = groups_of_entries(entries)
        low, high = (_spread(end, groups, extreme) for end, extreme in ((low, np.minimum), (high, np.maximum)))
    counts = entries["row_count"].combine_chunks()
    nulls = pa.array(np.zeros(len(entries), dtype=np.int64))
    stats = ColumnStats(pa.array(low, mask=~known), pa.array(high, mask=~known), nulls, counts)
    return entries.filter(row_ids.may_hold({ROW_ID.name: stats}))


def _spread(values: np.ndarray, groups: np.ndarray, extreme: np.ufunc) -> np.ndarray:
    """Return the min or max value of each element's group."""
    found = values.copy()
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    found[order] = np.repeat(extreme.reduceat(values[order], starts), np.diff(starts, append=len(order)))
    return found
