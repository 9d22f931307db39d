"""The aggregate functions ``merge_map`` and ``merge_map_with_keytime``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from paimon_sql.errors import PaimonError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.merge_engine import FIELD_TS_FIELD
from paimon_sql.format.schema.types import CharType, DataField, DataType, MapType, RowType, VarCharType
from paimon_sql.storage.expressions.kernels import sorting
from paimon_sql.storage.expressions.kernels.sorting import NOWHERE, Indices, Mask, Segments
from paimon_sql.storage.merge.aggregates.base import AggregateFunction, Steps, unknown_fields, valid_mask
from paimon_sql.storage.merge.aggregates.elements import Entries, fields_of, identities, map_of
from paimon_sql.storage.metadata.definition import Definition, conflict


class MergeMap(AggregateFunction):
    """The union of maps, with the newest value per map key; a retraction removes its keys."""

    name = "merge_map"
    types = (MapType,)
    supported_types = "MAP"
    can_retract = True

    def reduce(self, steps: Steps) -> pa.Array:
        entries = Entries.of(steps)
        codes = identities(steps.values.keys)[entries.positions]
        order, groups, owners = sorting.regrouped(entries.segments, codes)
        rows = entries.rows[order]
        chosen = sorting.settled(groups, steps.adds[rows], steps.retracts[rows], steps.lates[rows])
        present = steps.segments.any(steps.valid & ~steps.retracts)
        return _map_of_chosen(steps, entries.positions[order], chosen, owners, present)


class MergeMapWithKeytime(AggregateFunction):
    """The union of maps of rows, with the row of the max time per map key; a null row removes the key.

    The time is a string field of the rows: ``fields.<column>.ts-field``, by default the last one. Rows without a time
    do not replace others.
    """

    name = "merge_map_with_keytime"
    supported_types = "MAP of rows with two fields or more"

    def __init__(self, column: DataField, options: TableOptions) -> None:
        super().__init__(column, options)
        self._time = options.get(FIELD_TS_FIELD, column.name)

    @classmethod
    def supports(cls, data_type: DataType) -> bool:
        return (
            isinstance(data_type, MapType) and isinstance(data_type.value, RowType) and len(data_type.value.fields) >= 2
        )

    @classmethod
    def problems(cls, table: Definition, column: DataField) -> Iterator[PaimonError]:
        assert isinstance(column.type, MapType) and isinstance(column.type.value, RowType)
        key, row = FIELD_TS_FIELD.for_name(column.name), column.type.value
        named = table.names_of(FIELD_TS_FIELD, column.name) or (row.names[-1],)
        yield from unknown_fields(key, named, row)
        for member in row.fields:
            if member.name in named and not isinstance(member.type, (CharType, VarCharType)):
                yield conflict(key, f"is '{member.name}' of type {member.type.sql()}.", "It must be a STRING.")

    def reduce(self, steps: Steps) -> pa.Array:
        steps = steps.lates_in_front()
        entries = Entries.of(steps)
        codes = identities(steps.values.keys)[entries.positions]
        order, groups, owners = sorting.regrouped(entries.segments, codes)
        positions, rows = entries.positions[order], entries.rows[order]
        # The first map is the accumulated value: its entries are taken unchanged.
        is_first = rows == steps.segments.first(steps.valid)[steps.segments.owners[rows]]
        chosen = self._chosen(steps.values.items.take(pa.array(positions)), groups, is_first)
        return _map_of_chosen(steps, positions, chosen, owners, steps.segments.any(steps.valid))

    def _chosen(self, items: pa.Array, groups: Segments, is_first: Mask) -> Indices:
        time = self._time or items.type[items.type.num_fields - 1].name
        times = fields_of(items, [time])[0]
        timed = valid_mask(times)
        removed = groups.last(~valid_mask(items) & ~is_first)
        counts = (timed | is_first) & (np.arange(len(groups)) > removed[groups.owners])
        rank = np.where(timed, sorting.ordinals(times) + 1, 0)
        # Of equal times the earliest row wins.
        best = np.lexsort((-np.arange(len(groups)), rank, counts, groups.owners))
        last = best[groups.last()]
        return np.where(counts[last], last, NOWHERE)


def _map_of_chosen(steps: Steps, positions: Indices, chosen: Indices, owners: Indices, present: Mask) -> pa.Array:
    """Build maps of the chosen entries."""
    found = chosen != NOWHERE
    taken = pa.array(positions[chosen[found]])
    keys, items = steps.values.keys.take(taken), steps.values.items.take(taken)
    return map_of(steps.values.type, owners[found], keys, items, present)
