"""Validation of schemas: rules for every CREATE and ALTER, one function per subject (Paimon: `SchemaValidation`).

A rule is a function that yields an error for each violation; new rules are added to `RULES`.
"""

from __future__ import annotations

from collections.abc import Iterator

from paimon_sql.errors import InvalidOptionError, PaimonError
from paimon_sql.format.options.table.table import TYPE
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.metadata.definition import Definition, Rule
from paimon_sql.storage.schema.validation import all_tables, clustering, lifetimes, primary_keys, reading, table_types
from paimon_sql.storage.schema.validation.all_tables import ORDINARY_TYPES
from paimon_sql.storage.schema.validation.files import data_files, indexes, row_tracking

RULES: tuple[Rule, ...] = (
    all_tables.option_values,
    all_tables.table_kind,
    all_tables.column_names,
    all_tables.key_columns,
    all_tables.default_values,
)
"""The rules for all tables, first those whose errors explain others."""

STORE_RULES: tuple[Rule, ...] = (
    all_tables.option_columns,
    primary_keys.bucket_number,
    primary_keys.bucket_key,
    primary_keys.bucket_function,
    primary_keys.sequence_fields,
    primary_keys.engine,
    primary_keys.named_types,
    primary_keys.aggregate_functions,
    primary_keys.producers,
    primary_keys.snapshot_ordering,
    primary_keys.retention,
    lifetimes.automatic_tags,
    lifetimes.partition_ends,
    reading.read_starts,
    reading.branches,
    row_tracking.row_tracking,
    row_tracking.blobs,
    row_tracking.vectors,
    data_files.file_formats,
    data_files.shared_shredding,
    data_files.variant_shredding,
    data_files.file_prefixes,
    data_files.data_directory,
    data_files.external_paths,
    data_files.iceberg_readers,
    indexes.file_indexes,
    indexes.table_indexes,
    clustering.incremental_clustering,
    clustering.clustered_keys,
    clustering.manifest_order,
    clustering.chains,
)
"""The rules for tables with snapshots."""

RULES_OF_KIND: dict[str, tuple[Rule, ...]] = {
    **dict.fromkeys(ORDINARY_TYPES, STORE_RULES),
    "format-table": (table_types.format_of_files, table_types.columns_of_files),
    "object-table": (table_types.columns_of_objects, *STORE_RULES),
}
"""The additional rules by table type (option ``type``)."""


def validate_schema(schema: TableSchema) -> None:
    """Refuse an invalid schema.

    Raises:
        InvalidSchemaError: a column or key is invalid; the message names it.
        InvalidOptionError: an option does not exist, its value is invalid, or it conflicts with the schema.
    """
    for problem in problems(schema):
        raise problem


def validate_change(old: TableSchema, new: TableSchema) -> None:
    """Refuse a changed schema with new violations.

    Thus a table that another implementation created under looser rules can still be changed in other respects.

    Raises:
        InvalidSchemaError, InvalidOptionError: as `validate_schema`.
    """
    old_problems = {str(problem) for problem in problems(old)}
    for problem in problems(new):
        if str(problem) not in old_problems:
            raise problem


def problems(schema: TableSchema) -> Iterator[PaimonError]:
    """All violations of a schema, the most helpful first."""
    table = Definition(schema)
    yield from _checked(RULES, table)
    try:
        kind = table.options.get(TYPE)
    except InvalidOptionError:
        return
    yield from _checked(RULES_OF_KIND.get(kind, ()), table)


def _checked(rules: tuple[Rule, ...], table: Definition) -> Iterator[PaimonError]:
    for rule in rules:
        try:
            yield from rule(table)
        except InvalidOptionError as error:
            # An unreadable value, which the rule about values has reported already, with the same message.
            yield error
