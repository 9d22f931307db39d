"""Local merging: rows of one key are merged before the shuffle to their buckets (spec: Data Skew, Local Merging)."""

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
    """Whether the table's options enable it, and it would lose nothing.

    It would with changelog producer ``input``, which records each row, and with merge engines that need all rows of a
    key at once.
    """
    return (
        table.options.get(LOCAL_MERGE_BUFFER_SIZE) is not None
        and bool(table.schema.primary_keys)
        and table.options.get(CHANGELOG_PRODUCER) != "input"
        and not merge_engine(table.schema).merges_all_at_once
    )


def merged_locally(table: Table, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Merge rows by key, in buffers of ``local-merge-buffer-size`` bytes.

    Args:
        table: a primary-key table.
        rows: its columns and types, optionally with ``_VALUE_KIND`` after them.

    Returns:
        The merged rows with their kinds.

    Raises:
        ConstraintViolationError: a key column holds a null, or the merge engine rejects a row kind.
    """
    schema, capacity = table.schema, table.options.get(LOCAL_MERGE_BUFFER_SIZE)
    engine = merge_engine(schema)
    kinds = RowKindReader(table, engine)
    # A key without partition columns may have a row in each partition.
    keys = tuple(dict.fromkeys([*schema.partition_keys, *schema.primary_keys]))
    by = RowOrder(keys, tuple(sequence_fields(schema.options)))
    buffer: list[pa.RecordBatch] = []

    def merged() -> Iterator[pa.RecordBatch]:
        if buffer:
            buffered = pa.Table.from_batches(buffer)
            buffer.clear()
            yield from engine.merge(Window(buffered, *by.sort(buffered))).to_batches()

    for batch in rows:
        check_keys(table, batch)
        buffer.append(engine.prepare(kinds.given(batch)))
        if sum(b.nbytes for b in buffer) >= capacity:
            yield from merged()
    yield from merged()
