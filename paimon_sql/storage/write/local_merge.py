"""Rows of one key merged before they are sent to their buckets (spec: Data Skew, Local Merging)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from paimon_sql.format.options.operations.changelog import CHANGELOG_PRODUCER
from paimon_sql.format.options.operations.write import LOCAL_MERGE_BUFFER_SIZE
from paimon_sql.storage.merge.registry import merge_engine
from paimon_sql.storage.merge.sequence import sequence_fields
from paimon_sql.storage.merge.windows import RowOrder, Window
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.key_value_writer import check_keys
from paimon_sql.storage.write.rows.row_kinds import RowKindReader


def merges_locally(table: Table) -> bool:
    """Whether a table asks for it and nothing would be lost by it.

    A changelog of the input tells each row, and some engines must see all rows of a key at once.
    """
    return (
        table.options.get(LOCAL_MERGE_BUFFER_SIZE) is not None
        and bool(table.schema.primary_keys)
        and table.options.get(CHANGELOG_PRODUCER) != "input"
        and not merge_engine(table.schema).merges_whole
    )


def merged_locally(table: Table, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows in fewer ones, merged by key as often as ``local-merge-buffer-size`` bytes have come.

    Args:
        table: the table, which has a primary key.
        rows: its columns and types, perhaps with their kind behind them.

    Returns:
        The rows with their kinds.

    Raises:
        ConstraintViolationError: a key column holds a null, or the merge engine refuses a kind of row.
    """
    schema, capacity = table.schema, table.options.get(LOCAL_MERGE_BUFFER_SIZE)
    engine = merge_engine(schema)
    kinds = RowKindReader(table, engine)
    # A key that lacks partition columns may have a row in each partition.
    keys = tuple(dict.fromkeys([*schema.partition_keys, *schema.primary_keys]))
    by = RowOrder(keys, tuple(sequence_fields(schema.options)))
    held: list[pa.RecordBatch] = []

    def merged() -> Iterator[pa.RecordBatch]:
        if held:
            together = pa.Table.from_batches(held)
            held.clear()
            yield from engine.merge(Window(together, *by.sort(together))).to_batches()

    for batch in rows:
        check_keys(table, batch)
        held.append(engine.prepare(kinds.given(batch)))
        if sum(b.nbytes for b in held) >= capacity:
            yield from merged()
    yield from merged()
