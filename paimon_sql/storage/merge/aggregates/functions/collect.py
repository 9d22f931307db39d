"""The function collect."""

from __future__ import annotations

from collections import defaultdict, deque

import numpy as np
import pyarrow as pa

from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.merge_engine import FIELD_DISTINCT
from paimon_sql.format.schema.types import ArrayType, DataField, DataType
from paimon_sql.storage.expressions.kernels.segments import Mask, regrouped
from paimon_sql.storage.expressions.kernels.sorting import Indices
from paimon_sql.storage.merge.aggregates.base import AggregateFunction, Steps
from paimon_sql.storage.merge.aggregates.elements import Entries, array_of, identities


class Collect(AggregateFunction):
    """The elements of all arrays in one, with ``distinct`` each value once.

    Taking an array back removes as many elements of each value, of several the first, as Paimon does it.
    """

    name = "collect"
    wants = "ARRAY"
    can_retract = True

    def __init__(self, column: DataField, options: TableOptions) -> None:
        super().__init__(column, options)
        self._distinct = options.get(FIELD_DISTINCT, column.name)

    @classmethod
    def takes(cls, data_type: DataType) -> bool:
        return isinstance(data_type, ArrayType)

    def reduce(self, steps: Steps) -> pa.Array:
        if self.ignores_retract:
            steps = steps.lates_in_front()
        entries = Entries.of(steps)
        codes = identities(steps.values.values)[entries.places] if self._distinct or steps.effects is not None else None
        left = entries if codes is None else entries.where(self._kept(steps, entries, codes))
        elements = steps.values.values.take(pa.array(left.places))
        present = steps.segments.any(steps.valid & ~steps.retracts)
        return array_of(steps.values.type, left.segments.owners, elements, present)

    def _kept(self, steps: Steps, entries: Entries, codes: Indices) -> Mask:
        owners = entries.segments.owners
        kept = np.zeros(len(codes), dtype=np.bool_)
        order, groups, _ = regrouped(entries.segments, codes)
        kept[order[groups.starts] if self._distinct else order] = True
        back = steps.retracts[entries.rows]
        for group in np.unique(owners[back]):
            begin, end = np.searchsorted(owners, [group, group + 1])
            kept[begin:end] = self._left_of(codes[begin:end].tolist(), back[begin:end].tolist())
        return kept

    def _left_of(self, codes: list[int], back: list[bool]) -> list[bool]:
        """Which elements of one key are left, where some are taken back."""
        left = [False] * len(codes)
        known: dict[int, deque[int]] = defaultdict(deque)
        for i, (code, takes) in enumerate(zip(codes, back, strict=True)):
            same = known[code]
            if takes and same:
                left[same.popleft()] = False
            elif not takes and not (self._distinct and same):
                left[i] = True
                same.append(i)
        return left
