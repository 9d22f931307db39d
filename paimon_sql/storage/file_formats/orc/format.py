"""The ORC format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyarrow import orc

from paimon_sql.format.schema import types as t
from paimon_sql.storage.file_formats.base import DataFileWriter, FileFormat, FileRead, WriteSettings
from paimon_sql.storage.file_formats.orc.reader import read_orc
from paimon_sql.storage.file_formats.orc.schema import check_orc_fields
from paimon_sql.storage.file_formats.orc.writer import OrcWriter
from paimon_sql.storage.file_io.base import FileIO


class OrcFormat(FileFormat):
    """Data files in Apache ORC; without variants and vectors."""

    name = "orc"
    shreds_maps = True

    def batches(self, file_io: FileIO, wanted: FileRead) -> Iterator[tuple[int, pa.RecordBatch]]:
        return read_orc(file_io, wanted)

    def writer(
        self, file_io: FileIO, path: str, fields: Sequence[t.DataField], settings: WriteSettings
    ) -> DataFileWriter:
        return OrcWriter(file_io, path, fields, settings)

    def names_in(self, source: pa.NativeFile, path: str) -> list[str]:
        return list(orc.ORCFile(source).schema.names)

    def check_fields(self, fields: Sequence[t.DataField]) -> None:
        check_orc_fields(fields)
