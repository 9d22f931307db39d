"""Formatting of values like a cast to STRING and like Java's ``toString``, and parsing of both forms.

Values are those of ``RowCodec``. Paimon formats partitions with legacy names and the bounds in ``$files`` with Java's
``toString``, where a date is its day number and a timestamp has a ``T``, and all others with a cast.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.rows.binary_field import (
    epoch_days,
    epoch_nanos,
    from_epoch_days,
    from_epoch_nanos,
    scaled,
    unscaled,
)
from paimon_sql.format.schema import types as t

_NANOS = 1_000_000_000
_DAY = 86_400
_WIDE = Context(prec=80)

_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|NaN|[+-]?Infinity", re.ASCII)
_DATE = re.compile(r"([+-]?\d{1,7})-(\d{1,2})-(\d{1,2})", re.ASCII)
_TIME = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?", re.ASCII)
_TIMESTAMP = re.compile(r"([^ T]+)(?:[ T](.*))?")
_TRUE = frozenset({"t", "true", "y", "yes", "1"})
_FALSE = frozenset({"f", "false", "n", "no", "0"})
_RANGES = {t.TinyIntType: 2**7, t.SmallIntType: 2**15, t.IntType: 2**31, t.BigIntType: 2**63}
_PLAIN_FROM, _PLAIN_BELOW = 1e-3, 1e7


def cast_text(value: Any, data_type: t.DataType, zone: dt.tzinfo = dt.timezone.utc) -> str:
    """Cast a non-null value to STRING; ``zone`` is the session's, for TIMESTAMP_LTZ."""
    if isinstance(data_type, t.DateType):
        return _date_text(epoch_days(value))
    if isinstance(data_type, t.TimeType):
        return _time_text(value, data_type.precision)
    if isinstance(data_type, t.TIMESTAMPS):
        nanos = epoch_nanos(value, data_type.precision)
        if isinstance(data_type, t.LocalZonedTimestampType):
            nanos += _offset_nanos(nanos, zone)
        seconds, fraction = divmod(nanos, _NANOS)
        digits = f"{fraction:09d}"
        shown = digits[: data_type.precision] + digits[data_type.precision :].rstrip("0")
        days, second = divmod(seconds, _DAY)
        return f"{_date_text(days)} {_clock(second)}" + (f".{shown}" if shown else "")
    if isinstance(data_type, t.BinaryType | t.VarBinaryType | t.BlobType):
        return bytes(value).decode(errors="replace")
    return java_text(value, data_type)


def java_text(value: Any, data_type: t.DataType) -> str:
    """Format a non-null value like ``toString`` of its Java object in Paimon.

    Bytes, of which Java prints the address, are formatted as hexadecimal digits.
    """
    if isinstance(data_type, t.BooleanType):
        return "true" if value else "false"
    if t.is_floating(data_type):
        return _float_text(value, single=isinstance(data_type, t.FloatType))
    if isinstance(data_type, t.DecimalType):
        return format(scaled(unscaled(value, data_type), data_type), "f")
    if isinstance(data_type, t.DateType):
        return str(epoch_days(value))
    if isinstance(data_type, t.TIMESTAMPS):
        seconds, fraction = divmod(epoch_nanos(value, data_type.precision), _NANOS)
        days, second = divmod(seconds, _DAY)
        clock = _clock(second)
        if fraction:
            digits = f"{fraction:09d}"
            clock += "." + (
                digits[:3] if digits.endswith("000000") else digits[:6] if digits.endswith("000") else digits
            )
        elif second % 60 == 0:
            clock = clock[:5]
        return f"{_date_text(days)}T{clock}"
    if isinstance(value, bytes):
        return "0x" + value.hex()
    return str(value)


def parse_text(text: str, data_type: t.DataType, zone: dt.tzinfo = dt.timezone.utc) -> object:
    """Parse a value in either form.

    A date or time may also be its number of days or milliseconds, and a timestamp a number of units of its precision.
    ``zone`` is the session's, for TIMESTAMP_LTZ.

    Raises:
        InvalidInputError: the text is not a value of the type.
    """
    parse = _PARSERS.get(type(data_type))
    if parse is None:
        raise InvalidInputError(f"A string cannot be read as {data_type.sql()}.")
    try:
        return parse(text, data_type, zone)
    except (ValueError, ArithmeticError):
        raise InvalidInputError(f"'{text}' is not a value of type {data_type.sql()}.") from None


def _date_text(days: int) -> str:
    day = np.datetime64(days, "D")
    year = int(day.astype("M8[Y]").astype(np.int64)) + 1970
    return (f"{year:05d}" if year < 0 else f"{year:04d}") + str(day)[-6:]


def _clock(second: int) -> str:
    return f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"


def _time_text(millis: int, precision: int) -> str:
    second, millis = divmod(millis % (_DAY * 1000), 1000)
    if precision == 0:
        return _clock(second)
    digits = f"{millis:03d}"
    shown = 1
    while shown < min(precision, 3) and digits[shown:].strip("0"):
        shown += 1
    return f"{_clock(second)}.{digits[:shown]}"


