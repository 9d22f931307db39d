from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from paimon_sql.format.file_index.declared import DeclaredIndex
from paimon_sql.format.file_index.registry import KINDS
from paimon_sql.format.options import TableOptions
from paimon_sql.storage.expressions.predicates import Comparison, In, IsNull, OfMapKey

MAPS = st.none() | st.dictionaries(st.sampled_from("abc"), st.none() | st.integers(0, 3))
ONE = pa.scalar(1, pa.int32())


@given(st.lists(MAPS, max_size=8), st.integers(0, 8), st.integers(0, 8))
def test_conditions_look_under_the_key(maps: list[dict[str, int | None] | None], first: int, count: int) -> None:
    kind = pa.map_(pa.string(), pa.int32())
    column = pa.array([None if m is None else list(m.items()) for m in maps], kind).slice(first, count)
    values = [None if m is None else m.get("a") for m in maps][first : first + count]
    equal = OfMapKey("m", "a", Comparison(OfMapKey.VALUE, "=", ONE))
    assert equal.evaluate({"m": column}).to_pylist() == [None if v is None else v == 1 for v in values]
    opposite = equal.negate()
    assert opposite is not None
    assert opposite.evaluate({"m": column}).to_pylist() == [None if v is None else v != 1 for v in values]
    null = OfMapKey("m", "a", IsNull(OfMapKey.VALUE))
    assert null.evaluate({"m": column}).to_pylist() == [v is None for v in values]
    indexed = DeclaredIndex(KINDS["bitmap"], "m", "a", TableOptions({})).values_in(column)
    assert indexed.to_pylist() == values


def test_a_condition_is_told_with_the_key() -> None:
    assert str(OfMapKey("m", "a", Comparison(OfMapKey.VALUE, "<", ONE))) == "m[a] < 1"
    assert OfMapKey("m", "a", In(OfMapKey.VALUE, pa.array([1]))).negate() is None
    assert OfMapKey("m", "a", IsNull(OfMapKey.VALUE)).columns() == {"m"}
