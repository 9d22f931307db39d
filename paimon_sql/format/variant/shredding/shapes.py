"""Shapes of shredded variants: types whose fields and elements become columns.

A ROW is for objects with these fields, an ARRAY for arrays, an atomic type for values of it, and VARIANT for values
that are not shredded.
"""

from __future__ import annotations

from paimon_sql.format.schema import types as t
from paimon_sql.format.variant.scalars import is_scalar, scalar_type

METADATA, VALUE, TYPED_VALUE = "metadata", "value", "typed_value"


def group_type(shape: t.DataType, *, top: bool = False, in_object: bool = False) -> t.RowType:
    """The columns of a shredded variant.

    Args:
        shape: its shape.
        top: whether it is the root, which has the dictionary.
        in_object: whether it is a field of an object, which may be missing.

    Raises:
        ValueError: the shape has a type that variants do not support.
    """
    columns: list[tuple[str, t.DataType]] = [(METADATA, t.bytes_type(False))] if top else []
    inside = _typed_type(shape)
    columns.append((VALUE, t.bytes_type(inside is not None or in_object)))
    if inside is not None:
        columns.append((TYPED_VALUE, inside))
    return t.RowType(True, tuple(t.DataField(i, name, kind) for i, (name, kind) in enumerate(columns)))


def _typed_type(shape: t.DataType) -> t.DataType | None:
    match shape:
        case t.VariantType():
            return None
        case t.RowType() if shape.fields:
            return t.RowType(
                True,
                tuple(
                    t.DataField(i, f.name, group_type(f.type, in_object=True).as_nullable(False))
                    for i, f in enumerate(shape.fields)
                ),
            )
        case t.ArrayType():
            return t.ArrayType(True, group_type(shape.element).as_nullable(False))
        case _ if is_scalar(shape):
            return scalar_type(shape)
    raise ValueError(f"a variant cannot be taken apart as {shape.sql()}")
