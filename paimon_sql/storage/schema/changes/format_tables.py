"""Restrictions of ALTER TABLE on format tables: existing files must be read as before."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_sql.errors import InvalidOptionError, UnsupportedError
from paimon_sql.format.layout.partitions import DEFAULT_NAME_KEY
from paimon_sql.format.options.table.data_file import FILE_FORMAT
from paimon_sql.format.options.table.format_table import FORMAT_TABLE_PARTITION_PATH_ONLY_VALUE
from paimon_sql.format.options.table.table import PATH
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.schema.changes.alter_columns import AddColumn, UpdateColumnComment, UpdateColumnDefaultValue
from paimon_sql.storage.schema.changes.base import SchemaChange
from paimon_sql.storage.schema.changes.options import RemoveOption, SetOption, UpdateComment

_ALLOWED = (SetOption, RemoveOption, UpdateComment, UpdateColumnComment, UpdateColumnDefaultValue, AddColumn)
_IMMUTABLE = frozenset((FILE_FORMAT.key, PATH.key, FORMAT_TABLE_PARTITION_PATH_ONLY_VALUE.key, DEFAULT_NAME_KEY))


def check_alteration(schema: TableSchema, changes: Sequence[SchemaChange]) -> None:
    """Refuse changes that a format table cannot have.

    Raises:
        UnsupportedError: existing files would no longer match the columns.
        InvalidOptionError: an option defines the location or the format of files.
    """
    for change in changes:
        if not isinstance(change, _ALLOWED):
            raise UnsupportedError(
                "A format table's columns are what its files hold: only new ones can be added, at the end.",
                remedy="CREATE another table and INSERT the rows into it.",
            )
        if isinstance(change, AddColumn) and (change.position is not None or len(change.path) > 1):
            raise UnsupportedError(
                "A new column of a format table can only be added at the end.", remedy="Leave its position out."
            )
        if isinstance(change, (SetOption, RemoveOption)) and change.key in _IMMUTABLE:
            raise InvalidOptionError(
                f"The option '{change.key}' of a format table is fixed when it is created.", key=change.key
            )
