"""Records: frozen dataclasses that declare columns, of the rows of system tables and of calls of procedures.

A field has the column's name. Its annotation is the type, with ``| None`` if values may be missing; `column` adds the
meaning:

>>> class Row(Record):
...     branch_name: str = column("the name")
...     create_time: Timestamp | None = column("when it was created")
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_schema

if TYPE_CHECKING:
    from typing import dataclass_transform
else:  # Python 3.10 lacks it

    def dataclass_transform(**_: object) -> Callable[[type], type]:
        return lambda kind: kind


Int = Annotated[int, t.IntType()]
Long = Annotated[int, t.BigIntType()]
Timestamp = Annotated[datetime, t.TimestampType(precision=3)]
Strings = Annotated[Sequence[str], t.ArrayType(True, t.string_type())]
StringMap = Annotated[Mapping[str, str], t.MapType(True, t.string_type(), t.string_type())]

_PLAIN: dict[object, t.DataType] = {str: t.string_type(), bool: t.BooleanType(), float: t.DoubleType()}


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Record:
    """Base class of records: each subclass is a frozen dataclass of its fields, those of its bases first."""

    def __init_subclass__(cls, *, kw_only: bool = False) -> None:
        super().__init_subclass__()
        dataclass(frozen=True, kw_only=kw_only)(cls)


def column(meaning: str, *, nullable: bool | None = None, default: Any = MISSING) -> Any:
    """Declare the field of a record.

    Args:
        meaning: its meaning.
        nullable: whether the column is nullable; None for the rule of `columns_of`.
        default: the field's default value.
    """
    return field(default=default, metadata={"meaning": meaning, "nullable": nullable})


@cache
def columns_of(record: type, *, nullable: bool | None = None) -> tuple[t.DataField, ...]:
    """The columns that a record declares, in order.

    Args:
        record: the dataclass.
        nullable: whether columns are nullable that do not say so themselves; None if their annotations say it.
    """
    hints = get_type_hints(record, include_extras=True)
    return tuple(
        t.DataField(-1, f.name, _type_of(hints[f.name], f.metadata["nullable"], nullable), f.metadata["meaning"])
        for f in fields(record)
    )


def to_arrow(columns: Sequence[t.DataField], records: Iterable[object]) -> pa.Table:
    """The values of records in some of their columns."""
    rows, schema = list(records), arrow_schema(columns)
    return pa.Table.from_arrays([pa.array([getattr(r, f.name) for r in rows], f.type) for f in schema], schema=schema)


def _type_of(hint: object, *nullable: bool | None) -> t.DataType:
    """The data type of an annotation, as nullable as the first that is not None, or else as the annotation."""
    may_be_none = get_origin(hint) in (Union, UnionType)
    if may_be_none:
        (hint,) = (member for member in get_args(hint) if member is not NoneType)
    found: t.DataType = get_args(hint)[1] if get_origin(hint) is Annotated else _PLAIN[hint]
    return found.as_nullable(next((given for given in nullable if given is not None), may_be_none))
