"""Data skipping by statistics, of files and of file groups."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.rows.decode import decode_columns
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.system_fields import ROW_ID
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.data_files.file_groups import groups_of_entries, is_dedicated
from paimon_sql.storage.expressions.predicates import ColumnStats, Predicate, conjuncts_on
from paimon_sql.storage.table.table import Table


def prune_by_key(table: Table, entries: pa.Table, predicate: Predicate) -> pa.Table:
    """Return the entries whose key range may contain a matching key; conditions on other columns are ignored."""
    fields = table.schema.key_fields
    wanted = conjuncts_on(predicate, [f.name for f in fields])
    if wanted is None or not len(entries):
        return entries
    return entries.filter(wanted.may_hold(stats_of_keys(table, entries, wanted.columns())))


def stats_of_keys(table: Table, entries: pa.Table, columns: Collection[str]) -> dict[str, ColumnStats]:
    """Return the statistics of the columns of the key that are among ``columns``, one element per entry."""
    return _column_stats(entries, table.schema.key_fields, "key_stats", columns)


def prune_by_values(table: Table, entries: pa.Table, predicate: Predicate) -> pa.Table:
    """Return the entries whose column statistics allow a matching row."""
    keep = may_match_by_values(table, entries, predicate)
    return entries if keep.all() else entries.filter(pa.array(keep))


def may_match_by_values(
    table: Table, entries: pa.Table, predicate: Predicate, columns: Collection[str] | None = None
) -> npt.NDArray[np.bool_]:
    """Whether each entry's column statistics allow a matching row.

    Args:
        table: the table.
        entries: the entries.
        predicate: the predicate.
        columns: the columns whose statistics are used; all by default.
    """
    keep = np.ones(len(entries), dtype=bool)
    relevant = predicate.columns() if columns is None else predicate.columns() & set(columns)
    for rows, stats in _stats(table, entries, relevant):
        wanted = conjuncts_on(predicate, stats)
        if wanted is not None:
            mask = wanted.may_hold({n: s for n, s in stats.items() if n in wanted.columns()})
            keep[rows] = mask.to_numpy(zero_copy_only=False)
    return keep


def stats_of(table: Table, entries: pa.Table, column: str) -> ColumnStats:
    """Return the statistics of one column, one element per entry."""
    kind = arrow_type(table.schema.field(column).type)
    known = [(rows, stats[column]) for rows, stats in _stats(table, entries, {column}) if column in stats]
    order = np.concatenate([np.zeros(0, np.int64), *(rows for rows, _ in known)])
    positions = np.full(len(entries), -1, np.int64)
    positions[order] = np.arange(len(order))
    index = pa.array(positions, mask=positions < 0)
    minimum, maximum, nulls = (
        pa.concat_arrays([pa.nulls(0, kind_of), *(getattr(p, name).cast(kind_of) for _, p in known)]).take(index)
        for name, kind_of in (("minimum", kind), ("maximum", kind), ("null_count", pa.int64()))
    )
    return ColumnStats(minimum, maximum, nulls, entries["row_count"].combine_chunks())


def _stats(
    table: Table, entries: pa.Table, columns: Collection[str]
) -> Iterator[tuple[npt.NDArray[np.int64], dict[str, ColumnStats]]]:
    """Yield statistics under current column names, by group of entries: their row numbers, and the known statistics.

    Args:
        table: the table.
        entries: the entries.
        columns: current names of the columns.
    """
    requested = [f for f in table.schema.fields if f.name in columns]
    stored_stats = entries.select([*(f"value_stats_{part}" for part in ("min", "max", "null_counts")), "row_count"])
    for schema_id, stats_columns, rows in _groups(entries):
        group = stored_stats if len(rows) == len(entries) else stored_stats.take(pa.array(rows))
        written = table.schemas.get(schema_id)
        if stats_columns is not None and not set(stats_columns) <= set(written.names):
            continue
        fields = written.select(stats_columns) if stats_columns is not None else written.fields
        ids = {f.id for f in requested}
        stored = _column_stats(group, fields, "value_stats", {f.name for f in written.fields if f.id in ids})
        yield rows, _evolved(requested, written.fields, stored, group["row_count"].combine_chunks())


def _groups(entries: pa.Table) -> list[tuple[int, tuple[str, ...] | None, np.ndarray]]:
    """Group entries by schema and statistics columns.

    A file with some columns and without ``_VALUE_STATS_COLS`` has statistics of all its columns.
    """
    columns = pc.coalesce(entries["value_stats_cols"].combine_chunks(), entries["write_cols"].combine_chunks())
    schemas = entries["schema_id"].unique()
    if len(schemas) == 1 and columns.null_count == len(columns):
        return [(schemas[0].as_py(), None, np.arange(len(entries)))]
    text = pc.binary_join(columns, "\x00")
    keys = pa.table({"schema": entries["schema_id"].combine_chunks(), "columns": text})
    numbered = keys.append_column("row", pa.array(np.arange(len(entries))))
    grouped = numbered.group_by(["schema", "columns"]).aggregate([("row", "list")])
    ids, texts, rows = (grouped[name].to_pylist() for name in ("schema", "columns", "row_list"))
    names = [None if text is None else tuple(filter(None, text.split("\x00"))) for text in texts]
    return list(zip(ids, names, map(np.asarray, rows), strict=True))


def _column_stats(
    entries: pa.Table, fields: Sequence[DataField], prefix: str, names: Collection[str]
) -> dict[str, ColumnStats]:
    """Return the statistics of those fields that have one of the names."""
    types, indexes = [f.type for f in fields], [i for i, f in enumerate(fields) if f.name in names]
    if not indexes or not len(entries):
        return {}
    minima = decode_columns(types, entries[f"{prefix}_min"], overflow_to_null=True, places=indexes)
    maxima = decode_columns(types, entries[f"{prefix}_max"], overflow_to_null=True, places=indexes)
    counts = entries[f"{prefix}_null_counts"].combine_chunks()
    rows = entries["row_count"].combine_chunks()
    lengths = pc.fill_null(pc.list_value_length(counts), 0)
    shortest = pc.min(lengths).as_py()
    found = {}
    for i, low, high in zip(indexes, minima, maxima, strict=True):
        known = counts
        if shortest <= i:
            unknown = pa.scalar([None] * (i + 1), counts.type)
            known = pc.if_else(pc.greater(lengths, i), counts, unknown)
        found[fields[i].name] = ColumnStats(low, high, pc.list_element(known, i), rows)
    return found


def _evolved(
    requested: Sequence[DataField], written: Sequence[DataField], stored: dict[str, ColumnStats], rows: pa.Array
) -> dict[str, ColumnStats]:
    """Map statistics to current columns: renamed ones keep theirs, added ones are all null, retyped ones unknown."""
    by_id = {f.id: f for f in written}
    stats: dict[str, ColumnStats] = {}
    for f in requested:
        old = by_id.get(f.id)
        if old is None:
            nothing = pa.nulls(len(rows), arrow_type(f.type))
            stats[f.name] = ColumnStats(nothing, nothing, rows, rows)
        elif old.name in stored and old.type.as_nullable() == f.type.as_nullable():
            stats[f.name] = stored[old.name]
    return stats


def prune_groups(table: Table, entries: pa.Table, predicate: Predicate) -> pa.Table:
    """Return the entries of groups that may contain matching rows, by the statistics of each column's newest file."""
    groups, drop = groups_of_entries(entries), np.zeros(len(entries), dtype=bool)
    for columns, rows in _newest_files(table, entries, groups):
        drop[rows] = ~may_match_by_values(table, entries.take(pa.array(rows)), predicate, columns)
    if not drop.any():
        return entries
    return entries.filter(pa.array(~np.isin(groups, groups[drop])))


