"""Columns of every type for property tests: types, and values that they hold."""

from __future__ import annotations

import datetime as dt
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type

_EXACT = Context(prec=100)
_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
_MICROS = st.integers(-62135596800000000, 253402300799999999)
_NANOS = st.integers(-(2**63), 2**63 - 1)


def atomic_types(*, nanoseconds: bool = True) -> st.SearchStrategy[t.DataType]:
    """Types without parts, nullable."""
    precision = st.integers(0, 9 if nanoseconds else 6)
    plain: list[t.DataType] = [
        t.BooleanType(),
        t.TinyIntType(),
        t.SmallIntType(),
        t.IntType(),
        t.BigIntType(),
        t.FloatType(),
        t.DoubleType(),
        t.DateType(),
        t.TimeType(True, 3),
        t.string_type(),
        t.VarCharType(True, 6),
        t.bytes_type(),
        t.VarBinaryType(True, 6),
    ]
    return st.one_of(
        st.sampled_from(plain),
        precision.map(lambda p: t.TimestampType(True, p)),
        precision.map(lambda p: t.LocalZonedTimestampType(True, p)),
        st.integers(1, 38).flatmap(lambda p: st.integers(0, p).map(lambda s: t.DecimalType(True, p, s))),
    )


_KEYS: list[t.DataType] = [t.string_type(False), t.IntType(False), t.DateType(False), t.DecimalType(False, 20, 2)]


def data_types(*, nanoseconds: bool = True) -> st.SearchStrategy[t.DataType]:
    """Types of any depth up to three; the ids of row fields are distinct."""
    leaf = atomic_types(nanoseconds=nanoseconds)
    deep = st.recursive(
        leaf,
        lambda inner: st.one_of(
            inner.map(lambda e: t.ArrayType(True, e)),
            st.tuples(st.sampled_from(_KEYS), inner).map(lambda kv: t.MapType(True, *kv)),
            st.sampled_from(_KEYS[:2]).map(lambda e: t.MultisetType(True, e)),
            st.lists(inner, min_size=1, max_size=3).map(
                lambda parts: t.RowType(True, tuple(t.DataField(0, f"f{i}", p) for i, p in enumerate(parts)))
            ),
        ),
        max_leaves=4,
    )
    return deep.map(_with_ids)


def _with_ids(data_type: t.DataType) -> t.DataType:
    counter = iter(range(1, 1000))
    return t.reassign_ids(data_type, lambda: next(counter))


def values(data_type: t.DataType) -> st.SearchStrategy[Any]:
    """Values of a type as Arrow takes them, null among them if it may be."""
    made = _values(data_type)
    return st.none() | made if data_type.nullable else made


def _values(data_type: t.DataType) -> st.SearchStrategy[Any]:
    match data_type:
        case t.BooleanType():
            return st.booleans()
        case t.TinyIntType():
            return st.integers(-(2**7), 2**7 - 1)
        case t.SmallIntType():
            return st.integers(-(2**15), 2**15 - 1)
        case t.IntType():
            return st.integers(-(2**31), 2**31 - 1)
        case t.BigIntType():
            return st.integers(-(2**63), 2**63 - 1)
        case t.FloatType():
            return st.floats(width=32, allow_nan=False)
        case t.DoubleType():
            return st.floats(allow_nan=False)
        case t.DateType():
            return st.dates()
        case t.TimeType():
            return st.integers(0, 86_399_999).map(lambda ms: (dt.datetime.min + dt.timedelta(milliseconds=ms)).time())
        case t.DecimalType():
            limit = 10**data_type.precision - 1
            return st.integers(-limit, limit).map(lambda n: Decimal(n).scaleb(-data_type.scale, _EXACT))
        case t.TimestampType() | t.LocalZonedTimestampType():
            nanos = data_type.precision > 6
            step = 10 ** ((9 if nanos else 6) - data_type.precision)
            return (_NANOS if nanos else _MICROS).map(lambda n: abs(n) // step * step * (1 if n >= 0 else -1))
        case t.VarBinaryType() | t.BinaryType():
            return st.binary(max_size=6)
        case t.ArrayType():
            return st.lists(values(data_type.element), max_size=3)
        case t.MapType():
            return _pairs(data_type.key, values(data_type.value))
        case t.MultisetType():
            return _pairs(data_type.element.as_nullable(False), st.integers(1, 9))
        case t.RowType():
            return st.fixed_dictionaries({f.name: values(f.type) for f in data_type.fields})
    return _TEXT


def _pairs(key: t.DataType, value: st.SearchStrategy[Any]) -> st.SearchStrategy[list[tuple[Any, Any]]]:
    return st.dictionaries(values(key.as_nullable(False)), value, max_size=3).map(lambda d: list(d.items()))


@st.composite
def columns(draw: st.DrawFn, *, nanoseconds: bool = True) -> tuple[t.DataField, pa.Array]:
    """A field and an array of its canonical type, cut out of a longer one."""
    data_type = draw(data_types(nanoseconds=nanoseconds))
    listed = draw(st.lists(values(data_type), max_size=8))
    array = pa.array(listed, arrow_type(data_type))
    start = draw(st.integers(0, len(array)))
    return t.DataField(0, "c", data_type), array[start:]
