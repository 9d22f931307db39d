"""The Avro format: row by row, fast to append, slow to scan."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from paimon_sql.format.avro.container import container_at
from paimon_sql.format.bytes.bounded import load_json
from paimon_sql.format.schema import types as t
from paimon_sql.storage.file_formats.avro.reader import read_avro
from paimon_sql.storage.file_formats.avro.schema import avro_schema
from paimon_sql.storage.file_formats.avro.writer import AvroWriter
from paimon_sql.storage.file_formats.base import FileFormat


class AvroFormat(FileFormat):
    """Data files in Apache Avro; without variants, and with at most microsecond precision."""

    name = "avro"
    is_columnar = False

    batches = staticmethod(read_avro)
    writer = staticmethod(AvroWriter)

    def names_in(self, source: pa.NativeFile, path: str) -> list[str]:
        header = container_at(lambda at, size: source.read_at(size, at), source.size(), path)
        return [member["name"] for member in load_json(header.schema_text)["fields"]]

    def check_fields(self, fields: Sequence[t.DataField]) -> None:
        avro_schema(fields)
