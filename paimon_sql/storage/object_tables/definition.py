"""What an object table is: its columns, which are the same for all of them, and the folder that it lists.

Spec: Concepts, "Table Types", "Object Table".
"""

from __future__ import annotations

from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.options.table import OBJECT_LOCATION
from paimon_sql.format.schema import TableSchema
from paimon_sql.format.types import BigIntType, DataField, string_type

OBJECT_FIELDS = (
    DataField(0, "path", string_type(False), "Relative path of object"),
    DataField(1, "name", string_type(False), "Name of object"),
    DataField(2, "length", BigIntType(False), "Bytes length of object"),
    DataField(3, "mtime", BigIntType(False), "Modification time of object"),
    DataField(4, "atime", BigIntType(False), "Access time of object"),
    DataField(5, "owner", string_type(), "Owner of object"),
)
"""The columns of every object table; times are milliseconds since the epoch, 0 where nobody knows them."""


def object_location(schema: TableSchema) -> str:
    """The folder whose files an object table lists.

    Raises:
        InvalidOptionError: the table does not say it.
    """
    text = schema.options.get(OBJECT_LOCATION.key, "").strip().rstrip("/")
    if not text:
        raise InvalidOptionError(
            f"An object table needs the option '{OBJECT_LOCATION.key}', the folder whose files it lists.",
            key=OBJECT_LOCATION.key,
        )
    return text
