"""Default values of columns: constants for rows without a value in the statement, or with an explicit null.

A schema file stores a default as a string. For a string column it is the value itself, quoted or not; for any other
atomic type the input of a cast, quoted or not; for a nested one ``array(1, 2)``, ``map(k, 1)``, ``struct(1, a)`` or
``[1, 2]``, ``{k -> 1}``, ``{1, a}`` (spec: Schema, "Default Value").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError, InvalidSchemaError, PaimonError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.system_fields import VALUE_KIND, RowKind
from paimon_sql.storage.columns import literals
from paimon_sql.storage.columns.literals import Constant, ConstantError, ConstantText
from paimon_sql.storage.expressions.casts import cast

_BARE = re.compile(r"[+-]?[\d.]+([eE][+-]?\d+)?|true|false", re.IGNORECASE)
_CONSTRUCTOR: dict[type[t.DataType], str] = {
    t.ArrayType: "array",
    t.VectorType: "array",
    t.MapType: "map",
    t.RowType: "struct",
}


def default_constant(field: t.DataField) -> Constant | None:
    """Parse a column's default; None without a default.

    Raises:
        InvalidSchemaError: it cannot be parsed; the message names the column.
    """
    if field.default is None:
        return None
    if not field.type.children():
        return ConstantText(_without_quotes(field.default, field.type))
    try:
        return literals.parse_constant(field.default, sql=False)
    except ConstantError as error:
        raise _unreadable(field, str(error)) from None


def default_scalar(field: t.DataField) -> pa.Scalar | None:
    """Return a column's default value, of the column's Arrow type; None without a default.

    A timestamp with local time zone is read in UTC.

    Raises:
        InvalidSchemaError: it is not a value of the column's type; the message names the column.
    """
    constant = default_constant(field)
    if constant is None:
        return None
    try:
        return _array(constant, field.type)[0]
    except (ConstantError, PaimonError, pa.ArrowInvalid) as error:
        raise _unreadable(field, error.message if isinstance(error, PaimonError) else str(error)) from error


def stored_default(field: t.DataField, sql: str | None) -> t.DataField:
    """Return the column with the default of a SQL expression, in the form of schema files.

    Args:
        field: the column.
        sql: a literal, ``array(..)``, ``map(..)`` or ``struct(..)`` of literals; None, an empty string or NULL for
            none.

    Raises:
        InvalidSchemaError: the expression is not a constant of the column's type; the message names the column.
    """
    if not sql:
        return replace(field, default=None)
    try:
        constant = literals.parse_constant(sql, sql=True)
    except ConstantError as error:
        raise _unreadable(replace(field, default=sql), str(error)) from None
    text: str | None
    if isinstance(constant, literals.ConstantCall):
        text = literals.element_text(constant)
    else:
        bare = not isinstance(field.type, t.TEXTS) and _BARE.fullmatch(constant.text or "")
        text = constant.text if constant.text is None or bare else f"'{constant.text}'"
    stored = replace(field, default=text)
    default_scalar(stored)
    return stored


def default_scalars(fields: Iterable[t.DataField]) -> dict[str, pa.Scalar]:
    """Return the default values by name of the columns that have one; errors as in `default_scalar`."""
    found = ((f.name, default_scalar(f)) for f in fields)
    return {name: value for name, value in found if value is not None and value.is_valid}


def fill_defaults(batch: pa.RecordBatch, defaults: Mapping[str, pa.Scalar]) -> pa.RecordBatch:
    """Replace nulls by default values, like a write does.

    Args:
        batch: the rows, of the columns' Arrow types. With a column ``_VALUE_KIND``, only inserted rows get defaults: an
            UPDATE preserves the nulls of old rows.
        defaults: default values by column; columns that the rows lack are ignored.
    """
    is_insert = None
    if VALUE_KIND.name in batch.schema.names:
        is_insert = batch.column(VALUE_KIND.name).to_numpy() == RowKind.INSERT
    for i, name in enumerate(batch.schema.names):
        column = batch.column(i)
        if name in defaults and column.null_count:
            batch = batch.set_column(i, batch.schema.field(i), _filled(column, defaults[name], is_insert))
    return batch


def _filled(column: pa.Array, value: pa.Scalar, is_insert: npt.NDArray[np.bool_] | None) -> pa.Array:
    if is_insert is None and not pa.types.is_nested(column.type):
        return pc.fill_null(column, value)
    # No kernel fills nested columns: nulls take an appended element, which is the default.
    is_null = column.is_null().to_numpy(zero_copy_only=False)
    rows = np.arange(len(column))
    rows[is_null if is_insert is None else is_null & is_insert] = len(column)
    return pa.concat_arrays([column, pa.array([value], column.type)]).take(pa.array(rows))


def _without_quotes(text: str, data_type: t.DataType) -> str:
    is_text = isinstance(data_type, t.TEXTS)
    bare = text if is_text else text.strip()
    return bare[1:-1] if len(bare) > 1 and bare[0] == bare[-1] == "'" else bare


def _array(constant: Constant, data_type: t.DataType) -> pa.Array:
    """Convert the constant to an array of one value."""
    target = arrow_type(data_type)
    if isinstance(constant, ConstantText):
        if constant.text is None:
            return pa.nulls(1, target)
        _check_length(constant.text, data_type)
        return cast(pa.array([constant.text], pa.string()), t.string_type(), data_type)
    if _CONSTRUCTOR.get(type(data_type)) != constant.kind:
        raise ConstantError(f"{constant.kind}(..) cannot be of type {data_type.sql()}")
    parts = constant.parts
    if isinstance(data_type, t.RowType):
        if len(parts) != len(data_type.fields):
            raise ConstantError(f"it has {len(parts)} values for {len(data_type.fields)} fields")
        children = [_array(p, f.type) for p, f in zip(parts, data_type.fields, strict=True)]
        return pa.StructArray.from_arrays(children, fields=list(target))
    if isinstance(data_type, t.MapType):
        keys = _column(parts[::2], data_type.key)
        if keys.null_count or len(pc.unique(keys)) < len(keys):
            raise ConstantError("a key is null or specified twice")
        items = _column(parts[1::2], data_type.value)
        return pa.MapArray.from_arrays(pa.array([0, len(keys)], pa.int32()), keys, items, type=target)
    if isinstance(data_type, t.VectorType) and len(parts) != data_type.length:
        raise ConstantError(f"it has {len(parts)} elements instead of {data_type.length}")
    values = _column(parts, data_type.children()[0])
    if isinstance(data_type, t.VectorType):
        return pa.FixedSizeListArray.from_arrays(values, type=target)
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values, type=target)


def _column(parts: Sequence[Constant], data_type: t.DataType) -> pa.Array:
    arrays = [_array(p, data_type) for p in parts]
    return pa.concat_arrays(arrays) if arrays else pa.nulls(0, arrow_type(data_type))


def _check_length(text: str, data_type: t.DataType) -> None:
    if (isinstance(data_type, t.TEXTS) and len(text) > data_type.length) or (
        isinstance(data_type, t.BYTES) and len(text.encode()) > data_type.length
    ):
        raise InvalidInputError(f"'{text}' is too long.")


def _unreadable(field: t.DataField, reason: str) -> InvalidSchemaError:
    return InvalidSchemaError(
        f"The default value {field.default} of column '{field.name}' cannot be read as {field.type.sql()}:"
        f" {reason.rstrip('.')}.",
        remedy="A default value is a constant, such as 5, 'text', DATE '2024-01-31' or array(1, 2).",
    )
