"""Variant columns in Parquet files: shredded on write, reassembled on read (spec: Variant Shredding)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError, InvalidOptionError, PaimonError
from paimon_sql.format.bytes.bounded import load_json
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table import data_file
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_schema, arrow_type
from paimon_sql.format.variant.shredding.infer import Limits, ShapeHistory, shapes_of
from paimon_sql.format.variant.shredding.shred import TYPED_VALUE, VALUE, assemble, group_type, shred
from paimon_sql.storage.expressions.kernels.conform import conform, rebuild_list, rebuild_map, rebuild_struct
from paimon_sql.storage.expressions.kernels.sorting import combined
from paimon_sql.storage.file_formats.base import DataFileWriter, WriteSettings

VariantPath = tuple[str, ...]
"""Path of a variant: the name of its column, and of the struct fields that lead to it."""
Shapes = Mapping[VariantPath, t.DataType]
"""Shredding types of a file's variants by path; variants without one are not shredded."""


def variant_places(fields: Sequence[t.DataField]) -> Iterator[VariantPath]:
    """Yield the paths of variants that can be shredded: columns, and fields of rows at any depth."""
    for field in fields:
        if isinstance(field.type, t.VariantType):
            yield (field.name,)
        elif isinstance(field.type, t.RowType):
            yield from ((field.name, *place) for place in variant_places(field.type.fields))


def apart(fields: Sequence[t.DataField], shapes: Shapes) -> tuple[t.DataField, ...]:
    """Return the columns as stored in a file, with shredded variants."""
    return tuple(_shredded_field(field, shapes, ()) for field in fields)


def _shredded_field(field: t.DataField, shapes: Shapes, above: VariantPath) -> t.DataField:
    place = (*above, field.name)
    if place in shapes:
        return replace(field, type=group_type(shapes[place], top=True).as_nullable(field.type.nullable))
    if isinstance(field.type, t.RowType):
        inner = tuple(_shredded_field(f, shapes, place) for f in field.type.fields)
        return replace(field, type=replace(field.type, fields=inner))
    return field


def _shredded_column(column: pa.Array, shapes: Shapes, place: VariantPath) -> pa.Array:
    """Return a column as stored in a file, with shredded variants."""
    if place in shapes:
        return shred(column, shapes[place])
    if not any(other[: len(place)] == place for other in shapes):
        return column
    children = [_shredded_column(part, shapes, (*place, name)) for name, part in inside(column)]
    return rebuild_struct(column, _of_children(column.type, children), children)


def _of_children(kind: pa.StructType, children: Sequence[pa.Array]) -> pa.StructType:
    return pa.struct([f.with_type(child.type) for f, child in zip(kind, children, strict=True)])


def inside(column: pa.StructArray) -> Iterator[tuple[str, pa.Array]]:
    """Yield the fields of structs by name, null where the structs are."""
    for i, field in enumerate(column.type):
        part = column.field(i)
        if column.null_count:
            part = pc.if_else(column.is_valid(), part, pa.scalar(None, part.type))
        yield field.name, part


def reassemble(column: pa.Array, data_type: t.DataType) -> pa.Array:
    """Reassemble all variants of a file's column, as far as they were read."""
    match data_type:
        case t.VariantType() if _is_shredded(column.type):
            return assemble(column, arrow_type(data_type))
        case t.RowType() if pa.types.is_struct(column.type):
            types = {f.name: f.type for f in data_type.fields}
            children = [
                reassemble(column.field(i), types[f.name]) if f.name in types else column.field(i)
                for i, f in enumerate(column.type)
            ]
            return rebuild_struct(column, _of_children(column.type, children), children)
        case t.ArrayType() if pa.types.is_list(column.type):
            values = reassemble(column.values, data_type.element)
            return rebuild_list(column, pa.list_(column.type.value_field.with_type(values.type)), values)
        case t.MapType() if pa.types.is_map(column.type):
            items = reassemble(column.items, data_type.value)
            kind = pa.map_(column.type.key_field, column.type.item_field.with_type(items.type))
            return rebuild_map(column, kind, column.keys, items)
    return column


