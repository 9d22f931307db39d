"""Names of the files that one writer makes."""

from __future__ import annotations

import uuid

from paimon_sql.format.paths import data_file_name


class FileNamer:
    """Names that no other writer uses: a UUID and a number that counts up."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._run = str(uuid.uuid4())
        self._count = 0

    def next(self, extension: str) -> str:
        """The next name."""
        self._count += 1
        return data_file_name(self._prefix, self._run, self._count - 1, extension)
