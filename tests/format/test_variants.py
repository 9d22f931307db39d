"""Variants taken apart and put together again: nothing is lost, whatever the values and the shapes.

PySpark's own reader of single variants judges.
"""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal, localcontext
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.variant_utils import VariantUtils

from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.variant.encode import encoded
from paimon_sql.format.variant.shredding.shred import assemble, group_type, shred

VARIANT = arrow_type(t.VariantType())
NO_KEYS = bytes([1, 0, 0])
UTC = dt.timezone.utc


def variants(*documents: str | None) -> pa.StructArray:
    """A column of variants out of JSON; None is null."""
    pairs = [None if d is None else VariantUtils.parse_json(d) for d in documents]
    return pa.array([p and {"value": p[0], "metadata": p[1]} for p in pairs], VARIANT)


def plain(column: pa.StructArray) -> list[Any]:
    """The values as Python has them."""
    with localcontext() as precise:
        precise.prec = 50
        return [v and VariantUtils.to_python(v["value"], v["metadata"]) for v in column.to_pylist()]


def row(**fields: t.DataType) -> t.RowType:
    """A shape of objects."""
    return t.RowType(True, tuple(t.DataField(i, name, kind) for i, (name, kind) in enumerate(fields.items())))


def round_trip(column: pa.StructArray, shape: t.DataType) -> pa.StructArray:
    """The column taken apart and put together."""
    apart = shred(column, shape)
    assert apart.type == arrow_type(group_type(shape, top=True))
    apart.validate(full=True)
    together = assemble(apart, VARIANT)
    together.validate(full=True)
    return together


