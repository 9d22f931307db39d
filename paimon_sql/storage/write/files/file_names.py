"""Names of the files that one writer makes."""

from __future__ import annotations

import uuid

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.layout.file_names import is_file_name
from paimon_sql.format.layout.paths import data_file_name


class FileNamer:
    """Names that no other writer uses: a UUID and a number that counts up.

    Args:
        prefix: what they begin with, as an option of the table says.

    Raises:
        InvalidInputError: the prefix would lead out of the folder of the files.
    """

    def __init__(self, prefix: str) -> None:
        if not is_file_name(f"{prefix}-"):
            raise InvalidInputError(f"{prefix!r} cannot be the prefix of files: it leads to another folder.")
        self._prefix = prefix
        self._run = str(uuid.uuid4())
        self._count = 0

    def next(self, extension: str) -> str:
        """The next name."""
        self._count += 1
        return data_file_name(self._prefix, self._run, self._count - 1, extension)
