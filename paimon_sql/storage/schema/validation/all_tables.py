"""Rules about tables of any type: their columns, and their options one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from paimon_sql.errors import InvalidOptionError, PaimonError
from paimon_sql.format.options import validate
from paimon_sql.format.options.table.data_file import ORC_COLUMN_ENCODING_DIRECT
from paimon_sql.format.options.table.table import AUTO_CREATE, PRIMARY_KEY_NULLABLE, TYPE
from paimon_sql.format.schema.system_fields import KEY_PREFIX, RESERVED_NAMES
from paimon_sql.format.schema.types import RowType, walk
from paimon_sql.storage.columns.defaults import default_scalar
from paimon_sql.storage.columns.in_options import named_columns
from paimon_sql.storage.merge.aggregates.base import UNORDERED
from paimon_sql.storage.metadata.definition import Definition, conflict, invalid, quoted_list

_PAIMON = "paimon"
_CONNECTOR = "connector"
"""Flink's option that names where the rows of a table are."""
ORDINARY_TYPES = ("table", "materialized-table")
"""The values of ``type`` for tables with snapshots."""


def errors_of(read: Callable[[], object], kind: type[PaimonError] = InvalidOptionError) -> Iterator[PaimonError]:
    """The error of some kind that reading a part of the definition raises, if it raises one."""
    try:
        read()
    except kind as error:
        yield error


def option_values(table: Definition) -> Iterator[PaimonError]:
    """Options exist and their values are valid."""
    for key, value in table.schema.options.items():
        yield from errors_of(partial(validate, {key: value}), PaimonError)
    connector = table.schema.options.get(_CONNECTOR, _PAIMON)
    if connector.strip().lower() != _PAIMON:
        yield InvalidOptionError(
            f"'{_CONNECTOR}' is '{connector}', but this is a table of Paimon: it would stay empty.",
            key=_CONNECTOR,
            remedy=f"Read from {connector} by Spark and insert the rows, or leave the option out.",
        )
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
                f"names '{named.column}', which is not a column.",
                f"Columns are {quoted_list(table.schema.names)}.",
            )


def table_kind(table: Definition) -> Iterator[PaimonError]:
    """Tables without snapshots have no primary key."""
    if table.has_key and table.options.get(TYPE) not in ORDINARY_TYPES:
        yield conflict(TYPE, f"'{table.options.get(TYPE)}' has no primary key.", "Leave the primary key out.")


def column_names(table: Definition) -> Iterator[PaimonError]:
    """Column names are unique and not reserved."""
    if not table.schema.fields:
        yield invalid("A table needs at least one column.")
    if any(not name.strip() for name in table.schema.names):
        yield invalid("A column has no name.", "Give each column one.")
    for name in _duplicates(table.schema.names):
        yield invalid(f"The column '{name}' is defined twice (a duplicate).")
    for field in table.schema.fields:
        for nested in walk(field.type):
            if isinstance(nested, RowType) and (duplicates := _duplicates(nested.names)):
                yield invalid(f"Column '{field.name}': the field '{duplicates[0]}' is defined twice (a duplicate).")
        if field.name in RESERVED_NAMES or field.name.startswith(KEY_PREFIX):
            yield invalid(
                f"The column name '{field.name}' is reserved for Paimon's own columns.", "Give the column another name."
            )


def key_columns(table: Definition) -> Iterator[PaimonError]:
    """Partition and primary keys consist of distinct columns with comparable types."""
    schema = table.schema
    for kind, names in (("partition", schema.partition_keys), ("primary", schema.primary_keys)):
        for name in _duplicates(names):
            yield invalid(f"The {kind} key names the column '{name}' twice (a duplicate).")
        for name in names:
            if name not in table.columns:
                yield invalid(
                    f"The {kind} key names '{name}', which is not a column.",
                    f"Columns are {quoted_list(schema.names)}.",
                )
            elif isinstance(table.columns[name].type, UNORDERED):
                yield invalid(f"Column '{name}' of type {table.columns[name].type.sql()} cannot be in the {kind} key.")
    if schema.has_key and set(schema.primary_keys) <= set(schema.partition_keys):
        yield invalid(
            f"The primary key ({', '.join(schema.primary_keys)}) holds only partition columns, so a partition could"
            " hold one row only.",
            "Add a column to the key that is not a partition column.",
        )
    if not schema.has_key and table.is_on(PRIMARY_KEY_NULLABLE):
        yield invalid(f"The option '{PRIMARY_KEY_NULLABLE.key}' needs a primary key.", "Define one, or leave it out.")


def default_values(table: Definition) -> Iterator[PaimonError]:
    """Default values are valid for their column's type."""
    for field in table.schema.fields:
        yield from errors_of(partial(default_scalar, field), PaimonError)


def _duplicates(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]
