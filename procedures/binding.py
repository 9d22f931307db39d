"""Binding of the values of a call to the declared arguments of a procedure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.types import BigIntType, BooleanType, DataType, IntType, MapType
from paimon_sql.procedures.base import Procedure
from paimon_sql.procedures.declaration import Argument

_BITS: dict[type[DataType], int] = {IntType: 31, BigIntType: 63}
_BOOLEANS = {"true": True, "false": False}


def bind_arguments(procedure: Procedure, values: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Bind the arguments of a call; returns a value per argument, None for omitted ones.

    Args:
        procedure: the procedure.
        values: positional arguments.
        named: arguments by name, in any case.

    Raises:
        InvalidInputError: an argument is unknown, repeated or missing, or a value has the wrong type.
    """
    declared, what = procedure.arguments, f"sys.{procedure.name}"
    if len(values) > len(declared):
        raise InvalidInputError(f"{what} takes {len(declared)} arguments at most, but got {len(values)}.")
    known = {a.name.lower(): a for a in declared}
    found = {a.name: value for a, value in zip(declared, values, strict=False)}
    for name, value in named.items():
        argument = known.get(name.lower())
        if argument is None:
            names = ", ".join(a.name for a in declared)
            raise InvalidInputError(f"{what} has no argument {name}.", remedy=f"It takes {names}.")
        if argument.name in found:
            raise InvalidInputError(f"{what} got {argument.name} twice.", remedy="Leave one of them out.")
        found[argument.name] = value
    missing = [a.name for a in declared if a.required and found.get(a.name) is None]
    if missing:
        raise InvalidInputError(f"{what} needs {' and '.join(missing)}.", remedy=f"For example: {procedure.example}")
    return {a.name: _checked(what, a, found.get(a.name)) for a in declared}


def read_value(argument: Argument, text: str) -> Any:
    """Parse the value of an argument from text, as on a command line.

    Raises:
        InvalidInputError: the text is not a value of the argument's type.
    """
    kind = argument.type
    if isinstance(kind, BooleanType) and text.strip().lower() in _BOOLEANS:
        return _BOOLEANS[text.strip().lower()]
    if type(kind) in _BITS and text.strip().lstrip("+-").isdecimal():
        return int(text)
    if isinstance(kind, MapType):
        pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
        if all(equals for _, equals, _ in pairs):
            return {key.strip(): value.strip() for key, _, value in pairs}
    elif type(kind) not in _BITS and not isinstance(kind, BooleanType):
        return text
    raise InvalidInputError(f"{argument.name} cannot be '{text}'.", remedy=f"It is {_type_name(kind)}.")


def _checked(what: str, argument: Argument, value: Any) -> Any:
    kind = argument.type
    if value is None:
        return None
    if isinstance(kind, BooleanType):
        fits = isinstance(value, bool)
    elif type(kind) in _BITS:
        limit = 1 << _BITS[type(kind)]
        fits = isinstance(value, int) and not isinstance(value, bool) and -limit <= value < limit
    else:
        fits = isinstance(value, Mapping if isinstance(kind, MapType) else str)
    if not fits:
        raise InvalidInputError(f"{what}: {argument.name} cannot be {value!r}.", remedy=f"It is {_type_name(kind)}.")
    return value


def _type_name(kind: DataType) -> str:
    if isinstance(kind, BooleanType):
        return "true or false"
    if isinstance(kind, MapType):
        return "pairs k=v with commas between"
    return "a whole number" if type(kind) in _BITS else "a text"
