"""The file formats by name: a new one is one class more, made known here."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import orc, parquet

from paimon_sql.errors import CorruptFileError, UnsupportedError
from paimon_sql.format.avro.container import container_at
from paimon_sql.format.bytes.bounded import load_json
from paimon_sql.storage.file_formats.avro.format import AvroFormat
from paimon_sql.storage.file_formats.base import FileFormat
from paimon_sql.storage.file_formats.blob.format import BlobFormat
from paimon_sql.storage.file_formats.orc.format import OrcFormat
from paimon_sql.storage.file_formats.parquet.format import ParquetFormat
from paimon_sql.storage.file_io.base import FileIO
from paimon_sql.storage.file_io.errors import refusals

_FORMATS: dict[str, FileFormat] = {}


def register_format(file_format: FileFormat) -> None:
    """Make a format known by its name."""
    _FORMATS[file_format.name] = file_format


def file_format(name: str) -> FileFormat:
    """The format of that name, as the option ``file.format`` and the suffix of data files give it, in any case.

    Raises:
        UnsupportedError: there is no such format; the message names those that are.
    """
    found = _FORMATS.get(name.strip().lower())
    if found is None:
        raise UnsupportedError(
            f"'{name}' is no file format that is known here.",
            remedy=f"Set 'file.format' to one of {', '.join(format_names())}.",
        )
    return found


def format_names() -> list[str]:
    """The names of all formats that a table's files can have."""
    return sorted(name for name, known in _FORMATS.items() if known.is_general)


for _format in (ParquetFormat(), OrcFormat(), AvroFormat(), BlobFormat()):
    register_format(_format)


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
