"""Old files under a new schema: columns are matched by id at every depth, and cast where their types have changed.

Names, order and presence of columns differ between versions of a schema; ids stay. A column dropped and added again
has another id, so nothing of the old one shows (spec: Schema, "Schema Evolution"). Of a column's inner fields only
those are read that are wanted.
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
"""Ids from here on are system columns'; those between are copies of key columns."""


@dataclass(frozen=True)
class EvolutionPlan:
    """How to make the columns wanted out of a file's columns.

    Attributes:
        file_fields: the columns that the file holds, by its own schema, without inner fields that nobody wants.
        wanted: the columns to make, by the schema of today.
        sources: for each wanted column the file's column that it comes from; None if the file has none.
        time_zone: the zone in which timestamps with local time zone are cast.
    """

    file_fields: tuple[t.DataField, ...]
    wanted: tuple[t.DataField, ...]
    sources: tuple[t.DataField | None, ...]
    time_zone: str = "UTC"

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the file's columns to read, each once, in the file's order."""
        needed = {source.name for source in self.sources if source is not None}
        return tuple(f.name for f in self.file_fields if f.name in needed)

    @cached_property
    def is_identity(self) -> bool:
        """Whether the columns read are those wanted: same names, order and types."""
        return self.columns == tuple(f.name for f in self.wanted) and all(
            source is not None
            and source.name == field.name
            and arrow_type(source.type).equals(arrow_type(field.type))
            and _same(source.type, field.type)
            for source, field in zip(self.sources, self.wanted, strict=True)
        )

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema of the batches made."""
        return arrow_schema(self.wanted)

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The wanted columns, of the canonical Arrow types, out of a batch that holds `columns`.

        Raises:
            InvalidInputError: a value cannot be cast to its column's type.
        """
        if self.is_identity and batch.schema.names == self.schema.names:
            return batch
        if not self.wanted:
            return batch.select([])
        made = []
        for source, field in zip(self.sources, self.wanted, strict=True):
            if source is None:
                made.append(pa.nulls(batch.num_rows, arrow_type(field.type)))
            else:
                made.append(evolve(batch.column(source.name), source.type, field.type, self.time_zone))
        return pa.RecordBatch.from_arrays(made, schema=self.schema)


def plan_evolution(
    file_fields: Sequence[t.DataField], wanted: Sequence[t.DataField], *, time_zone: str = "UTC"
) -> EvolutionPlan:
    """Plan the reading of a file under a newer, or older, schema.

    A key column that the file lacks comes from the value column of the same id: a file written in thin mode holds
    keys only once.

    Args:
        file_fields: the columns that the file holds, in its order, of the schema that the file was written under.
        wanted: the columns to make, of the schema that is read; a column may come from nowhere and is null then.
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
    narrow = {
        source.id: replace(source, type=needed_part(source.type, field.type))
        for source, field in zip(sources, wanted, strict=True)
        if source is not None and uses[source.id] == 1
    }
    return EvolutionPlan(
        tuple(narrow.get(f.id, f) for f in file_fields),
        tuple(wanted),
        tuple(source and narrow.get(source.id, source) for source in sources),
        time_zone,
    )


def needed_part(source: t.DataType, target: t.DataType) -> t.DataType:
    """What must be read of values of a type to make values of another type.

    A row of which no field is wanted keeps one, which tells where the row itself is null.
    """
    match source, target:
        case t.RowType(), t.RowType():
            wanted = {f.id: f.type for f in target.fields}
            kept = [replace(f, type=needed_part(f.type, wanted[f.id])) for f in source.fields if f.id in wanted]
            return replace(source, fields=tuple(kept)) if kept else _least_part(source)
        case t.ArrayType(), t.ArrayType():
            return replace(source, element=needed_part(source.element, target.element))
        case t.MapType(), t.MapType():
            key, value = needed_part(source.key, target.key), needed_part(source.value, target.value)
            return replace(source, key=key, value=value)
        case t.VariantType(), t.VariantType():
            return replace(source, paths=target.paths)
    return source


