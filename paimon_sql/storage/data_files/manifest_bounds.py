"""Bounds of columns over all files of a manifest, by which plans skip whole manifests.

Manifests store bounds of partition columns only. Those of other columns are computed when a plan reads a manifest, and
kept by the process: manifests never change.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.cache import Cache
from paimon_sql.format.metadata.manifest import FileKind, ManifestFileMeta
from paimon_sql.format.schema.types import DataField
from paimon_sql.process import share
from paimon_sql.storage.data_files.layout import FileLayout
from paimon_sql.storage.expressions.predicates import ColumnStats, Predicate
from paimon_sql.storage.table.table import Table

_MAX_BYTES = 64 * 1024 * 1024
_MIN_MANIFESTS = 4
"""Fewer manifests are read as fast as their bounds are compared."""
_STALE = 4
"""Bounds of other snapshots' manifests are dropped when they are so many times as many as those of the planned one."""
_PARTS = ("low", "high", "nulls", "rows")

_Key = tuple[str, str, DataField]
known_bounds = share(lambda: Cache[_Key, pa.Table](_MAX_BYTES, weigh=lambda table: int(table.nbytes)))
"""The bounds of a column of a table's branch: a row for each manifest."""


def without_misses(
    table: Table, manifests: Sequence[ManifestFileMeta], predicate: Predicate
) -> Sequence[ManifestFileMeta]:
    """Return the manifests that may be needed by a plan: that may add a matching file, or delete files.

    Args:
        table: the table.
        manifests: the manifests.
        predicate: a condition by which single files may be skipped (`FileLayout.file_predicate`).
    """
    names = pa.array([m.file_name for m in manifests], pa.string())
    stats: dict[str, ColumnStats] = {}
    for column in _columns(table, predicate):
        known = known_bounds().get(_key(table, column))
        if known is not None:
            found = known.take(pc.index_in(names, known["manifest"].combine_chunks()))
            low, high, nulls, rows = (found[part].combine_chunks() for part in _PARTS)
            stats[column] = ColumnStats(low, high, nulls, pc.fill_null(rows, 1))
    if not stats:
        return manifests
    wanted = predicate.may_hold(stats).to_pylist()
    return [m for m, keep in zip(manifests, wanted, strict=True) if keep or m.num_deleted_files]


def unknown_columns(table: Table, manifests: Sequence[ManifestFileMeta], predicate: Predicate) -> frozenset[str]:
    """Return the columns whose bounds a plan should compute, because they are not known of some manifest."""
    names = pa.array([m.file_name for m in manifests if not m.num_deleted_files], pa.string())
    if len(names) < _MIN_MANIFESTS:
        return frozenset()

    def covers(known: pa.Table | None) -> bool:
        return known is not None and pc.all(pc.is_in(names, value_set=known["manifest"].combine_chunks())).as_py()

    return frozenset(c for c in _columns(table, predicate) if not covers(known_bounds().get(_key(table, c))))


def bounds_of(table: Table, names: Sequence[str], tables: Sequence[pa.Table], columns: Collection[str]) -> pa.Table:
    """Compute the bounds of columns over the files of manifests that only add files.

    Args:
        table: the table.
        names: the names of the manifests.
        tables: their entries.
        columns: the columns.

    Returns:
        a row for each manifest: its name, and a struct for each column, whose name follows ``of``; a bound is null if
        it is unknown of a file.
    """
    whole = pa.concat_tables(tables)
    owners = np.repeat(np.arange(len(tables)), [len(entries) for entries in tables])
    deleting = owners[pc.not_equal(whole["kind"], FileKind.ADD).to_numpy()]
    kept = np.flatnonzero(~np.isin(owners, deleting))
    whole, owners = whole.take(pa.array(kept)), owners[kept]
    made = {"manifest": pa.array([names[n] for n in np.unique(owners)], pa.string())}
    for column, stats in FileLayout.of(table).skipping_stats(table, whole, columns).items():
        found = _aggregated(stats, pa.array(owners))
        if found is not None:
            made[f"of {column}"] = found
    return pa.table(made)


def _aggregated(stats: ColumnStats, owners: pa.Array) -> pa.Array | None:
    """The bounds of each owner's files, by ascending owner, as structs; None if values of the type have no bounds."""
    kind = stats.minimum.type
    if pa.types.is_floating(kind) or pa.types.is_nested(kind):
        return None  # NaN is neither below nor above
    is_null = pc.fill_null(pc.equal(stats.null_count, stats.row_count), False)
    known = {
        "low": pc.or_(pc.is_valid(stats.minimum), is_null),
        "high": pc.or_(pc.is_valid(stats.maximum), is_null),
        "nulls": pc.is_valid(stats.null_count),
    }
    values = {"low": stats.minimum, "high": stats.maximum, "nulls": stats.null_count.cast(pa.int64())}
    columns = {"owner": owners, "rows": stats.row_count, **values}
    columns |= {f"{name} is known": mask for name, mask in known.items()}
    made = pa.table(columns).group_by("owner", use_threads=False)  # in the order of the rows
    functions = [("low", "min"), ("high", "max"), ("nulls", "sum"), ("rows", "sum")]
    found = made.aggregate([*functions, *((f"{name} is known", "all") for name in known)])
    parts = {"rows": found["rows_sum"]}
    for name, function in functions[:3]:
        unknown = pa.scalar(None, values[name].type)
        parts[name] = pc.if_else(found[f"{name} is known_all"], found[f"{name}_{function}"], unknown)
    return pa.StructArray.from_arrays([parts[name].combine_chunks() for name in _PARTS], names=list(_PARTS))


def keep_bounds(table: Table, manifests: Sequence[ManifestFileMeta], bounds: pa.Table) -> None:
    """Keep bounds of `bounds_of`.

    Args:
        table: the table.
        manifests: all manifests of the snapshot that is planned.
        bounds: the bounds of some of them.
    """
    names = pa.array([m.file_name for m in manifests], pa.string())
    for column in bounds.column_names[1:]:
        parts = bounds[column].combine_chunks().flatten()
        new = pa.table([bounds["manifest"], *parts], names=["manifest", *_PARTS])

        def joined(old: pa.Table | None, new: pa.Table = new) -> pa.Table:
            if old is None:
                return new
            others = old.filter(pc.invert(pc.is_in(old["manifest"], value_set=new["manifest"].combine_chunks())))
            if len(others) > _STALE * len(names):
                others = others.filter(pc.is_in(others["manifest"], value_set=names))
            return pa.concat_tables([others, new]).combine_chunks()

        known_bounds().change(_key(table, column.removeprefix("of ")), joined)


def _columns(table: Table, predicate: Predicate) -> Collection[str]:
    return predicate.columns() & set(table.schema.names)


def _key(table: Table, column: str) -> _Key:
    # The field's id and type say which statistics a file of another schema has of it.
    return table.path, table.branch, table.schema.field(column)
