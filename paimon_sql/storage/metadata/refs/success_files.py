"""Success files: small JSON files that tell other systems that a tag or a partition is complete, and since when."""

from __future__ import annotations

import json

from paimon_sql.errors import MissingFileError
from paimon_sql.format.bytes.bounded import load_json
from paimon_sql.format.text.instants import present_millis
from paimon_sql.storage.file_io import FileIO

SUCCESS = "_SUCCESS"
_CREATION, _MODIFICATION = "creationTime", "modificationTime"


def write_success_file(file_io: FileIO, path: str, now_millis: int | None = None) -> None:
    """Write a success file; one that is there keeps its time of creation.

    Args:
        file_io: the file system.
        path: where it stands.
        now_millis: the time, in milliseconds since the epoch; the present one by default.
    """
    now = present_millis() if now_millis is None else now_millis
    made = _creation(file_io, path)
    body = {_CREATION: now if made is None else made, _MODIFICATION: now}
    file_io.write_bytes(path, json.dumps(body, indent=2).encode())


def _creation(file_io: FileIO, path: str) -> int | None:
    """When a success file was made, None if there is none or it does not tell."""
    try:
        body = load_json(file_io.read_bytes(path))
    except (MissingFileError, ValueError):
        return None
    made = body.get(_CREATION) if isinstance(body, dict) else None
    return made if isinstance(made, int) else None
