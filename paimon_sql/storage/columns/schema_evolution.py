"""Schema evolution: columns of old files are matched by id at every depth, and cast if their types changed.

Names, order and presence of columns differ between schemas; ids do not change. A column dropped and added again has
another id, so that the old values are not visible (spec: Schema, "Schema Evolution"). Only the requested inner fields
of a column are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_schema, arrow_type
from paimon_sql.format.schema.system_fields import KEY_ID_START
from paimon_sql.storage.expressions.casts import can_cast, cast
from paimon_sql.storage.expressions.kernels.conform import conform, rebuild_list, rebuild_map, rebuild_struct

_SYSTEM_FIELD_IDS = 2**31 - 1 - 10_000
"""Ids from here are those of system columns; copies of key columns are below."""


@dataclass(frozen=True)
class EvolutionPlan:
    """Conversion of a file's columns to the requested columns.

    Attributes:
        file_fields: the file's columns, by its own schema, without inner fields that are not requested.
        wanted: the requested columns, by the current schema.
        sources: for each requested column the file's column that it is read from; None if the file has none.
        time_zone: the zone in which timestamps with local time zone are cast.
    """

    file_fields: tuple[t.DataField, ...]
    wanted: tuple[t.DataField, ...]
    sources: tuple[t.DataField | None, ...]
    time_zone: str = "UTC"

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the file's columns to read, without duplicates, in the file's order."""
        needed = {source.name for source in self.sources if source is not None}
        return tuple(f.name for f in self.file_fields if f.name in needed)

    @cached_property
    def is_identity(self) -> bool:
        """Whether the columns of the file are the requested ones: same names, order and types."""
        return self.columns == tuple(f.name for f in self.wanted) and all(
            source is not None
            and source.name == field.name
            and arrow_type(source.type).equals(arrow_type(field.type))
            and _same(source.type, field.type)
            for source, field in zip(self.sources, self.wanted, strict=True)
        )

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema of the converted batches."""
        return arrow_schema(self.wanted)

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Convert a batch that contains `columns` to the requested columns, of the canonical Arrow types.

        Raises:
            InvalidInputError: a value cannot be cast to its column's type.
        """
        if self.is_identity and batch.schema.names == self.schema.names:
            return batch
        if not self.wanted:
            return batch.select([])
        arrays = []
        for source, field in zip(self.sources, self.wanted, strict=True):
            if source is None:
                arrays.append(pa.nulls(batch.num_rows, arrow_type(field.type)))
            else:
                arrays.append(evolve(batch.column(source.name), source.type, field.type, self.time_zone))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def plan_evolution(
    file_fields: Sequence[t.DataField], wanted: Sequence[t.DataField], *, time_zone: str = "UTC"
) -> EvolutionPlan:
    """Plan reading a file under another schema than its own.

    A key column that the file lacks is read from the value column of the same id: a file in thin mode stores keys only
    once (Paimon: `data-file.thin-mode`).

    Args:
        file_fields: the file's columns, in its order, of the schema that it was written with.
        wanted: the requested columns, of the schema that is read; a column without a source is null.
        time_zone: the zone in which timestamps with local time zone are cast.

    Raises:
        UnsupportedError: a column's old type cannot be cast to its new one; the message names the column.
    """
    by_id = {f.id: f for f in file_fields}
    sources = []
    for field in wanted:
        source = by_id.get(field.id)
        if source is None and KEY_ID_START <= field.id < _SYSTEM_FIELD_IDS:
            source = by_id.get(field.id - KEY_ID_START)
        if source is not None:
            _check(field, source.type, field.type)
        sources.append(source)
    uses = Counter(source.id for source in sources if source is not None)
    pruned = {
        source.id: _pruned(source, field.type)
        for source, field in zip(sources, wanted, strict=True)
        if source is not None and uses[source.id] == 1
    }
    return EvolutionPlan(
        tuple(pruned.get(f.id, f) for f in file_fields),
        tuple(wanted),
        tuple(source and pruned.get(source.id, source) for source in sources),
        time_zone,
    )


def _pruned(source: t.DataField, target: t.DataType) -> t.DataField:
    needed = needed_part(source.type, target)
    return source if needed is source.type else replace(source, type=needed)


def needed_part(source: t.DataType, target: t.DataType) -> t.DataType:
    """Prune a type to the parts that are needed to make values of another type.

    A row without any requested field retains one, which shows where the row itself is null.
    """
    match source, target:
        case t.RowType(), t.RowType():
            needed = {f.id: f.type for f in target.fields}
            retained = [replace(f, type=needed_part(f.type, needed[f.id])) for f in source.fields if f.id in needed]
            return replace(source, fields=tuple(retained)) if retained else _smallest_part(source)
        case t.ArrayType(), t.ArrayType():
            return replace(source, element=needed_part(source.element, target.element))
        case t.MapType(), t.MapType():
            key, value = needed_part(source.key, target.key), needed_part(source.value, target.value)
            return replace(source, key=key, value=value)
        case t.VariantType(), t.VariantType():
            return replace(source, paths=target.paths)
    return source


