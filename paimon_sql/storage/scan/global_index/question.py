"""What a condition on one column asks of the global indexes over it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from paimon_sql.format.global_index.base import GlobalIndexReader
from paimon_sql.format.global_index.keys import IndexKeys, keys_of
from paimon_sql.format.global_index.meta import KeyRange
from paimon_sql.format.schema.types import ArrayType, DataField
from paimon_sql.storage.expressions.array_predicates import HoldsAny
from paimon_sql.storage.expressions.predicates import Comparison, In, IsNull, Predicate, StartsWith


@dataclass(frozen=True, eq=False)
class Question:
    """The rows without a value, those with some keys, those with keys of a range, or all other rows.

    Attributes:
        keys: the keys asked for.
        low: the least key of the range; None for no end.
        high: the greatest.
        is_range: whether a range is asked for.
        with_low: whether the least key itself counts.
        with_high: whether the greatest does.
        nulls: whether rows without a value are asked for.
        inverted: whether all rows but these are meant.
    """

    keys: pa.Array | None = None
    low: pa.Scalar | None = None
    high: pa.Scalar | None = None
    is_range: bool = False
    with_low: bool = True
    with_high: bool = True
    nulls: bool = False
    inverted: bool = False

    def ask(self, reader: GlobalIndexReader) -> BitMap64:
        """The rows of one index file; what ``inverted`` says is left to the caller."""
        found = reader.nulls() if self.nulls else BitMap64()
        if self.keys is not None:
            found |= reader.among(self.keys)
        if self.is_range:
            found |= reader.between(self.low, self.high, with_low=self.with_low, with_high=self.with_high)
        return found

    def concerns(self, held: Sequence[KeyRange], keys: IndexKeys) -> npt.NDArray[np.bool_]:
        """Of index files, by their ranges of keys, which may hold such rows.

        Raises:
            ValueError: a range holds bytes of no key.
        """
        found = np.array([r.has_nulls for r in held], np.bool_) & self.nulls
        known = [i for i, r in enumerate(held) if r.first is not None and r.last is not None]
        if not known or (self.keys is None and not self.is_range):
            return found
        firsts, lasts = (
            keys.decoded(pa.array(ends, pa.large_binary()))
            for ends in ([held[i].first for i in known], [held[i].last for i in known])
        )
        here = np.zeros(len(known), np.bool_)
        if self.keys is not None:
            wanted = _plain(self.keys.take(pc.sort_indices(self.keys)))
            here |= np.searchsorted(wanted, _plain(firsts)) < np.searchsorted(wanted, _plain(lasts), side="right")
        if self.is_range:
            inside = np.ones(len(known), np.bool_)
            if self.low is not None:
                inside &= pc.greater_equal(lasts, self.low).to_numpy(zero_copy_only=False)
            if self.high is not None:
                inside &= pc.less_equal(firsts, self.high).to_numpy(zero_copy_only=False)
            here |= inside
        found[known] |= here
        return found


def question(predicate: Predicate, field: DataField) -> Question | None:
    """What a condition on a column asks; None for conditions that indexes do not answer."""
    keys = keys_of(field.type)
    if isinstance(field.type, ArrayType):
        return Question(keys=keys.equals(predicate.values)) if isinstance(predicate, HoldsAny) else None
    if isinstance(predicate, IsNull):
        return Question(nulls=True, inverted=predicate.negated)
    if isinstance(predicate, In):
        return Question(keys=keys.equals(predicate.values))
    if isinstance(predicate, StartsWith) and keys.is_text:
        prefix = predicate.prefix.encode()
        return Question(low=pa.scalar(prefix, pa.binary()), high=_behind(prefix), is_range=True, with_high=False)
    if not isinstance(predicate, Comparison):
        return None
    value, operator = predicate.value, predicate.operator
    if operator in ("=", "!="):
        wanted = keys.equals(pa.array([value.as_py()], value.type))
        return Question(keys=wanted, nulls=operator == "!=", inverted=operator == "!=")
    bound = keys.bound(value, above=operator in ("<=", ">"))
    if operator in ("<", "<="):
        return Question(high=bound, is_range=True, with_high=operator == "<=")
    return Question(low=bound, is_range=True, with_low=operator == ">=")


def _plain(keys: pa.Array) -> npt.NDArray[Any]:
    """Keys as an array that NumPy searches."""
    return keys.to_numpy() if pa.types.is_integer(keys.type) else np.array(keys.to_pylist(), dtype=object)


def _behind(prefix: bytes) -> pa.Scalar | None:
    """The least bytes behind all that begin with a prefix; None if there are none."""
    kept = prefix.rstrip(b"\xff")
    return pa.scalar(kept[:-1] + bytes([kept[-1] + 1]), pa.binary()) if kept else None