def finds_by_name(written: Sequence[t.DataField], wanted: Sequence[t.DataField]) -> bool:
    """Whether a reader that goes by names alone, in upper case or lower, makes the columns wanted of those of a file.

    A field that the file lacks must be one that the reader takes for null: it may not find another of that name, and
    of a row it must find some field, or it would not know where the row is null.
    """
    by_name = {f.name.lower(): f for f in written}
    ids = {f.id for f in written}
    if len(by_name) < len(written):
        by_name = {f.name: f for f in written}
    for field in wanted:
        old = by_name.get(field.name.lower()) or by_name.get(field.name)
        if (old is None and field.id in ids) or (old is not None and not _is_found(old, field)):
            return False
    return True


def _is_found(old: t.DataField, field: t.DataField) -> bool:
    return (old.id, old.name) == (field.id, field.name) and _is_read_by_name(old.type, field.type)


def _is_read_by_name(old: t.DataType, new: t.DataType) -> bool:
    match old, new:
        case t.RowType(), t.RowType():
            some = {f.id for f in old.fields} & {f.id for f in new.fields}
            return bool(some or not new.fields) and finds_by_name(old.fields, new.fields)
        case (t.ArrayType(), t.ArrayType()) | (t.MapType(), t.MapType()):
            return all(_is_read_by_name(a, b) for a, b in zip(old.children(), new.children(), strict=True))
        case t.VariantType(), t.VariantType():
            return True
    return old.as_nullable() == new.as_nullable()


def _least_part(data_type: t.DataType) -> t.DataType:
    """A row with one field, at any depth, and that an atomic one if there is one."""
    if not isinstance(data_type, t.RowType) or not data_type.fields:
        return data_type
    least = min(data_type.fields, key=lambda f: (bool(f.type.children()), isinstance(f.type, t.VariantType)))
    return replace(data_type, fields=(replace(least, type=_least_part(least.type)),))


def evolve(array: pa.Array, source: t.DataType, target: t.DataType, time_zone: str = "UTC") -> pa.Array:
    """A column of the type that it was written under as one of the type of today.

    Inside rows, at any depth, fields are matched by id like columns.

    Args:
        array: the column, of the canonical Arrow type of ``source``.
        source: the type that it was written under.
        target: the type wanted.
        time_zone: the zone in which timestamps with local time zone are cast.
    """
    made = arrow_type(target)
    if _same(source, target):
        return conform(array, made)
    match source, target:
        case t.RowType(), t.RowType():
            places = {f.id: i for i, f in enumerate(source.fields)}
            children = []
            for i, field in enumerate(target.fields):
                at = places.get(field.id)
                if at is None:
                    children.append(pa.nulls(len(array), made.field(i).type))
                else:
                    children.append(evolve(array.field(at), source.fields[at].type, field.type, time_zone))
            return rebuild_struct(array, made, children)
        case t.ArrayType(), t.ArrayType():
            return rebuild_list(array, made, evolve(array.values, source.element, target.element, time_zone))
        case t.MapType(), t.MapType():
            keys = evolve(array.keys, source.key, target.key, time_zone)
            return rebuild_map(array, made, keys, evolve(array.items, source.value, target.value, time_zone))
        case t.MultisetType(), t.MultisetType():
            return rebuild_map(array, made, evolve(array.keys, source.element, target.element, time_zone), array.items)
    return cast(array, source, target, time_zone=time_zone)


def _same(source: t.DataType, target: t.DataType) -> bool:
    """Whether values mean the same under both types, nullability aside."""
    if type(source) is not type(target):
        return False
    if isinstance(source, t.VariantType):
        return True  # whatever parts are wanted
    if isinstance(source, t.RowType) and isinstance(target, t.RowType):
        return [(f.id, f.name) for f in source.fields] == [(f.id, f.name) for f in target.fields] and all(
            _same(a, b) for a, b in zip(source.children(), target.children(), strict=True)
        )
    if source.children():
        alike = not isinstance(source, t.VectorType) or source.length == getattr(target, "length", None)
        return alike and all(_same(a, b) for a, b in zip(source.children(), target.children(), strict=True))
    return source.as_nullable() == target.as_nullable()


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
