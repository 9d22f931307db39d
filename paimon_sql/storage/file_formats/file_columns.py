"""The names of the columns that a file of any origin holds."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import orc, parquet

from paimon_sql.errors import CorruptFileError
from paimon_sql.format.avro.container import container_at
from paimon_sql.format.bytes.bounded import load_json
from paimon_sql.storage.file_io.base import FileIO
from paimon_sql.storage.file_io.errors import refusals


def columns_of(file_io: FileIO, path: str, file_format: str) -> list[str]:
    """The columns at the top of a file's schema, in its order.

    Args:
        file_io: the file system that holds it.
        path: the file.
        file_format: ``parquet``, ``orc`` or ``avro``.

    Raises:
        CorruptFileError: the file is none of that format.
    """
    with refusals("read", path), file_io.open_input(path) as source:
        try:
            if file_format == "parquet":
                return list(parquet.ParquetFile(source).schema_arrow.names)
            if file_format == "orc":
                return list(orc.ORCFile(source).schema.names)
            header = container_at(lambda at, size: source.read_at(size, at), source.size(), path)
            return [member["name"] for member in load_json(header.schema_text)["fields"]]
        except (pa.ArrowInvalid, KeyError, TypeError, ValueError) as error:
            raise CorruptFileError(f"it is no {file_format} file: {error}", path=path) from error
