"""Registry of the kinds of file indexes; discovered from the modules of `kinds`."""

from __future__ import annotations

from paimon_sql.discovery import by_name
from paimon_sql.format.file_index.base import FileIndexKind

KINDS: dict[str, FileIndexKind] = {
    name: kind() for name, kind in by_name("paimon_sql.format.file_index.kinds", FileIndexKind).items()
}
"""Kinds of file indexes by name."""
