"""Column types with values that are hard on them, as plain Python that compares as SQL does."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type

EPOCH = date(1970, 1, 1)
_LETTERS = st.characters(exclude_categories=["Cs"])
_TEXTS = st.one_of(
    st.text(_LETTERS, max_size=4),
    st.text("ab", max_size=5),
    st.builds(lambda n, s: "a" * n + s, st.integers(15, 130), st.text(_LETTERS, max_size=2)),
    st.sampled_from(["", "\U0010ffff", "\ud7ff", "\ue000", "\uffff", "\U00010000", "é", "a\x00b"]),
)
_BYTES = st.one_of(st.binary(max_size=4), st.sampled_from([b"", b"\xff" * 20, b"\x00", b"\x80", b"a" * 20 + b"\xff"]))
_FLOATS = [0.0, -0.0, 1.5, -1.5, math.inf, -math.inf, math.nan, 5e-324, -5e-324]


@dataclass(frozen=True)
class Kind:
    """A column type and values of it; dates and times are counts from 1970 on."""

    type: t.DataType
    values: st.SearchStrategy[Any]

    def array(self, values: Sequence[Any]) -> pa.Array:
        """The values as a column."""
        target = arrow_type(self.type)
        if pa.types.is_timestamp(target):
            return pa.array(values, pa.int64()).cast(target)
        if pa.types.is_date32(target) or pa.types.is_time32(target):
            return pa.array(values, pa.int32()).cast(target)
        return pa.array(values, target)

    def scalar(self, value: Any) -> pa.Scalar:
        """One value as a literal."""
        return self.array([value])[0]


def _decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    top = 10**precision - 1
    units = st.integers(-top, top) | st.integers(-3, 3) | st.sampled_from([top, -top])
    return units.map(lambda n: Decimal(f"{n}e-{scale}"))


def _near(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(-2, 2) | st.integers(low, high) | st.sampled_from([low, high])


KINDS: dict[str, Kind] = {
    "boolean": Kind(t.BooleanType(), st.booleans()),
    "tinyint": Kind(t.TinyIntType(), _near(-128, 127)),
    "int": Kind(t.IntType(), _near(-(2**31), 2**31 - 1)),
    "bigint": Kind(t.BigIntType(), _near(-(2**63), 2**63 - 1)),
    "float": Kind(t.FloatType(), st.sampled_from([v for v in _FLOATS if abs(v) != 5e-324]) | st.floats(width=32)),
    "double": Kind(t.DoubleType(), st.sampled_from(_FLOATS) | st.floats()),
    "decimal": Kind(t.DecimalType(True, 9, 2), _decimals(9, 2)),
    "long decimal": Kind(t.DecimalType(True, 38, 10), _decimals(38, 10)),
    "text": Kind(t.string_type(), _TEXTS),
    "bytes": Kind(t.bytes_type(), _BYTES),
    "date": Kind(t.DateType(), _near((date(1, 1, 1) - EPOCH) // timedelta(1), (date(9999, 12, 31) - EPOCH).days)),
    "time": Kind(t.TimeType(True, 3), st.integers(0, 86_399_999)),
    "timestamp": Kind(t.TimestampType(True, 6), _near(-(10**16), 10**16)),
    "fine timestamp": Kind(t.TimestampType(True, 9), _near(-(9 * 10**18), 9 * 10**18)),
    "zoned timestamp": Kind(t.LocalZonedTimestampType(True, 6), _near(-(10**16), 10**16)),
}


def sql_order(value: Any) -> tuple[bool, Any]:
    """A key by which values compare as in SQL: NaN equals itself and is greatest, the zeros are equal."""
    return (True, 0) if value != value else (False, value)


def key_order(value: Any) -> Any:
    """A key by which values sort as keys do: nulls first, -0.0 before 0.0, NaN last."""
    if value is None:
        return (0,)
    if isinstance(value, float):
        return (2,) if value != value else (1, value, math.copysign(1, value))
    return (1, value)


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