LONG, TEXT, VALUE = t.BigIntType(), t.string_type(), t.VariantType()
DOCUMENTS = [
    '{"a": 1, "b": "x", "c": [1, 2]}',
    '{"a": "no number", "b": 2, "c": {"d": 1}, "e": {"f": null}}',
    '{"b": null}',
    "{}",
    None,
    "null",
    "7",
    '"text"',
    "[]",
    '[1, "x", null, {"a": 5}, []]',
    '{"a": 9007199254740993, "z": {"y": {"x": [{"w": 1.25}]}}}',
    '{"a": 1.0, "b": "ünï☃", "ключ": "значение", "": 0}',
    '{"c": [[1], [2, 3], []], "a": true}',
    json.dumps({f"k{i}": i for i in range(300)}),
    json.dumps(["y" * 70_000, list(range(300))]),
]
SHAPES: list[t.DataType] = [
    VALUE,
    LONG,
    TEXT,
    t.BooleanType(),
    row(a=LONG),
    row(a=TEXT, b=TEXT, c=t.ArrayType(True, LONG)),
    row(a=t.DecimalType(True, 20, 3), c=row(d=t.TinyIntType()), e=row(f=VALUE), nowhere=row(x=LONG)),
    row(c=t.ArrayType(True, t.ArrayType(True, t.SmallIntType())), k7=LONG, k299=t.DoubleType()),
    row(z=row(y=row(x=t.ArrayType(True, row(w=t.DecimalType(True, 4, 2)))))),
    row(**{"ключ": TEXT, "": LONG, "b": VALUE}),
    t.ArrayType(True, VALUE),
    t.ArrayType(True, row(a=LONG)),
    t.ArrayType(True, t.ArrayType(True, LONG)),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_nothing_is_lost(shape: t.DataType) -> None:
    column = variants(*DOCUMENTS)
    assert plain(round_trip(column, shape)) == plain(column)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_columns_without_values_and_stretches_of_columns_are_taken_apart(shape: t.DataType) -> None:
    assert len(round_trip(variants(), shape)) == 0
    assert round_trip(variants(None, None), shape).null_count == 2
    column = variants(*DOCUMENTS)
    assert plain(round_trip(column.slice(3, 9), shape)) == plain(column)[3:12]
    apart = shred(column, shape)
    assert plain(assemble(apart.slice(2, 8), VARIANT)) == plain(column)[2:10]


def test_values_go_into_the_columns_of_their_types() -> None:
    column = variants('{"a": 1, "b": "x", "rest": 2}', '{"a": "y"}', '{"a": null, "b": 3}', "5", None)
    apart = shred(column, row(a=LONG, b=TEXT))
    typed = apart.field("typed_value")
    assert typed.is_valid().to_pylist() == [True, True, True, False, False]
    a, b = typed.field("a"), typed.field("b")
    assert a.field("typed_value").to_pylist()[:3] == [1, None, None]
    assert a.field("value").to_pylist()[:3] == [None, bytes([1 << 2 | 1]) + b"y", b"\0"]
    assert b.field("typed_value").to_pylist()[:3] == ["x", None, None]
    # A field that is missing is null in both of its columns, a null stands as a variant.
    assert b.field("value").to_pylist()[:3] == [None, None, bytes([3 << 2, 3])]
    left = apart.field("value").to_pylist()
    assert left[1:3] == [None, None]
    assert left[3] == bytes([3 << 2, 5])
    assert VariantUtils.to_python(left[0], column.field("metadata")[0].as_py()) == {"rest": 2}


NUMBERS = ["1", "-1", "127", "128", "-129", "32768", "2147483648", "9223372036854775807", "-9223372036854775808"]
FRACTIONS = ["1.0", "1.5", "-0.001", "123456789.123456789", "99999999999999999999999999999999999999", "1e300", "0.0"]
MANY = "12345678901234567890.125"


@pytest.mark.parametrize(
    ("shape", "fitting"),
    [
        (t.TinyIntType(), ["1", "-1", "127", "1.0", "0.0"]),
        (t.SmallIntType(), ["1", "-1", "127", "128", "-129", "1.0", "0.0"]),
        (t.IntType(), ["1", "-1", "127", "128", "-129", "32768", "1.0", "0.0"]),
        (LONG, [*NUMBERS, "1.0", "0.0"]),
        (t.DecimalType(True, 4, 1), ["1", "-1", "127", "128", "-129", "1.0", "1.5", "0.0"]),
        (t.DecimalType(True, 18, 9), [*NUMBERS[:6], "1.0", "1.5", "-0.001", "123456789.123456789", "0.0"]),
        (t.DecimalType(True, 38, 0), [*NUMBERS, "1.0", "0.0", "99999999999999999999999999999999999999"]),
        (t.DecimalType(True, 38, 18), [*NUMBERS, MANY, "1.0", "1.5", "-0.001", "123456789.123456789", "0.0"]),
        (t.DoubleType(), ["1e300"]),
    ],
    ids=str,
)
def test_numbers_go_where_they_fit_exactly(shape: t.DataType, fitting: list[str]) -> None:
    documents = [*NUMBERS, *FRACTIONS, MANY]
    column = variants(*documents)
    typed = shred(column, shape).field("typed_value")
    assert {d for d, there in zip(documents, typed.is_valid().to_pylist(), strict=True) if there} == set(fitting)
    assert plain(round_trip(column, shape)) == plain(column)


TYPED: list[tuple[t.DataType, list[Any]]] = [
    (t.BooleanType(), [True, False]),
    (t.TinyIntType(), [-128, 127]),
    (t.SmallIntType(), [-32768, 32767]),
    (t.IntType(), [-(2**31), 2**31 - 1]),
    (LONG, [-(2**63), 2**63 - 1, 0]),
    (t.FloatType(), [1.5, -0.0]),
    (t.DoubleType(), [1e300, -2.5]),
    (t.DecimalType(True, 9, 2), [Decimal("-9999999.99"), Decimal("0.01")]),
    (t.DecimalType(True, 18, 10), [Decimal("12345678.0123456789"), Decimal("1")]),
    (t.DecimalType(True, 38, 5), [Decimal("-123456789012345678901234567890123.45678"), Decimal("2.5")]),
    (TEXT, ["", "short", "x" * 63, "ü" * 32, "y" * 70_000]),
    (t.bytes_type(), [b"", b"\0\xff", b"z" * 300]),
    (t.DateType(), [dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
    (t.TimestampType(), [dt.datetime(1969, 12, 31, 23, 59, 59, 1), dt.datetime(2024, 2, 29)]),
    (t.LocalZonedTimestampType(), [dt.datetime(1950, 1, 1, 0, 0, 0, 5, UTC), dt.datetime(2024, 2, 29, tzinfo=UTC)]),
]


@pytest.mark.parametrize(("kind", "values"), TYPED, ids=str)
def test_values_of_each_type_are_read_as_they_are(kind: t.DataType, values: list[Any]) -> None:
    column = pa.array([*values, None], arrow_type(kind))
    made = encoded(column)
    assert made[len(values)].as_py() is None
    whole = pa.StructArray.from_arrays([made, pa.array([NO_KEYS] * len(made))], fields=list(VARIANT))
    assert plain(whole.slice(0, len(values))) == values
    apart = shred(whole.slice(0, len(values)), kind)
    assert apart.field("typed_value").to_pylist() == values
    assert apart.field("value").null_count == len(values)


@pytest.mark.parametrize(("kind", "values"), TYPED, ids=str)
def test_values_of_each_type_stay_whole_beside_columns_of_another(kind: t.DataType, values: list[Any]) -> None:
    made = encoded(pa.array(values, arrow_type(kind)))
    whole = pa.StructArray.from_arrays([made, pa.array([NO_KEYS] * len(made))], fields=list(VARIANT))
    other = t.BooleanType() if kind != t.BooleanType() else TEXT
    apart = shred(whole, other)
    assert apart.field("typed_value").null_count == len(values)
    assert apart.field("value").equals(made)


def test_kinds_of_values_that_no_column_takes_are_carried() -> None:
    uuid, time, nanos = bytes([20 << 2]) + bytes(range(16)), bytes([17 << 2]) + bytes(8), bytes([18 << 2]) + bytes(8)
    whole = pa.array([{"value": v, "metadata": NO_KEYS} for v in (uuid, time, nanos)], VARIANT)
    for shape in (LONG, TEXT, t.TimestampType(), row(a=LONG), t.ArrayType(True, LONG)):
        assert round_trip(whole, shape).equals(whole)


def test_columns_that_others_wrote_are_put_together() -> None:
    nanos = pa.array([5, None], pa.timestamp("ns", "UTC"))
    time = pa.array([None, 7], pa.time64("us"))
    uuid = pa.array([bytes(range(16)), None], pa.binary(16))
    for typed, head in ((nanos, 18), (time, 17), (uuid, 20)):
        apart = pa.StructArray.from_arrays(
            [pa.array([NO_KEYS] * 2), typed.is_null().cast(pa.int8()).cast(pa.string()).cast(pa.binary()), typed],
            ["metadata", "value", "typed_value"],
        )
        there = typed.is_valid().to_pylist().index(True)
        assert assemble(apart, VARIANT).field("value")[there].as_py()[0] == head << 2


def test_what_is_missing_where_a_value_must_be_is_the_variant_null() -> None:
    group = pa.struct([("value", pa.binary()), ("typed_value", pa.int64())])
    apart = pa.array(
        [{"metadata": NO_KEYS, "value": None, "typed_value": [{"value": None, "typed_value": None}]}],
        pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", pa.list_(group))]),
    )
    assert plain(assemble(apart, VARIANT)) == [[None]]
    nothing = pa.array(
        [{"metadata": NO_KEYS, "value": None}], pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
    )
    assert plain(assemble(nothing, VARIANT)) == [None]


def test_keys_of_columns_that_a_dictionary_lacks_are_added() -> None:
    group = pa.struct([("value", pa.binary()), ("typed_value", pa.int64())])
    apart = pa.array(
        [{"metadata": NO_KEYS, "value": None, "typed_value": {"b": {"typed_value": 2}, "a": {"typed_value": 1}}}],
        pa.struct(
            [
                ("metadata", pa.binary()),
                ("value", pa.binary()),
                ("typed_value", pa.struct([("b", group), ("a", group)])),
            ]
        ),
    )
    assert plain(assemble(apart, VARIANT)) == [{"a": 1, "b": 2}]


@pytest.mark.parametrize(
    ("value", "metadata"),
    [
        (bytes([50 << 2]), NO_KEYS),  # no such type
        (bytes([2, 1, 9, 0, 1, 0]), NO_KEYS),  # a key that is not in the dictionary
        (bytes([2, 200]), NO_KEYS),  # cut off
        (b"", NO_KEYS),
        (b"\0", bytes([2, 0, 0])),  # another version
    ],
)
def test_malformed_variants_are_refused(value: bytes, metadata: bytes) -> None:
    with pytest.raises((ValueError, LookupError)):
        round_trip(pa.array([{"value": value, "metadata": metadata}], VARIANT), row(a=LONG))


_KEYS = st.sampled_from(["a", "b", "c", "ü", "key with spaces", "", "𝄞", "\uffee"])
_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.integers(-300, 300)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=70)
    | st.decimals(-(10**20), 10**20, places=4, allow_nan=False).map(str).map(json.loads)
)
_DOCUMENTS = st.recursive(
    _LEAVES, lambda v: st.lists(v, max_size=4) | st.dictionaries(_KEYS, v, max_size=5), max_leaves=20
)
_ATOMS = st.sampled_from(
    [VALUE, LONG, TEXT, t.BooleanType(), t.DoubleType(), t.TinyIntType(), t.DecimalType(True, 18, 4)]
)
_SHAPES = st.recursive(
    _ATOMS,
    lambda s: (
        st.builds(lambda e: t.ArrayType(True, e), s)
        | st.dictionaries(_KEYS, s, min_size=1, max_size=4).map(lambda fields: row(**fields))
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.none() | _DOCUMENTS.map(json.dumps), max_size=8), _SHAPES)
def test_any_values_survive_any_shape(documents: list[str | None], shape: t.DataType) -> None:
    column = variants(*documents)
    together = round_trip(column, shape)
    assert plain(together) == plain(column)
    assert together.is_valid().equals(column.is_valid())
