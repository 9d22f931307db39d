"""The aggregate function ``collect``."""

from __future__ import annotations

from collections import defaultdict, deque

import numpy as np
import pyarrow as pa

from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.merge_engine import FIELD_DISTINCT
from paimon_sql.format.schema.types import ArrayType, DataField
from paimon_sql.storage.expressions.kernels.sorting import Indices, Mask, regrouped
from paimon_sql.storage.merge.aggregates.base import AggregateFunction, Steps
from paimon_sql.storage.merge.aggregates.elements import Entries, array_of, identities


class Collect(AggregateFunction):
    """Concatenates arrays, with ``distinct`` without duplicates (Paimon: `FieldCollectAgg`).

    A retraction removes one element per element of its array, the first of equal ones, as Paimon does.
    """

    name = "collect"
    types = (ArrayType,)
    supported_types = "ARRAY"
    can_retract = True

    def __init__(self, column: DataField, options: TableOptions) -> None:
        super().__init__(column, options)
        self._distinct = options.get(FIELD_DISTINCT, column.name)

    def reduce(self, steps: Steps) -> pa.Array:
        if self.ignores_retract:
            steps = steps.lates_in_front()
        entries = Entries.of(steps)
        needs_codes = self._distinct or steps.effects is not None
        codes = identities(steps.values.values)[entries.positions] if needs_codes else None
        left = entries if codes is None else entries.where(self._retained(steps, entries, codes))
        elements = steps.values.values.take(pa.array(left.positions))
        present = steps.segments.any(steps.valid & ~steps.retracts)
        return array_of(steps.values.type, left.segments.owners, elements, present)

    def _retained(self, steps: Steps, entries: Entries, codes: Indices) -> Mask:
        owners = entries.segments.owners
        retained = np.zeros(len(codes), dtype=np.bool_)
        order, groups, _ = regrouped(entries.segments, codes)
        retained[order[groups.starts] if self._distinct else order] = True
        retracted = steps.retracts[entries.rows]
        for group in np.unique(owners[retracted]):
            begin, end = np.searchsorted(owners, [group, group + 1])
            retained[begin:end] = self._retained_of_key(codes[begin:end].tolist(), retracted[begin:end].tolist())
        return retained

    def _retained_of_key(self, codes: list[int], retracted: list[bool]) -> list[bool]:
        """Return a mask of the elements of one key that remain after retractions."""
        retained = [False] * len(codes)
        positions: dict[int, deque[int]] = defaultdict(deque)
        for i, (code, is_retracted) in enumerate(zip(codes, retracted, strict=True)):
            equal = positions[code]
            if is_retracted and equal:
                retained[equal.popleft()] = False
            elif not is_retracted and not (self._distinct and equal):
                retained[i] = True
                equal.append(i)
        return retained
