"""Values that readers take for equal are told to be in one bucket only where their bits are equal, too."""

from __future__ import annotations

import pytest

from paimon_sql.format.schema import types as t
from paimon_sql.storage.write.buckets.reported_partitioning import Bucketing, form_of


@pytest.mark.parametrize(
    "data_type",
    [
        t.FloatType(),
        t.DoubleType(),
        t.CharType(True, 3),
        t.BinaryType(True, 3),
        t.TimestampType(True, 9),
        t.LocalZonedTimestampType(True, 7),
        t.TimeType(True, 3),
        t.ArrayType(True, t.IntType()),
    ],
    ids=lambda kind: kind.sql(),
)
def test_types_of_several_forms_have_none(data_type: t.DataType) -> None:
    assert form_of(data_type) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (t.IntType(), t.BigIntType()),
        (t.DecimalType(True, 9, 2), t.DecimalType(True, 9, 3)),
        (t.DecimalType(True, 18, 2), t.DecimalType(True, 19, 2)),
        (t.TimestampType(True, 3), t.TimestampType(True, 6)),
        (t.TimestampType(True, 6), t.LocalZonedTimestampType(True, 6)),
        (t.string_type(), t.VarBinaryType(True, 10)),
    ],
)
def test_types_whose_bits_differ_are_not_alike(one: t.DataType, other: t.DataType) -> None:
    first, second = (form_of(kind) for kind in (one, other))
    assert first is not None and second is not None and first != second
    assert not Bucketing("a", "default", first, 4).is_like(Bucketing("a", "default", second, 4))


@pytest.mark.parametrize(
    ("one", "other"),
    [(t.IntType(), t.IntType(False)), (t.VarCharType(True, 9), t.string_type()), (t.DateType(), t.DateType(False))],
)
def test_neither_nulls_nor_lengths_make_a_difference(one: t.DataType, other: t.DataType) -> None:
    assert form_of(one) == form_of(other)
    assert Bucketing("a", "mod", "INT", 4).is_like(Bucketing("b", "mod", "INT", 8))
    assert not Bucketing("a", "mod", "INT", 4).is_like(Bucketing("a", "default", "INT", 4))
