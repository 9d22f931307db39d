"""The functions nested_update and nested_partial_update: small tables inside a row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_sql.errors import ConstraintViolationError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.merge_engine import (
    FIELD_COUNT_LIMIT,
    FIELD_NESTED_KEY,
    FIELD_NESTED_KEY_NULL_STRATEGY,
    FIELD_NESTED_SEQUENCE_FIELD,
)
from paimon_sql.format.options.values import comma_separated
from paimon_sql.format.schema.types import ArrayType, DataField, DataType, RowType
from paimon_sql.storage.expressions.kernels.segments import NOWHERE, Mask, Segments, regrouped, settled
from paimon_sql.storage.expressions.kernels.sorting import Indices, SortColumn, comparable, sort_order
from paimon_sql.storage.merge.aggregates.base import AggregateFunction, Steps, taken, valid_mask
from paimon_sql.storage.merge.aggregates.elements import Entries, array_of, fields_of, identities, identities_of_fields


class _Nested(AggregateFunction):
    """What the two share: arrays of rows, which may have a key of their own."""

    wants = "ARRAY<ROW<..>>"

    def __init__(self, column: DataField, options: TableOptions) -> None:
        super().__init__(column, options)
        self._key = comma_separated(options.get(FIELD_NESTED_KEY, column.name))
        self._nulls = options.get(FIELD_NESTED_KEY_NULL_STRATEGY, column.name)

    @classmethod
    def takes(cls, data_type: DataType) -> bool:
        return isinstance(data_type, ArrayType) and isinstance(data_type.element, RowType)

    def _rows(self, steps: Steps) -> tuple[Entries, pa.Array]:
        """The nested rows that count, and all that there are: null ones and, as the option has it, null keys do not."""
        entries = Entries.of(steps)
        elements = steps.values.values
        good = valid_mask(elements)
        if self._key and self._nulls != "merge":
            whole = np.ones(len(elements), dtype=np.bool_)
            for child in fields_of(elements, self._key):
                whole &= valid_mask(child)
            if self._nulls == "error" and (good & ~whole)[entries.places].any():
                raise ConstraintViolationError(
                    f"A nested row in column '{self.column.name}' has a null in its key ({', '.join(self._key)}).",
                    remedy=f"Leave such rows out, or set '{FIELD_NESTED_KEY_NULL_STRATEGY.for_name(self.column.name)}'"
                    " to 'ignore' or 'merge'.",
                )
            good = good & whole
        kept = good[entries.places]
        entries = entries if kept.all() else entries.where(kept)
        # Of equal keys in one array the last counts, which is the first to fill in where the array comes late.
        return (entries.backwards(steps.lates) if self._key else entries), elements


class NestedUpdate(_Nested):
    """The nested rows of all arrays: the newest of each nested key, or all of them where there is no nested key.

    With ``nested-sequence-field`` a row gives way only to one whose sequence is not smaller. Taking an array back
    removes its nested keys, without a key all rows that are equal to its own. Beyond ``count-limit`` rows no new ones
    are taken in.
    """

    name = "nested_update"
    can_retract = True

    def __init__(self, column: DataField, options: TableOptions) -> None:
        super().__init__(column, options)
        self._sequence = comma_separated(options.get(FIELD_NESTED_SEQUENCE_FIELD, column.name))
        self._limit = options.get(FIELD_COUNT_LIMIT, column.name)

    def reduce(self, steps: Steps) -> pa.Array:
        entries, elements = self._rows(steps)
        places, owners = self._keyed(steps, entries, elements) if self._key else self._listed(steps, entries, elements)
        present = steps.segments.any(steps.valid & ~steps.retracts)
        within = Segments(owners, steps.segments.count).places < self._limit
        return array_of(steps.values.type, owners[within], elements.take(pa.array(places[within])), present)

    def _keyed(self, steps: Steps, entries: Entries, elements: pa.Array) -> tuple[Indices, Indices]:
        codes = identities_of_fields(elements, self._key)[entries.places]
        order, groups, owners = regrouped(entries.segments, codes)
        places, rows = entries.places[order], entries.rows[order]
        sets, clears, fills = steps.adds[rows], steps.retracts[rows], steps.lates[rows]
        if self._sequence:
            chosen = self._latest(elements, places, groups, clears, fills)
        else:
            chosen = settled(groups, sets, clears, fills)
        found = chosen != NOWHERE
        return places[chosen[found]], owners[found]

    def _latest(self, elements: pa.Array, places: Indices, groups: Segments, clears: Mask, fills: Mask) -> Indices:
        """The row of the greatest sequence behind what was taken back; of equal ones the newest, late ones last."""
        numbers = np.arange(len(groups))
        counts = ~clears & (numbers > groups.last(clears)[groups.owners])
        sequence = [SortColumn(comparable(c.take(pa.array(places)))) for c in fields_of(elements, self._sequence)]
        age = np.where(fills, -1 - numbers, numbers)
        order = sort_order(
            [
                SortColumn(pa.array(groups.owners)),
                SortColumn(pa.array(counts.astype(np.int8))),
                *sequence,
                SortColumn(pa.array(age)),
            ]
        )
        last = order[groups.last()]
        return np.where(counts[last], last, NOWHERE)

    def _listed(self, steps: Steps, entries: Entries, elements: pa.Array) -> tuple[Indices, Indices]:
        back = steps.retracts[entries.rows]
        if back.any():
            codes = identities(elements)[entries.places]
            order, groups, _ = regrouped(entries.segments, codes)
            removed = groups.last(back[order])
            kept = np.zeros(len(order), dtype=np.bool_)
            kept[order] = ~back[order] & (np.arange(len(order)) > removed[groups.owners])
            entries = entries.where(kept)
        if steps.lates.any():
            age = np.where(steps.lates, -1 - steps.segments.places, steps.segments.places)[entries.rows]
            order = np.lexsort((age, entries.segments.owners))
            return entries.places[order], entries.segments.owners
        return entries.places, entries.segments.owners


class NestedPartialUpdate(_Nested):
    """One nested row of each nested key, in each field the newest value that is not null."""

    name = "nested_partial_update"

    def reduce(self, steps: Steps) -> pa.Array:
        entries, elements = self._rows(steps)
        codes = identities_of_fields(elements, self._key)[entries.places]
        order, groups, owners = regrouped(entries.segments, codes)
        rows = elements.take(pa.array(entries.places[order]))
        adds, lates = steps.adds[entries.rows[order]], steps.lates[entries.rows[order]]
        never = np.zeros(len(order), dtype=np.bool_)
        made = []
        for child in rows.flatten():
            valid = valid_mask(child)
            made.append(taken(child, settled(groups, adds & valid, never, lates & valid)))
        merged = pa.StructArray.from_arrays(made, fields=list(rows.type))
        return array_of(steps.values.type, owners, merged, steps.segments.any(steps.valid))
