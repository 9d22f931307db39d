"""Object tables: their columns, which are always the same, and their directory (spec: Table Types, "Object Table")."""

from __future__ import annotations

from paimon_sql.format.options.table.table import OBJECT_LOCATION
from paimon_sql.format.schema.types import BigIntType, DataField, string_type
from paimon_sql.storage.table.table import Table

OBJECT_FIELDS = (
    DataField(0, "path", string_type(False), "Relative path of object"),
    DataField(1, "name", string_type(False), "Name of object"),
    DataField(2, "length", BigIntType(False), "Bytes length of object"),
    DataField(3, "mtime", BigIntType(False), "Modification time of object"),
    DataField(4, "atime", BigIntType(False), "Access time of object"),
    DataField(5, "owner", string_type(), "Owner of object"),
)
"""The columns of every object table; times are milliseconds since the epoch, 0 if unknown."""


def object_location(table: Table) -> str:
    """The directory whose files an object table lists: that of its options, or its own."""
    return str(table.options.get(OBJECT_LOCATION) or "").strip().rstrip("/") or table.path
