"""Files read one by one: append files, and files of keyed tables that hold the rows as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from paimon_sql.storage.predicates import Predicate
from paimon_sql.storage.read.data_files import read_data_file
from paimon_sql.storage.scan.plan import Split
from paimon_sql.storage.table import Table


def read_raw(
    table: Table, split: Split, columns: Sequence[str], predicate: Predicate | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of a raw split, file by file."""
    for file in split.files:
        yield from read_data_file(
            table,
            split.partition,
            split.bucket,
            file,
            columns,
            predicate=predicate,
            deletion=split.deletions.get(file.file_name),
        )
