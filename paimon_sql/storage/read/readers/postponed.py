"""Reader of postponed splits: the rows of a bucket, merged with its postponed rows, which are newer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.layout.paths import POSTPONE_BUCKET
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.row_kind import RowKind
from paimon_sql.format.schema.system_fields import SEQUENCE_NUMBER, VALUE_KIND
from paimon_sql.storage.merge.registry import merge_engine
from paimon_sql.storage.merge.sequence import sequence_fields
from paimon_sql.storage.merge.windows import RowOrder, Window
from paimon_sql.storage.read.readers.data_file import read_data_file, wanted_fields
from paimon_sql.storage.read.readers.merge import read_merged
from paimon_sql.storage.read.readers.raw import read_raw
from paimon_sql.storage.scan.postponed import PostponedSplit
from paimon_sql.storage.table.partitioning.routing import Router
from paimon_sql.storage.table.table import Table


def read_postponed(table: Table, split: PostponedSplit, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Read the merged rows of a split; deletes too if ``_VALUE_KIND`` is among the columns.

    All rows of the bucket are held in memory, for postponed rows are not sorted.
    """
    engine = merge_engine(table.schema)
    ties = sequence_fields(table.schema.options)
    keys = table.schema.trimmed_primary_keys
    wanted = [*engine.required_columns(tuple(columns)), *keys, *(name for name, _ in ties), *table.schema.bucket_keys]
    names = [name for name in dict.fromkeys(wanted) if name in table.schema.names]
    made = {VALUE_KIND.name, SEQUENCE_NUMBER.name}
    if unknown := set(wanted) - set(names) - made:
        raise UnsupportedError(f"{table.name}: {', '.join(sorted(unknown))} of rows that wait cannot be read.")
    batches = [*_from_bucket(table, split, names), *_postponed(table, split, names)]
    if not batches:
        return
    # The order of the rows decides which one of a key is newer.
    rows = pa.Table.from_batches(batches)
    rows = rows.append_column(SEQUENCE_NUMBER.name, pa.array(np.arange(len(rows), dtype=np.int64)))
    by = RowOrder(tuple(keys), (*ties, (SEQUENCE_NUMBER.name, False)))
    window = Window(rows, *by.sort(rows))
    merged = [engine.merge(window).select(columns)] if VALUE_KIND.name in columns else engine.live_rows(window, columns)
    for part in merged:
        yield from part.to_batches(max_chunksize=65_536)


def _from_bucket(table: Table, split: PostponedSplit, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    insert = pa.scalar(RowKind.INSERT, arrow_type(VALUE_KIND.type))
    for own in split.bucket_splits:
        read = read_raw(table, own, names) if own.raw else read_merged(table, own, names)
        for batch in read:
            yield _with_kinds(table, batch, names, pa.repeat(insert, batch.num_rows))


def _postponed(table: Table, split: PostponedSplit, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    router = Router(table.schema, split.buckets)
    for file in split.postponed_files:
        for batch in read_data_file(table, split.partition, POSTPONE_BUCKET, file, [*names, VALUE_KIND.name]):
            own = batch
            if split.buckets > 1:
                own = batch.filter(pa.array(router.buckets_of(batch) == split.bucket))
            yield _with_kinds(table, own, names, own.column(VALUE_KIND.name))


def _with_kinds(table: Table, batch: pa.RecordBatch, names: Sequence[str], kinds: pa.Array) -> pa.RecordBatch:
    types = {f.name: arrow_type(f.type) for f in wanted_fields(table, names)}
    columns = [batch.column(name).cast(types[name]) for name in names]
    return pa.RecordBatch.from_arrays([*columns, kinds.cast(pa.int8())], names=[*names, VALUE_KIND.name])