def stats_of_groups(table: Table, entries: pa.Table, column: str) -> ColumnStats:
    """Return statistics of one column for all rows of a group, one element per entry: those of its newest file."""
    stats = stats_of(table, entries, column)
    groups, newest = groups_of_entries(entries), np.full(len(entries), -1)
    for columns, rows in _newest_files(table, entries, groups):
        if columns is None or column in columns:
            newest[groups[rows]] = rows
    source = newest[groups]
    index = pa.array(source, mask=source < 0)
    minimum, maximum, nulls = (values.take(index) for values in (stats.minimum, stats.maximum, stats.null_count))
    return ColumnStats(minimum, maximum, nulls, entries["row_count"].combine_chunks())


def _newest_files(
    table: Table, entries: pa.Table, groups: np.ndarray
) -> Iterator[tuple[frozenset[str] | None, np.ndarray]]:
    """Yield sets of columns, current names, and the rows that are their groups' newest files of these columns.

    None stands for all columns, of the files that are a group of their own.
    """
    is_single = np.bincount(groups)[groups] == 1
    yield None, np.flatnonzero(is_single)
    rows = np.flatnonzero(~is_single)
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
    yield from ((columns, np.array(positions)) for columns, positions in found.items())


def prune_row_ids(entries: pa.Table, row_ids: Predicate, groups: np.ndarray) -> pa.Table:
    """Return the entries whose groups may contain wanted row ids; entries without row ids in the metadata may."""
    if not len(entries):
        return entries
    first = entries["first_row_id"].combine_chunks()
    stored = pc.match_substring(pc.binary_join(entries["write_cols"].combine_chunks(), " "), ROW_ID.name)
    known = pc.and_not(first.is_valid(), pc.fill_null(stored, False)).to_numpy(zero_copy_only=False)
    low = first.fill_null(0).to_numpy().astype(np.int64)
    high = low + entries["row_count"].to_numpy() - 1
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
