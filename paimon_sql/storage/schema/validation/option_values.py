"""Rules about single options: they exist, their values are valid, and they name existing columns."""

from __future__ import annotations

from collections.abc import Iterator

from paimon_sql.errors import PaimonError
from paimon_sql.format.options import find_option, validate
from paimon_sql.format.options.table.data_file import ORC_COLUMN_ENCODING_DIRECT
from paimon_sql.format.options.table.table import AUTO_CREATE, TYPE
from paimon_sql.format.schema.types import RowType
from paimon_sql.storage.columns.in_options import named_columns
from paimon_sql.storage.schema.validation.definition import Definition, conflict, quoted_list

ORDINARY_TYPES = ("table", "materialized-table")
"""The values of ``type`` for tables with snapshots."""


def option_values(table: Definition) -> Iterator[PaimonError]:
    """Options exist and their values are valid."""
    for key, value in table.schema.options.items():
        try:
            validate({key: value})
        except PaimonError as error:
            yield error
    if table.schema.options.get(AUTO_CREATE.key, "false").strip().lower() == "true":
        yield conflict(AUTO_CREATE, "is for a connector's own table definitions, not for a table of a catalog.")


def option_columns(table: Definition) -> Iterator[PaimonError]:
    """Columns that options name exist; nested fields cannot be named."""
    for named in named_columns(table.schema.options):
        if named.column in table.columns or named.option is ORC_COLUMN_ENCODING_DIRECT:
            continue
        head = named.column.partition(".")[0]
        if named.in_key and head in table.columns and isinstance(table.columns[head].type, RowType):
            yield conflict(named.key, f"names a field inside column '{head}'; only whole columns can be named.")
        else:
            yield conflict(
                named.key,
                f"names '{named.column}', which is no column.",
                f"Columns are {quoted_list(table.schema.names)}.",
            )


def table_kind(table: Definition) -> Iterator[PaimonError]:
    """Tables without snapshots have no primary key."""
    option = find_option(TYPE.key)
    if option is not None and table.has_key and table.options.get(TYPE) not in ORDINARY_TYPES:
        yield conflict(TYPE, f"'{table.options.get(TYPE)}' has no primary key.", "Leave the primary key out.")
