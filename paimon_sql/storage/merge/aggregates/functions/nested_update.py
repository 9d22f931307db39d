"""The aggregate functions ``nested_update`` and ``nested_partial_update``: tables nested in a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from paimon_sql.errors import ConstraintViolationError, PaimonError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table import merge_engine
from paimon_sql.format.options.values import comma_separated
from paimon_sql.format.schema.types import ArrayType, DataField, DataType, RowType
from paimon_sql.storage.expressions.kernels import sorting
from paimon_sql.storage.expressions.kernels.sorting import NOWHERE, Indices, Mask, Segments
from paimon_sql.storage.merge.aggregates.base import AggregateFunction, Steps, taken, unknown_fields, valid_mask
from paimon_sql.storage.merge.aggregates.elements import Entries, array_of, fields_of, identities, identities_of_fields
from paimon_sql.storage.metadata.definition import Definition, conflict


class _Nested(AggregateFunction):
    """Base of functions over arrays of rows, which may have a nested key."""

    supported_types = "ARRAY<ROW<..>>"

    def __init__(self, column: DataField, options: TableOptions) -> None:
        super().__init__(column, options)
        self._key = comma_separated(options.get(merge_engine.FIELD_NESTED_KEY, column.name))
        self._nulls = options.get(merge_engine.FIELD_NESTED_KEY_NULL_STRATEGY, column.name)

    @classmethod
    def supports(cls, data_type: DataType) -> bool:
        return isinstance(data_type, ArrayType) and isinstance(data_type.element, RowType)

    @classmethod
    def problems(cls, table: Definition, column: DataField) -> Iterator[PaimonError]:
        assert isinstance(column.type, ArrayType) and isinstance(column.type.element, RowType)
        for option in (merge_engine.FIELD_NESTED_KEY, merge_engine.FIELD_NESTED_SEQUENCE_FIELD):
            names = table.names_of(option, column.name)
            yield from unknown_fields(option.for_name(column.name), names, column.type.element)
        has_key = table.names_of(merge_engine.FIELD_NESTED_KEY, column.name)
        needed = merge_engine.FIELD_NESTED_KEY.for_name(column.name)
        for dependent in (merge_engine.FIELD_NESTED_SEQUENCE_FIELD, merge_engine.FIELD_NESTED_KEY_NULL_STRATEGY):
            if not has_key and table.options.has(dependent, column.name):
                yield conflict(dependent.for_name(column.name), f"needs '{needed}'.", f"Set '{needed}' too.")

    def _rows(self, steps: Steps) -> tuple[Entries, pa.Array]:
        """Return the nested rows that count, and all; null rows, and null keys unless an option allows them, do not."""
        entries = Entries.of(steps)
        elements = steps.values.values
        valid = valid_mask(elements)
        if self._key and self._nulls != "merge":
            has_key = np.ones(len(elements), dtype=np.bool_)
            for child in fields_of(elements, self._key):
                has_key &= valid_mask(child)
            if self._nulls == "error" and (valid & ~has_key)[entries.positions].any():
                option = merge_engine.FIELD_NESTED_KEY_NULL_STRATEGY.for_name(self.column.name)
                raise ConstraintViolationError(
                    f"A nested row in column '{self.column.name}' has a null in its key ({', '.join(self._key)}).",
                    remedy=f"Leave such rows out, or set '{option}' to 'ignore' or 'merge'.",
                )
            valid = valid & has_key
        counts = valid[entries.positions]
        entries = entries if counts.all() else entries.where(counts)
        # Of equal keys in one array the last counts; `settled` fills in with the first of late rows, hence backwards.
        return (entries.backwards(steps.lates) if self._key else entries), elements


class NestedUpdate(_Nested):
    """The nested rows of all arrays: the newest per nested key, or all without a nested key.

    With ``nested-sequence-field`` a row is only replaced by one whose sequence is not smaller. A retraction removes its
    nested keys, or without nested keys all rows equal to its own. Rows beyond ``count-limit`` are not added.
    """

    name = "nested_update"
    can_retract = True

    def __init__(self, column: DataField, options: TableOptions) -> None:
        super().__init__(column, options)
        self._sequence = comma_separated(options.get(merge_engine.FIELD_NESTED_SEQUENCE_FIELD, column.name))
        self._limit = options.get(merge_engine.FIELD_COUNT_LIMIT, column.name)

    def reduce(self, steps: Steps) -> pa.Array:
        entries, elements = self._rows(steps)
        select = self._keyed if self._key else self._listed
        positions, owners = select(steps, entries, elements)
        present = steps.segments.any(steps.valid & ~steps.retracts)
        within = Segments(owners, steps.segments.count).places < self._limit
        return array_of(steps.values.type, owners[within], elements.take(pa.array(positions[within])), present)

    def _keyed(self, steps: Steps, entries: Entries, elements: pa.Array) -> tuple[Indices, Indices]:
        codes = identities_of_fields(elements, self._key)[entries.positions]
        order, groups, owners = sorting.regrouped(entries.segments, codes)
        positions, rows = entries.positions[order], entries.rows[order]
        sets, clears, fills = steps.adds[rows], steps.retracts[rows], steps.lates[rows]
        if self._sequence:
            values = [column.take(pa.array(positions)) for column in fields_of(elements, self._sequence)]
            chosen = self._latest(values, groups, clears, fills)
        else:
            chosen = sorting.settled(groups, sets, clears, fills)
        found = chosen != NOWHERE
        return positions[chosen[found]], owners[found]

    def _latest(self, sequence: Sequence[pa.Array], groups: Segments, clears: Mask, fills: Mask) -> Indices:
        """Return the row of the max sequence after the last retraction; of equal ones the newest, late ones last."""
        numbers = np.arange(len(groups))
        counts = ~clears & (numbers > groups.last(clears)[groups.owners])
        age = pa.array(np.where(fills, -1 - numbers, numbers))
        begin = [pa.array(groups.owners), pa.array(counts.astype(np.int8))]
        order = sorting.sort_order(list(map(sorting.SortColumn, [*begin, *map(sorting.comparable, sequence), age])))
        last = order[groups.last()]
        return np.where(counts[last], last, NOWHERE)

    def _listed(self, steps: Steps, entries: Entries, elements: pa.Array) -> tuple[Indices, Indices]:
        retracted = steps.retracts[entries.rows]
        if retracted.any():
            codes = identities(elements)[entries.positions]
            order, groups, _ = sorting.regrouped(entries.segments, codes)
            removed = groups.last(retracted[order])
            retained = np.zeros(len(order), dtype=np.bool_)
            retained[order] = ~retracted[order] & (np.arange(len(order)) > removed[groups.owners])
            entries = entries.where(retained)
        if steps.lates.any():
            age = np.where(steps.lates, -1 - steps.segments.places, steps.segments.places)[entries.rows]
            order = np.lexsort((age, entries.segments.owners))
            return entries.positions[order], entries.segments.owners
        return entries.positions, entries.segments.owners


class NestedPartialUpdate(_Nested):
    """One nested row per nested key, with the newest non-null value of each field."""

    name = "nested_partial_update"

    @classmethod
    def problems(cls, table: Definition, column: DataField) -> Iterator[PaimonError]:
        if not table.names_of(merge_engine.FIELD_NESTED_KEY, column.name):
            key = merge_engine.FIELD_NESTED_KEY.for_name(column.name)
            yield conflict(key, f"is needed by '{cls.name}' of column '{column.name}'.")
        yield from super().problems(table, column)

    def reduce(self, steps: Steps) -> pa.Array:
        entries, elements = self._rows(steps)
        codes = identities_of_fields(elements, self._key)[entries.positions]
        order, groups, owners = sorting.regrouped(entries.segments, codes)
        rows = elements.take(pa.array(entries.positions[order]))
        adds, lates = steps.adds[entries.rows[order]], steps.lates[entries.rows[order]]
        never = np.zeros(len(order), dtype=np.bool_)
        made = []
        for child in rows.flatten():
            valid = valid_mask(child)
            made.append(taken(child, sorting.settled(groups, adds & valid, never, lates & valid)))
        merged = pa.StructArray.from_arrays(made, fields=list(rows.type))
        return array_of(steps.values.type, owners, merged, steps.segments.any(steps.valid))
