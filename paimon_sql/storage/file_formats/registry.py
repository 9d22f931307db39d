"""The file formats by name: a new one is one class more, made known here."""

from __future__ import annotations

from paimon_sql.errors import UnsupportedError
from paimon_sql.storage.file_formats.avro.format import AvroFormat
from paimon_sql.storage.file_formats.base import FileFormat
from paimon_sql.storage.file_formats.blob.format import BlobFormat
from paimon_sql.storage.file_formats.orc.format import OrcFormat
from paimon_sql.storage.file_formats.parquet.format import ParquetFormat

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
