"""The kinds of file indexes by name, found by themselves."""

from __future__ import annotations

from paimon_sql.discovery import by_name
from paimon_sql.format.file_index.base import FileIndexKind

KINDS: dict[str, FileIndexKind] = {
    name: kind() for name, kind in by_name("paimon_sql.format.file_index.kinds", FileIndexKind).items()
}
"""The kinds by name."""
