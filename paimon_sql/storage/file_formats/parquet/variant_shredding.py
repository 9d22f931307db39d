"""Options of variant shredding: a shredding schema that is given or inferred from the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from paimon_sql.errors import InvalidOptionError, PaimonError
from paimon_sql.format.bytes.bounded import load_json
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.data_file import (
    VARIANT_INFER_SHREDDING_SCHEMA,
    VARIANT_SHREDDING_ADAPTIVE_MAX_INFER_BUFFER_ROW,
    VARIANT_SHREDDING_ADAPTIVE_RETENTION_RATIO,
    VARIANT_SHREDDING_INFERENCE_MODE,
    VARIANT_SHREDDING_MAX_INFER_BUFFER_ROW,
    VARIANT_SHREDDING_MAX_SCHEMA_DEPTH,
    VARIANT_SHREDDING_MAX_SCHEMA_WIDTH,
    VARIANT_SHREDDING_MIN_FIELD_CARDINALITY_RATIO,
    VARIANT_SHREDDING_SCHEMA,
)
from paimon_sql.format.schema import types as t
from paimon_sql.format.variant.shredding.adaptive import ShapeHistory
from paimon_sql.format.variant.shredding.infer import Limits, shapes_of
from paimon_sql.format.variant.shredding.shapes import group_type
from paimon_sql.storage.file_formats.parquet.variant_columns import Shapes, VariantPath, inside, variant_places
from paimon_sql.storage.file_formats.settings import WriteSettings


@dataclass(frozen=True)
class Shredding:
    """How to shred the variants of a file.

    Attributes:
        given: the shredding types, if known in advance.
        places: the variants whose types are inferred from the first rows.
        rows: the number of these rows.
        limits: limits of the inferred types.
        history: variant statistics of earlier files of the same writer, if used.
    """

    given: Shapes | None
    places: tuple[VariantPath, ...] = ()
    rows: int = 0
    limits: Limits | None = None
    history: ShapeHistory | None = None

    def shapes(self, first: pa.RecordBatch) -> Shapes:
        """Return the shredding types for a file that begins with these rows."""
        if self.given is not None:
            return self.given
        assert self.limits is not None
        columns = [_at(first, place) for place in self.places]
        types = shapes_of(columns, self.limits) if self.history is None else self.history.shapes_of(columns)
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
        wanted = {(name,): shape for name, shape in shapes.items() if name in columns}
        return Shredding({p: s for p, s in wanted.items() if not isinstance(s, t.VariantType)}) if wanted else None
    places = tuple(variant_places(fields))
    if not places or not options.get(VARIANT_INFER_SHREDDING_SCHEMA):
        return None
    history = settings.history
    new_writer_rows = VARIANT_SHREDDING_MAX_INFER_BUFFER_ROW
    rows = new_writer_rows if history is None or history.is_new else VARIANT_SHREDDING_ADAPTIVE_MAX_INFER_BUFFER_ROW
    return Shredding(None, places, options.get(rows), _limits(options), history)


def shape_history(options: Mapping[str, str]) -> ShapeHistory | None:
    """Return the history of a writer's files for adaptive inference; None if each file is inferred separately."""
    read = TableOptions(options)
    adapts = read.get(VARIANT_SHREDDING_INFERENCE_MODE) == "adaptive" and not read.has(VARIANT_SHREDDING_SCHEMA)
    if not adapts or not read.get(VARIANT_INFER_SHREDDING_SCHEMA):
        return None
    max_rows = read.get(VARIANT_SHREDDING_ADAPTIVE_MAX_INFER_BUFFER_ROW)
    return ShapeHistory(_limits(read), max_rows, read.get(VARIANT_SHREDDING_ADAPTIVE_RETENTION_RATIO))


def given_shapes(options: TableOptions) -> dict[str, t.DataType] | None:
    """Return the shredding types by column that the options set; None if not set.

    Raises:
        InvalidOptionError: the value is not a row type of valid shredding types.
    """
    text = options.get(VARIANT_SHREDDING_SCHEMA)
    if text is None:
        return None
    try:
        found = t.parse_type(_with_ids(load_json(text)))
        if not isinstance(found, t.RowType):
            raise ValueError(f"{found.sql()} is no ROW type")
        for field in found.fields:
            group_type(field.type)
    except (PaimonError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise InvalidOptionError(
            f"'{VARIANT_SHREDDING_SCHEMA.key}' = '{text}' does not tell how to take variants apart: {error}.",
            key=VARIANT_SHREDDING_SCHEMA.key,
            remedy="Give a ROW type as JSON, with a field for each column of variants: its type says which fields of"
            " the values get columns of their own.",
        ) from error
    return {f.name: f.type for f in found.fields}


def _with_ids(kind: Any) -> Any:
    """Add ids to all fields of a type's JSON; their values do not matter."""
    if not isinstance(kind, dict):
        return kind
    inner = {key: _with_ids(part) if key in ("element", "key", "value") else part for key, part in kind.items()}
    if "fields" in inner:
        inner["fields"] = [{"id": i, **f, "type": _with_ids(f["type"])} for i, f in enumerate(inner["fields"])]
    return inner


def _limits(options: TableOptions) -> Limits:
    return Limits(
        options.get(VARIANT_SHREDDING_MAX_SCHEMA_WIDTH),
        options.get(VARIANT_SHREDDING_MAX_SCHEMA_DEPTH),
        options.get(VARIANT_SHREDDING_MIN_FIELD_CARDINALITY_RATIO),
    )


def _at(rows: pa.RecordBatch, place: VariantPath) -> pa.Array:
    column = rows.column(place[0])
    for name in place[1:]:
        column = dict(inside(column))[name]
    return column
