"""Reading of data files in tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from paimon_sql.format.schema import types as t
from paimon_sql.storage.file_formats.base import FileFormat, FileRead
from paimon_sql.storage.file_io.base import FileIO


def read_rows(
    kind: FileFormat,
    file_io: FileIO,
    path: str,
    file_size: int | None,
    file_fields: Sequence[t.DataField],
    columns: Sequence[str],
    **settings: Any,
) -> Iterator[pa.RecordBatch]:
    """Yield a file's rows, without positions; the arguments are those of `FileRead`."""
    for _, batch in kind.batches(file_io, FileRead(path, file_fields, columns, file_size, **settings)):
        yield batch
