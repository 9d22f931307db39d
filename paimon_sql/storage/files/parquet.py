"""The Parquet format: the default, and what Spark scans itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa

from paimon_sql.format import types as t
from paimon_sql.storage.file_io.base import FileIO
from paimon_sql.storage.files.base import DataFileWriter, FileFormat, FileRead
from paimon_sql.storage.files.parquet_reader import read_parquet
from paimon_sql.storage.files.parquet_writer import ParquetWriter
from paimon_sql.storage.files.settings import WriteSettings
from paimon_sql.storage.files.variant_shredding import shredding_of
from paimon_sql.storage.files.variant_writer import ShreddingWriter


class ParquetFormat(FileFormat):
    """Data files in Apache Parquet; every type fits."""

    name = "parquet"

    def batches(self, file_io: FileIO, wanted: FileRead) -> Iterator[tuple[int, pa.RecordBatch]]:
        return read_parquet(file_io, wanted)

    def writer(
        self, file_io: FileIO, path: str, fields: Sequence[t.DataField], settings: WriteSettings
    ) -> DataFileWriter:
        how = shredding_of(fields, settings)
        if how is None:
            return ParquetWriter(file_io, path, fields, settings)
        return ShreddingWriter(path, fields, how, partial(ParquetWriter, file_io, path, settings=settings))

    def check_fields(self, fields: Sequence[t.DataField]) -> None:
        return None
