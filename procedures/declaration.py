"""Arguments and results of procedures, declared as dataclasses.

The fields determine signature, binding of calls, result columns, DESCRIBE PROCEDURE, completion and the reference page.
A field's annotation is its type, optionally with ``| None``; its default is made by one of the functions here, with its
meaning:

>>> @dataclass(frozen=True)
... class Arguments:
...     tag: str = required("The tag's name.")
...     snapshot: Long | None = optional("The snapshot; the newest by default.")
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from paimon_sql.format.schema.types import (
    ArrayType,
    BigIntType,
    BooleanType,
    DataField,
    DataType,
    DoubleType,
    IntType,
    MapType,
    string_type,
)

Int = Annotated[int, IntType()]
Long = Annotated[int, BigIntType()]
Strings = Annotated[list[str], ArrayType(True, string_type())]
StringMap = Annotated[Mapping[str, str], MapType(True, string_type(), string_type())]

_PLAIN: dict[Any, DataType] = {str: string_type(), bool: BooleanType(), float: DoubleType()}


@dataclass(frozen=True)
class Argument:
    """An argument of a procedure; None if it is omitted, unless it is ``required``."""

    name: str
    type: DataType
    meaning: str
    required: bool = False


def required(meaning: str) -> Any:
    """Declare a required argument."""
    return field(metadata={"meaning": meaning, "required": True})


def optional(meaning: str) -> Any:
    """Declare an optional argument; None by default."""
    return field(default=None, metadata={"meaning": meaning})


def column(meaning: str, *, nullable: bool = True) -> Any:
    """Declare a result column of Apache Paimon's connector, with the nullability that it has there."""
    return field(metadata={"meaning": meaning, "nullable": nullable})


def detail(meaning: str) -> Any:
    """Declare a result column that the connector does not have."""
    return field(default=None, metadata={"meaning": meaning, "nullable": True, "is_detail": True})


def arguments_of(declared: type) -> tuple[Argument, ...]:
    """The declared arguments, in order."""
    hints = get_type_hints(declared, include_extras=True)
    return tuple(
        Argument(f.name, _type_of(hints[f.name]), f.metadata["meaning"], f.default is MISSING) for f in fields(declared)
    )


def columns_of(declared: type, *, details: bool) -> tuple[DataField, ...]:
    """The declared result columns, in order.

    Args:
        declared: the dataclass.
        details: whether to return those of `detail`, and not those of `column`.
    """
    hints = get_type_hints(declared, include_extras=True)
    return tuple(
        DataField(-1, f.name, _type_of(hints[f.name]).as_nullable(f.metadata["nullable"]), f.metadata["meaning"])
        for f in fields(declared)
        if f.metadata.get("is_detail", False) is details
    )


def _type_of(hint: Any) -> DataType:
    """The data type of an annotation, with or without ``| None``."""
    if get_origin(hint) in (Union, UnionType):
        (hint,) = (member for member in get_args(hint) if member is not NoneType)
    return get_args(hint)[1] if get_origin(hint) is Annotated else _PLAIN[hint]
