"""Columns of which only some inner fields are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.expressions.kernels.conform import conform
from paimon_sql.storage.merge.registry import merge_engine
from paimon_sql.storage.scan.split import DiffSplit, LogSplit, Split
from paimon_sql.storage.table.table import Table


def read_in_parts(table: Table, split: Split, parts: Sequence[DataField]) -> Table:
    """The table as readers of a split see it, which has no more of some columns than is wanted.

    It is the table itself where rows are compared or come from other branches; `only_parts` leaves out then what is
    too much. So it does with columns whose merge functions look into values.

    Args:
        table: the table that the split is of.
        split: the split.
        parts: columns under their names with what is wanted of them.
    """
    if split.table is not None or split.origins or isinstance(split, (LogSplit, DiffSplit)):
        return table
    if table.schema.primary_keys and not split.raw:
        engine = merge_engine(table.schema)
        parts = [f for f in parts if engine.keeps_values(f.name)]
    left = {f.name: f for f in parts}
    fields = tuple(left.get(f.name, f) for f in table.schema.fields)
    narrow = replace(table, schema=replace(table.schema, fields=fields))
    vars(narrow)["schemas"] = table.schemas  # which remembers the versions that files were written under
    return narrow


def only_parts(batch: pa.RecordBatch, parts: Sequence[DataField]) -> pa.RecordBatch:
    """Rows without the inner fields that nobody wants."""
    for field in parts:
        at = batch.schema.get_field_index(field.name)
        kind = arrow_type(field.type)
        if not batch.schema.field(at).type.equals(kind):
            batch = batch.set_column(at, batch.schema.field(at).with_type(kind), conform(batch.column(at), kind))
    return batch
