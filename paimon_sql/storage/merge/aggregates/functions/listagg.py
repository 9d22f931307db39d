"""The aggregate function ``listagg``."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.merge_engine import FIELD_DISTINCT, FIELD_LIST_AGG_DELIMITER
from paimon_sql.format.schema.types import MAX_LENGTH, DataField, DataType, VarCharType
from paimon_sql.storage.expressions.kernels.sorting import Indices, Mask, Segments, regrouped
from paimon_sql.storage.merge.aggregates.base import AggregateFunction, Steps
from paimon_sql.storage.merge.aggregates.elements import Entries, array_of, identities

_BLANK = r"^[\t-\r\x1c-\x20\x{1680}\x{2000}-\x{2006}\x{2008}-\x{200a}\x{2028}\x{2029}\x{205f}\x{3000}]*$"
"""Strings that Java treats as white space."""


class ListAgg(AggregateFunction):
    """Joins strings with a delimiter; blank ones are skipped (Paimon: `FieldListaggAgg`).

    With ``distinct``, parts between delimiters that are blank or already present are not appended.
    """

    name = "listagg"
    supported_types = "STRING"

    def __init__(self, column: DataField, options: TableOptions) -> None:
        super().__init__(column, options)
        self._delimiter = options.get(FIELD_LIST_AGG_DELIMITER, column.name)
        self._distinct = options.get(FIELD_DISTINCT, column.name)

    @classmethod
    def supports(cls, data_type: DataType) -> bool:
        return isinstance(data_type, VarCharType) and data_type.length == MAX_LENGTH

    def reduce(self, steps: Steps) -> pa.Array:
        steps = steps.where(steps.valid & ~_blank(steps.values)).lates_in_front()
        segments, strings = steps.segments, steps.values
        if self._distinct:
            segments, strings = self._parts(segments, strings)
        lists = array_of(pa.list_(strings.type), segments.owners, strings, segments.counts() > 0)
        return pc.binary_join(lists, self._delimiter)

    def _parts(self, segments: Segments, strings: pa.Array) -> tuple[Segments, pa.Array]:
        """Return the first string of each key unchanged, and the new parts of the others."""
        tokens = pc.split_pattern(strings, self._delimiter or " ")
        entries = Entries.of(Steps(tokens, segments))
        parts = tokens.values.take(pa.array(entries.positions))
        order, groups, _ = regrouped(entries.segments, identities(parts))
        fresh = np.zeros(len(order), dtype=np.bool_)
        fresh[order[groups.starts]] = True
        fresh &= (segments.places > 0)[entries.rows] & ~_blank(parts)
        firsts = np.flatnonzero(segments.places == 0)
        rows: Indices = np.concatenate([firsts, entries.rows[fresh]])
        in_order = np.argsort(rows, kind="stable")
        pieces = pa.concat_arrays([strings.take(pa.array(firsts)), parts.filter(pa.array(fresh))])
        return Segments(segments.owners[rows[in_order]], segments.count), pieces.take(pa.array(in_order))


def _blank(strings: pa.Array) -> Mask:
    found: Mask = pc.fill_null(pc.match_substring_regex(strings, _BLANK), True).to_numpy(zero_copy_only=False)
    return found