def _offset_nanos(nanos: int, zone: dt.tzinfo) -> int:
    """The zone's offset from UTC at an instant; outside of the years 1 to 9999 that of the nearest valid year."""
    moment = from_epoch_nanos(nanos, 6)
    if not isinstance(moment, dt.datetime):
        moment = dt.datetime(2, 1, 1) if nanos < 0 else dt.datetime(9998, 1, 1)
    offset = moment.replace(tzinfo=dt.timezone.utc).astimezone(zone).utcoffset() or dt.timedelta()
    return offset // dt.timedelta(microseconds=1) * 1000


def _float_text(value: float, *, single: bool) -> str:
    """The shortest string that parses to the same number, in Java's form: 1.0, 1.0E10, NaN, -Infinity."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    number = np.float32(value) if single else np.float64(value)
    if value == 0 or _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        return np.format_float_positional(number, unique=True, trim="0")
    mantissa, exponent = np.format_float_scientific(number, unique=True, trim="0").split("e")
    return f"{mantissa}E{int(exponent)}"


def _parse_bool(text: str, data_type: t.DataType, zone: dt.tzinfo) -> bool:
    word = text.strip().lower()
    if word not in _TRUE | _FALSE:
        raise ValueError(text)
    return word in _TRUE


def _parse_integer(text: str, data_type: t.DataType, zone: dt.tzinfo) -> int:
    number, limit = int(_matched(_INTEGER, text)[0]), _RANGES[type(data_type)]
    if not -limit <= number < limit:
        raise ValueError(text)
    return number


def _parse_float(text: str, data_type: t.DataType, zone: dt.tzinfo) -> float:
    number = float(_matched(_NUMBER, text)[0])
    return float(np.float32(number)) if isinstance(data_type, t.FloatType) else number


def _parse_decimal(text: str, data_type: t.DecimalType, zone: dt.tzinfo) -> Decimal:
    value = Decimal(_matched(_NUMBER, text)[0]).quantize(Decimal(1).scaleb(-data_type.scale), ROUND_HALF_UP, _WIDE)
    unscaled(value, data_type)
    return value


def _parse_string(text: str, data_type: t.CharType | t.VarCharType, zone: dt.tzinfo) -> str:
    if len(text) > data_type.length:
        raise ValueError(text)
    return text


def _parse_binary(text: str, data_type: t.DataType, zone: dt.tzinfo) -> bytes:
    data = text.encode()
    if isinstance(data_type, t.VarBinaryType) and len(data) > data_type.length:
        raise ValueError(text)
    return data


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    match = pattern.fullmatch(text)
    if not match:
        raise ValueError(text)
    return match


def _days(text: str) -> int:
    year, month, day = (int(part) for part in _matched(_DATE, text).groups())
    signed = f"{year:05d}" if year < 0 else f"{year:04d}"
    days = int(np.datetime64(f"{signed}-{month:02d}-{day:02d}", "D").astype(np.int64))
    if not -(2**31) <= days < 2**31:
        raise ValueError(text)
    return days


def _parse_date(text: str, data_type: t.DataType, zone: dt.tzinfo) -> dt.date | int:
    word = text.strip()
    return from_epoch_days(int(word) if _INTEGER.fullmatch(word) else _days(re.split("[ T]", word)[0]))


def _nanos_of_day(text: str) -> int:
    match = _matched(_TIME, text)
    hour, minute, second = (int(part or 0) for part in match.groups()[:3])
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(text)
    return (hour * 3600 + minute * 60 + second) * _NANOS + int((match[4] or "").ljust(9, "0"))


def _parse_time(text: str, data_type: t.DataType, zone: dt.tzinfo) -> int:
    word = text.strip()
    return int(word) if _INTEGER.fullmatch(word) else _nanos_of_day(word) // 1_000_000


def _parse_timestamp(
    text: str, data_type: t.TimestampType | t.LocalZonedTimestampType, zone: dt.tzinfo
) -> dt.datetime | int:
    word = text.strip()
    unit = 10 ** (9 - data_type.precision)
    if _INTEGER.fullmatch(word):
        return from_epoch_nanos(int(word) * unit, data_type.precision)
    date, clock = _matched(_TIMESTAMP, word).groups()
    nanos = (_days(date) * _DAY * _NANOS + (_nanos_of_day(clock) if clock else 0)) // unit * unit
    if isinstance(data_type, t.LocalZonedTimestampType):
        nanos = _from_zone(nanos, zone)
    return from_epoch_nanos(nanos, data_type.precision)


def _from_zone(nanos: int, zone: dt.tzinfo) -> int:
    """Convert a wall-clock time of the zone to an instant."""
    shown = from_epoch_nanos(nanos, 6)
    if not isinstance(shown, dt.datetime):
        return nanos - _offset_nanos(nanos, zone)
    offset = shown.replace(tzinfo=zone).utcoffset() or dt.timedelta()
    return nanos - offset // dt.timedelta(microseconds=1) * 1000


_PARSERS: dict[type[t.DataType], Callable[[str, Any, dt.tzinfo], object]] = {
    t.BooleanType: _parse_bool,
    **dict.fromkeys(t.INTEGERS, _parse_integer),
    **dict.fromkeys(t.FLOATS, _parse_float),
    t.DecimalType: _parse_decimal,
    **dict.fromkeys(t.TEXTS, _parse_string),
    **dict.fromkeys(t.BYTES, _parse_binary),
    t.DateType: _parse_date,
    t.TimeType: _parse_time,
    **dict.fromkeys(t.TIMESTAMPS, _parse_timestamp),
}
