"""Registry of the kinds of file indexes; discovered from the modules of `kinds`."""

from __future__ import annotations

from paimon_sql.discovery import instances
from paimon_sql.format.file_index.base import FileIndexKind

KINDS = instances("paimon_sql.format.file_index.kinds", FileIndexKind)
"""Kinds of file indexes by name."""