def finds_by_name(written: Sequence[t.DataField], wanted: Sequence[t.DataField]) -> bool:
    """Whether a reader that matches only names, case-insensitively, reads the requested columns correctly from a file.

    The reader must return null for a field that the file lacks: it may not find another one of that name, and must find
    at least one field of a row, to detect where the row is null.
    """
    by_name = {f.name.lower(): f for f in written}
    ids = {f.id for f in written}
    if len(by_name) < len(written):
        by_name = {f.name: f for f in written}
    for field in wanted:
        old = by_name.get(field.name.lower()) or by_name.get(field.name)
        if old is None and field.id in ids:
            return False
        if old and not ((old.id, old.name) == (field.id, field.name) and _is_read_by_name(old.type, field.type)):
            return False
    return True


def _is_read_by_name(old: t.DataType, new: t.DataType) -> bool:
    match old, new:
        case t.RowType(), t.RowType():
            common = {f.id for f in old.fields} & {f.id for f in new.fields}
            return bool(common or not new.fields) and finds_by_name(old.fields, new.fields)
        case (t.ArrayType(), t.ArrayType()) | (t.MapType(), t.MapType()):
            return all(_is_read_by_name(a, b) for a, b in zip(old.children(), new.children(), strict=True))
        case t.VariantType(), t.VariantType():
            return True
    return old.as_nullable() == new.as_nullable()


def _smallest_part(data_type: t.DataType) -> t.DataType:
    """Prune a row to one field, at any depth, preferably an atomic one."""
    if not isinstance(data_type, t.RowType) or not data_type.fields:
        return data_type
    smallest = min(data_type.fields, key=lambda f: (bool(f.type.children()), isinstance(f.type, t.VariantType)))
    return replace(data_type, fields=(replace(smallest, type=_smallest_part(smallest.type)),))


def evolve(array: pa.Array, source: t.DataType, target: t.DataType, time_zone: str = "UTC") -> pa.Array:
    """Convert a column from the type it was written with to the current type.

    Fields of rows, at any depth, are matched by id.

    Args:
        array: the column, of the canonical Arrow type of ``source``.
        source: the type it was written with.
        target: the requested type.
        time_zone: the zone in which timestamps with local time zone are cast.
    """
    arrow = arrow_type(target)
    if _same(source, target):
        return conform(array, arrow)
    match source, target:
        case t.RowType(), t.RowType():
            stored = {f.id: (array.field(i), f.type) for i, f in enumerate(source.fields)}
            children = [
                evolve(*stored[f.id], f.type, time_zone) if f.id in stored else pa.nulls(len(array), arrow_type(f.type))
                for f in target.fields
            ]
            return rebuild_struct(array, arrow, children)
        case t.ArrayType(), t.ArrayType():
            return rebuild_list(array, arrow, evolve(array.values, source.element, target.element, time_zone))
        case t.MapType(), t.MapType():
            keys = evolve(array.keys, source.key, target.key, time_zone)
            return rebuild_map(array, arrow, keys, evolve(array.items, source.value, target.value, time_zone))
        case t.MultisetType(), t.MultisetType():
            return rebuild_map(array, arrow, evolve(array.keys, source.element, target.element, time_zone), array.items)
    return cast(array, source, target, time_zone=time_zone)


def _same(source: t.DataType, target: t.DataType) -> bool:
    """Whether values have the same meaning under both types, ignoring nullability."""
    if type(source) is not type(target):
        return False
    if isinstance(source, t.VariantType):
        return True  # whichever paths are requested
    if isinstance(source, t.RowType) and isinstance(target, t.RowType):
        same_shape = [(f.id, f.name) for f in source.fields] == [(f.id, f.name) for f in target.fields]
    elif source.children():
        same_shape = not isinstance(source, t.VectorType) or source.length == getattr(target, "length", None)
    else:
        return source.as_nullable() == target.as_nullable()
    return same_shape and all(_same(a, b) for a, b in zip(source.children(), target.children(), strict=True))


def _check(field: t.DataField, source: t.DataType, target: t.DataType) -> None:
    match source, target:
        case t.RowType(), t.RowType():
            old = {f.id: f for f in source.fields}
            for inner in target.fields:
                if inner.id in old:
                    _check(field, old[inner.id].type, inner.type)
        case (t.ArrayType(), t.ArrayType()) | (t.MapType(), t.MapType()) | (t.MultisetType(), t.MultisetType()):
            for a, b in zip(source.children(), target.children(), strict=True):
                _check(field, a, b)
        case t.VariantType(), t.VariantType():
            return
        case _ if not can_cast(source, target):
            raise UnsupportedError(
                f"Column '{field.name}' was written as {source.sql()} in an older file, which cannot be read as"
                f" {target.sql()}.",
                remedy=f"Change the column's type back to {source.sql()}.",
            )
