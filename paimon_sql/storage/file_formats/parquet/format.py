"""The Parquet format: the default, and the one that Spark scans natively."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pyarrow as pa
from pyarrow import parquet

from paimon_sql.format.schema import types as t
from paimon_sql.storage.file_formats.base import DataFileWriter, FileFormat, WriteSettings, decoding_file
from paimon_sql.storage.file_formats.parquet.reader import read_parquet
from paimon_sql.storage.file_formats.parquet.variants import ShreddingWriter, shredding_of
from paimon_sql.storage.file_formats.parquet.writer import ParquetWriter
from paimon_sql.storage.file_io.base import FileIO, translate_errors


class ParquetFormat(FileFormat):
    """Data files in Apache Parquet; supports all types."""

    name = "parquet"
    shreds_maps = True

    batches = staticmethod(read_parquet)

    def writer(
        self, file_io: FileIO, path: str, fields: Sequence[t.DataField], settings: WriteSettings
    ) -> DataFileWriter:
        shredding = shredding_of(fields, settings)
        if shredding is None:
            return ParquetWriter(file_io, path, fields, settings)
        return ShreddingWriter(path, fields, shredding, partial(ParquetWriter, file_io, path, settings=settings))

    def names_in(self, source: pa.NativeFile, path: str) -> list[str]:
        return list(parquet.ParquetFile(source).schema_arrow.names)

    def distinct_values(self, file_io: FileIO, path: str) -> Mapping[str, int]:
        """At most the bytes of the dictionary of each column's first row group: a value takes about one, compressed."""
        decoding = decoding_file("cannot be read as Parquet", path)
        with translate_errors("read", path), decoding, file_io.open_input(path) as source:
            metadata = parquet.read_metadata(source)
        group = metadata.row_group(0) if metadata.num_row_groups else None
        columns = [] if group is None else [group.column(i) for i in range(group.num_columns)]
        return {
            column.path_in_schema: column.data_page_offset - column.dictionary_page_offset
            for column in columns
            if column.has_dictionary_page
        }
