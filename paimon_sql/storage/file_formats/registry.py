"""Registry of file formats by name, discovered automatically: one package each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from paimon_sql.discovery import instances
from paimon_sql.errors import UnsupportedError
from paimon_sql.storage.file_formats.base import FileFormat


@cache
def formats() -> Mapping[str, FileFormat]:
    """The formats by name."""
    return instances("paimon_sql.storage.file_formats", FileFormat)


def file_format(name: str) -> FileFormat:
    """Return the format of a name, as in ``file.format`` and in the suffix of data files, case-insensitive.

    Raises:
        UnsupportedError: there is no such format; the message lists the known ones.
    """
    found = formats().get(name.strip().lower())
    if found is None:
        raise UnsupportedError(
            f"Unknown file format '{name}'.", remedy=f"Set 'file.format' to one of {', '.join(format_names())}."
        )
    return found


def format_names() -> list[str]:
    """Return the names of all formats that a table's files can have."""
    return sorted(name for name, known in formats().items() if known.is_general)