def _is_shredded(kind: pa.DataType) -> bool:
    if not pa.types.is_struct(kind):
        return False
    at = kind.get_field_index(VALUE)
    # The typed columns of a shredded variant may not have been read; its residual value is nullable.
    return bool(at < 0 or kind.field(at).nullable or kind.get_field_index(TYPED_VALUE) >= 0)


@dataclass(frozen=True)
class Shredding:
    """How to shred the variants of a file.

    Attributes:
        places: the variants that may be shredded.
        rows: the number of first rows from which their types are inferred; 0 if the types are known in advance.
        types: returns the shredding types of the variants, given their values in these rows.
    """

    places: Sequence[VariantPath]
    rows: int
    types: Callable[[Sequence[pa.StructArray]], Sequence[t.DataType]]

    def shapes(self, first: pa.RecordBatch) -> Shapes:
        """Return the shredding types for a file that begins with these rows."""
        types = self.types([_at(first, place) for place in self.places])
        shapes = dict(zip(self.places, types, strict=True))
        return {place: shape for place, shape in shapes.items() if not isinstance(shape, t.VariantType)}


def shredding_of(fields: Sequence[t.DataField], settings: WriteSettings) -> Shredding | None:
    """Return how to shred a file's variants; None for no shredding.

    Raises:
        InvalidOptionError: the given shredding schema is invalid.
    """
    options = TableOptions(settings.options)
    shapes = given_shapes(options)
    if shapes is not None:
        columns = {f.name for f in fields if isinstance(f.type, t.VariantType)}
        given = {(name,): shape for name, shape in shapes.items() if name in columns}
        return Shredding([*given], 0, lambda _: [*given.values()]) if given else None
    places = tuple(variant_places(fields))
    if not places or not options.get(data_file.VARIANT_INFER_SHREDDING_SCHEMA):
        return None
    history = settings.history
    rows = data_file.VARIANT_SHREDDING_MAX_INFER_BUFFER_ROW
    if history is not None and not history.is_new:
        rows = data_file.VARIANT_SHREDDING_ADAPTIVE_MAX_INFER_BUFFER_ROW
    types = partial(shapes_of, limits=_limits(options)) if history is None else history.shapes_of
    return Shredding(places, options.get(rows), types)


def shape_history(options: Mapping[str, str]) -> ShapeHistory | None:
    """Return the history of a writer's files for adaptive inference; None if each file is inferred separately."""
    read = TableOptions(options)
    adapts = read.get(data_file.VARIANT_SHREDDING_INFERENCE_MODE) == "adaptive" and not read.has(
        data_file.VARIANT_SHREDDING_SCHEMA
    )
    if not adapts or not read.get(data_file.VARIANT_INFER_SHREDDING_SCHEMA):
        return None
    max_rows = read.get(data_file.VARIANT_SHREDDING_ADAPTIVE_MAX_INFER_BUFFER_ROW)
    return ShapeHistory(_limits(read), max_rows, read.get(data_file.VARIANT_SHREDDING_ADAPTIVE_RETENTION_RATIO))


