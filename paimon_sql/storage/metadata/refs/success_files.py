"""Success files: small JSON files that mark a tag or a partition as done for other systems (Paimon: `SuccessFile`)."""

from __future__ import annotations

import json

from paimon_sql.errors import MissingFileError
from paimon_sql.format.bytes.bounded import load_json
from paimon_sql.format.text.instants import current_millis
from paimon_sql.storage.file_io import FileIO

SUCCESS = "_SUCCESS"
_CREATION, _MODIFICATION = "creationTime", "modificationTime"


def write_success_file(file_io: FileIO, path: str, now_millis: int | None = None) -> None:
    """Write a success file; an existing one keeps its creation time.

    Args:
        file_io: the file system.
        path: the path of the file.
        now_millis: the time, in milliseconds since the epoch; the current time by default.
    """
    now = current_millis() if now_millis is None else now_millis
    created = _creation(file_io, path)
    body = {_CREATION: now if created is None else created, _MODIFICATION: now}
    file_io.write_bytes(path, json.dumps(body, indent=2).encode())


def _creation(file_io: FileIO, path: str) -> int | None:
    """Return the creation time of a success file; None if it is missing or invalid."""
    try:
        body = load_json(file_io.read_bytes(path))
    except (MissingFileError, ValueError):
        return None
    created = body.get(_CREATION) if isinstance(body, dict) else None
    return created if isinstance(created, int) else None
