"""Python's values as literals of Spark SQL. Spark's Thrift server takes no parameters, so that a value becomes text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from numbers import Integral, Real
from typing import SupportsFloat, SupportsInt

from paimon_sql.errors import InvalidInputError

_ESCAPED = re.compile(r"[\\'$\x00-\x1f\x7f]")
"""Characters that have a meaning in a literal. A dollar sign begins a variable, which Spark replaces there, too."""


def literal(value: object) -> str:
    """Return the literal that has exactly this value.

    Args:
        value: None, a boolean, number, string, bytes, date, time stamp or interval, of Python, NumPy or pandas. A list
            or tuple becomes a list in parentheses, for IN. A time stamp with an offset is an instant; one without is a
            local time.

    Raises:
        InvalidInputError: Spark SQL has no literal of this type.
    """
    if value is None:
        return "NULL"
    for kind, text in _LITERALS:
        if isinstance(value, kind):
            return text(value)
    if hasattr(value, "item"):  # a scalar of NumPy that is none of Python's numbers, such as a boolean
        return literal(value.item())
    raise InvalidInputError(f"A value of type {type(value).__name__} cannot be a parameter: {value!r}")


def _string(value: str) -> str:
    return (
        "'"
        + _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}" if match[0] not in "\\'" else "\\" + match[0], value)
        + "'"
    )


def _integer(value: SupportsInt) -> str:
    return _signed(str(int(value)))


def _signed(number: str) -> str:
    """A space before a minus: two of them would begin a comment."""
    return f" {number}" if number.startswith("-") else number


def _double(value: SupportsFloat) -> str:
    number = float(value)
    if math.isfinite(number):
        return _signed(f"{number!r}D")
    return f"CAST('{'NaN' if math.isnan(number) else 'Infinity' if number > 0 else '-Infinity'}' AS DOUBLE)"


def _decimal(value: Decimal) -> str:
    return _signed(f"{value:f}BD") if value.is_finite() else _double(float(value))


def _time_stamp(value: datetime) -> str:
    if value != value:  # pandas' NaT
        return "NULL"
    kind = "TIMESTAMP_NTZ" if value.tzinfo is None else "TIMESTAMP_LTZ"
    # Offsets of the past have seconds, which UTC does not.
    local = value if value.tzinfo is None else value.astimezone(timezone.utc)
    return f"{kind}'{local.isoformat(sep=' ', timespec='microseconds')}'"


def _interval(value: timedelta) -> str:
    microseconds = value // timedelta(microseconds=1)
    seconds, fraction = divmod(abs(microseconds), 1_000_000)
    sign = "-" if microseconds < 0 else ""
    time = f"{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:06}"
    return f"INTERVAL '{sign}{seconds // 86400} {time}' DAY TO SECOND"


def _list(values: list[object] | tuple[object, ...]) -> str:
    return f"({', '.join(map(literal, values))})"


# bool is an int, and datetime a date: the narrower type stands first.
_LITERALS: tuple[tuple[type | tuple[type, ...], Callable[..., str]], ...] = (
    (str, _string),
    (bool, lambda value: "TRUE" if value else "FALSE"),
    (Integral, _integer),
    (Decimal, _decimal),
    (Real, _double),
    (datetime, _time_stamp),
    (date, lambda value: f"DATE'{value.isoformat()}'"),
    (timedelta, _interval),
    ((bytes, bytearray, memoryview), lambda value: f"X'{bytes(value).hex()}'"),
    ((list, tuple), _list),
)
