"""Searches in global indexes: a condition on one column as keys, a range of keys, or nulls."""

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
from paimon_sql.storage.expressions.array_predicates import ContainsAny
from paimon_sql.storage.expressions.predicates import Comparison, In, IsNull, Predicate, StartsWith


@dataclass(frozen=True, eq=False)
class IndexSearch:
    """A search for rows with some keys, with keys in a range, or with null; or for all other rows.

    Attributes:
        keys: the wanted keys.
        low: the lower bound of the range; None for none.
        high: the upper bound.
        is_range: whether keys of a range are wanted.
        with_low: whether the range includes its lower bound.
        with_high: whether it includes its upper bound.
        nulls: whether rows with null are wanted.
        inverted: whether all other rows are wanted instead.
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
        """Search one index file; the caller inverts the result if ``inverted``."""
        found = reader.nulls() if self.nulls else BitMap64()
        if self.keys is not None:
            found |= reader.among(self.keys)
        if self.is_range:
            found |= reader.between(self.low, self.high, with_low=self.with_low, with_high=self.with_high)
        return found

    def concerns(self, ranges: Sequence[KeyRange], keys: IndexKeys) -> npt.NDArray[np.bool_]:
        """Whether each index file may hold wanted rows, by its key range.

        Raises:
            ValueError: a bound is not a valid key.
        """
        found = np.array([r.has_nulls for r in ranges], np.bool_) & self.nulls
        known = [i for i, r in enumerate(ranges) if r.first is not None and r.last is not None]
        if not known or (self.keys is None and not self.is_range):
            return found
        firsts, lasts = (
            keys.decoded(pa.array(ends, pa.large_binary()))
            for ends in ([ranges[i].first for i in known], [ranges[i].last for i in known])
        )
        overlaps = np.zeros(len(known), np.bool_)
        if self.keys is not None:
            wanted = _numpy(self.keys.take(pc.sort_indices(self.keys)))
            overlaps |= np.searchsorted(wanted, _numpy(firsts)) < np.searchsorted(wanted, _numpy(lasts), side="right")
        if self.is_range:
            inside = np.ones(len(known), np.bool_)
            if self.low is not None:
                inside &= pc.greater_equal(lasts, self.low).to_numpy(zero_copy_only=False)
            if self.high is not None:
                inside &= pc.less_equal(firsts, self.high).to_numpy(zero_copy_only=False)
            overlaps |= inside
        found[known] |= overlaps
        return found


def question(predicate: Predicate, field: DataField) -> IndexSearch | None:
    """The search for a condition on a column; None for conditions that indexes do not support."""
    keys = keys_of(field.type)
    if isinstance(field.type, ArrayType):
        return IndexSearch(keys=keys.equals(predicate.values)) if isinstance(predicate, ContainsAny) else None
    if isinstance(predicate, IsNull):
        return IndexSearch(nulls=True, inverted=predicate.negated)
    if isinstance(predicate, In):
        return IndexSearch(keys=keys.equals(predicate.values))
    if isinstance(predicate, StartsWith) and keys.is_text:
        prefix = predicate.prefix.encode()
        return IndexSearch(low=pa.scalar(prefix, pa.binary()), high=_after(prefix), is_range=True, with_high=False)
    if not isinstance(predicate, Comparison):
        return None
    value, operator = predicate.value, predicate.operator
    if operator in ("=", "!="):
        wanted = keys.equals(pa.array([value.as_py()], value.type))
        return IndexSearch(keys=wanted, nulls=operator == "!=", inverted=operator == "!=")
    bound = keys.bound(value, above=operator in ("<=", ">"))
    if operator in ("<", "<="):
        return IndexSearch(high=bound, is_range=True, with_high=operator == "<=")
    return IndexSearch(low=bound, is_range=True, with_low=operator == ">=")


def _numpy(keys: pa.Array) -> npt.NDArray[Any]:
    """Keys as a NumPy array, for a binary search."""
    return keys.to_numpy() if pa.types.is_integer(keys.type) else np.array(keys.to_pylist(), dtype=object)


def _after(prefix: bytes) -> pa.Scalar | None:
    """The smallest bytes after all that begin with a prefix; None if there are none."""
    head = prefix.rstrip(b"\xff")
    return pa.scalar(head[:-1] + bytes([head[-1] + 1]), pa.binary()) if head else None