def given_shapes(options: TableOptions) -> dict[str, t.DataType] | None:
    """Return the shredding types by column that the options set; None if not set.

    Raises:
        InvalidOptionError: the value is not a row type of valid shredding types.
    """
    text = options.get(data_file.VARIANT_SHREDDING_SCHEMA)
    if text is None:
        return None
    try:
        found = t.parse_type(_with_ids(load_json(text)))
        if not isinstance(found, t.RowType):
            raise ValueError(f"{found.sql()} is not a ROW type")
        for field in found.fields:
            group_type(field.type)
    except (PaimonError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise InvalidOptionError(
            f"Invalid value '{text}' of option '{data_file.VARIANT_SHREDDING_SCHEMA.key}': {error}.",
            key=data_file.VARIANT_SHREDDING_SCHEMA.key,
            remedy="Use a ROW type as JSON, with a field for each variant column: its type defines which fields of"
            " the values get separate columns.",
        ) from error
    return {f.name: f.type for f in found.fields}


_INNER: tuple[Literal["element"], Literal["key"], Literal["value"]] = ("element", "key", "value")


def _with_ids(kind: t.TypeJson) -> t.TypeJson:
    """Add ids to all fields of a row type's JSON; their values do not matter."""
    if isinstance(kind, str):
        return kind
    inner = kind.copy()
    for member in _INNER:
        if member in inner:
            inner[member] = _with_ids(inner[member])
    if "fields" in inner:
        inner["fields"] = [{"id": i, **f, "type": _with_ids(f["type"])} for i, f in enumerate(inner["fields"])]
    return inner


def _limits(options: TableOptions) -> Limits:
    return Limits(
        options.get(data_file.VARIANT_SHREDDING_MAX_SCHEMA_WIDTH),
        options.get(data_file.VARIANT_SHREDDING_MAX_SCHEMA_DEPTH),
        options.get(data_file.VARIANT_SHREDDING_MIN_FIELD_CARDINALITY_RATIO),
    )


def _at(rows: pa.RecordBatch, place: VariantPath) -> pa.Array:
    column = rows.column(place[0])
    for name in place[1:]:
        column = dict(inside(column))[name]
    return column


class ShreddingWriter(DataFileWriter):
    """A writer of one file, which opens the real writer once the shredding types are known.

    Args:
        path: the file.
        fields: the columns of the table.
        how: how to shred variants.
        open_writer: opens a writer of the shredded columns.
    """

    def __init__(
        self,
        path: str,
        fields: Sequence[t.DataField],
        how: Shredding,
        open_writer: Callable[[Sequence[t.DataField]], DataFileWriter],
    ) -> None:
        self.path = path
        self._fields = fields
        self._shredding = how
        self._open = open_writer
        self._table_schema = arrow_schema(fields)
        self._shapes: Shapes = {}
        self._schema = pa.schema([])
        self._writer: DataFileWriter | None = None
        self._buffered: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch) -> None:
        columns = [conform(column, field.type) for column, field in zip(batch.columns, self._table_schema, strict=True)]
        batch = pa.RecordBatch.from_arrays(columns, schema=self._table_schema)
        if self._writer is not None:
            self._put(self._writer, batch)
            return
        self._buffered.append(batch)
        if sum(buffered.num_rows for buffered in self._buffered) >= self._shredding.rows:
            self._begin()

    def _begin(self) -> DataFileWriter:
        first = pa.Table.from_batches(self._buffered, self._table_schema).slice(0, self._shredding.rows)
        columns = [combined(column) for column in first.columns]
        with self._malformed_refused():
            self._shapes = self._shredding.shapes(pa.RecordBatch.from_arrays(columns, schema=self._table_schema))
        fields = apart(self._fields, self._shapes)
        self._schema = arrow_schema(fields)
        self._writer = writer = self._open(fields)
        buffered, self._buffered = self._buffered, []
        for batch in buffered:
            self._put(writer, batch)
        return writer

    def _put(self, writer: DataFileWriter, batch: pa.RecordBatch) -> None:
        with self._malformed_refused():
            names = zip(batch.columns, batch.schema.names, strict=True)
            columns = [_shredded_column(column, self._shapes, (name,)) for column, name in names]
        writer.write(pa.RecordBatch.from_arrays(columns, schema=self._schema))

    @contextmanager
    def _malformed_refused(self) -> Iterator[None]:
        try:
            yield
        except (ValueError, LookupError) as error:
            raise InvalidInputError(f"{self.path}: a variant is malformed: {error}.") from error

    @property
    def bytes_written(self) -> int:
        if self._writer is None:
            return sum(batch.nbytes for batch in self._buffered)
        return self._writer.bytes_written

    def close(self) -> int:
        return (self._writer or self._begin()).close()

    def abort(self) -> None:
        self._buffered = []
        if self._writer is not None:
            self._writer.abort()
