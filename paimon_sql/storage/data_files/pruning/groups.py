"""Groups of files left out of a scan: by the statistics of the newest file of each column, and by row ids."""

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
    """The entries of groups that may hold a wanted row, by what the newest file of each column tells of it."""
    numbers = groups_of_entries(entries)
    alone = np.bincount(numbers)[numbers] == 1
    drop = np.zeros(len(entries), dtype=bool)
    drop[alone] = ~may_match_by_values(table, entries.filter(pa.array(alone)), predicate)
    for columns, rows in _newest_holders(table, entries, numbers, np.flatnonzero(~alone)).items():
        drop[rows] = ~may_match_by_values(table, entries.take(pa.array(rows)), predicate, columns)
    if not drop.any():
        return entries
    return entries.filter(pa.array(~np.isin(numbers, numbers[drop])))


def stats_of_groups(table: Table, entries: pa.Table, column: str) -> ColumnStats:
    """What is known of one column of all rows that a file stands for, an element an entry.

    Of a group of files it is what the newest holder of the column tells, for each of them.
    """
    stats = stats_of(table, entries, column)
    if not has_data_evolution(table):
        return stats
    numbers = groups_of_entries(entries)
    alone = np.bincount(numbers)[numbers] == 1
    tellers = np.full(len(entries), -1)
    for columns, rows in _newest_holders(table, entries, numbers, np.flatnonzero(~alone)).items():
        if column in columns:
            tellers[numbers[rows]] = rows
    source = np.where(alone, np.arange(len(entries)), tellers[numbers])
    index = pa.array(source, mask=source < 0)
    least, greatest, nulls = (told.take(index) for told in (stats.minimum, stats.maximum, stats.null_count))
    return ColumnStats(least, greatest, nulls, entries["row_count"].combine_chunks())


def _newest_holders(
    table: Table, entries: pa.Table, numbers: np.ndarray, rows: np.ndarray
) -> dict[frozenset[str], np.ndarray]:
    """The rows of files of groups by the columns of which they have the last word, by today's names."""
    chosen = entries.select(["file_name", "schema_id", "write_cols", "max_sequence_number"]).take(pa.array(rows))
    names, schemas, written, sequences = (chosen[name].to_pylist() for name in chosen.column_names)
    today = {f.id: f.name for f in table.schema.fields}
    claimed: dict[int, set[int]] = {}
    found: dict[frozenset[str], list[int]] = {}
    for i in sorted(range(len(rows)), key=lambda i: -sequences[i]):
        if is_dedicated(names[i]):
            continue
        fields = table.schemas.get(schemas[i]).fields
        ids = {f.id for f in fields if written[i] is None or f.name in written[i]}
        taken = claimed.setdefault(int(numbers[rows[i]]), set())
        own = frozenset(today[n] for n in ids - taken if n in today)
        taken |= ids
        if own:
            found.setdefault(own, []).append(int(rows[i]))
    return {columns: np.array(places) for columns, places in found.items()}


def prune_row_ids(table: Table, entries: pa.Table, row_ids: Predicate) -> pa.Table:
    """The entries whose rows may have wanted ids; where the metadata tell no ids, any may be."""
    if not len(entries):
        return entries
    first = entries["first_row_id"].combine_chunks()
    stored = pc.match_substring(pc.binary_join(entries["write_cols"].combine_chunks(), " "), ROW_ID.name)
    known = pc.and_not(first.is_valid(), pc.fill_null(stored, False)).to_numpy(zero_copy_only=False)
    low = first.fill_null(0).to_numpy().astype(np.int64)
    high = low + entries["row_count"].to_numpy() - 1
    if has_data_evolution(table):
        numbers = groups_of_entries(entries)
        low, high = (_spread(end, numbers, extreme) for end, extreme in ((low, np.minimum), (high, np.maximum)))
    counts = entries["row_count"].combine_chunks()
    nulls = pa.array(np.zeros(len(entries), dtype=np.int64))
    stats = ColumnStats(pa.array(low, mask=~known), pa.array(high, mask=~known), nulls, counts)
    return entries.filter(row_ids.may_hold({ROW_ID.name: stats}))


def _spread(values: np.ndarray, numbers: np.ndarray, extreme: np.ufunc) -> np.ndarray:
    """The least or greatest value of each one's group."""
    found = values.copy()
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    found[order] = np.repeat(extreme.reduceat(values[order], starts), np.diff(starts, append=len(order)))
    return found
