"""Names of the files of a writer."""

from __future__ import annotations

import uuid

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.layout.file_names import is_file_name
from paimon_sql.format.layout.paths import data_file_name


class FileNamer:
    """Generates unique file names, from a UUID and a counter.

    Args:
        prefix: the prefix of the names, from an option of the table.

    Raises:
        InvalidInputError: the prefix leads to another directory.
    """

    def __init__(self, prefix: str) -> None:
        if not is_file_name(f"{prefix}-"):
            raise InvalidInputError(f"{prefix!r} cannot be the prefix of files: it leads to another folder.")
        self._prefix = prefix
        self._run = str(uuid.uuid4())
        self._count = 0

    def next(self, extension: str) -> str:
        """Return the next name."""
        self._count += 1
        return data_file_name(self._prefix, self._run, self._count - 1, extension)
