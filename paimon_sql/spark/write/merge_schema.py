"""Schema merging: a write by name adds new columns to its table first (``write.merge-schema``).

Afterwards Spark matches the rows with the table's columns as for any write by name. It does not support missing fields
inside columns, so they are filled with null here.
"""

from __future__ import annotations

import json
from dataclasses import replace

from pyspark.sql import DataFrame

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.format.options.engines.spark import WRITE_MERGE_SCHEMA_EXPLICIT_CAST, WRITE_MERGE_SCHEMA_TYPE_WIDENING
from paimon_sql.spark.conversion.nested_fields import NestedFields
from paimon_sql.sql.text.names import quote_name
from paimon_sql.storage.schema.changes import SchemaChange, apply_changes
from paimon_sql.storage.schema.changes.incoming import IncomingColumns
from paimon_sql.storage.table.table import Table


class SchemaMerge:
    """The merge of the schemas of a table and of rows that are written to it by name.

    Args:
        table: the table with the options of the write.
        frame: the rows.
        case_sensitive: whether names that differ only in case are different.
    """

    def __init__(self, table: Table, frame: DataFrame, *, case_sensitive: bool) -> None:
        options = table.options
        self._table = table
        self._frame = frame
        self._exact = case_sensitive
        self._rules = IncomingColumns(
            options.get(WRITE_MERGE_SCHEMA_TYPE_WIDENING),
            options.get(WRITE_MERGE_SCHEMA_EXPLICIT_CAST),
            case_sensitive,
        )
        self._nested = NestedFields(case_sensitive)
        self._incoming = self._nested.incoming(json.loads(frame.schema.json()), table.schema.fields, "the rows")

    def changes(self) -> list[SchemaChange]:
        """The required changes of the table's columns.

        Raises:
            InvalidSchemaError: the columns cannot store the rows.
        """
        return self._rules.changes(self._table.schema.fields, self._incoming)

    def preview(self) -> Table:
        """The table with the merged schema, without changing it."""
        schema = apply_changes(self._table.schema, self.changes(), has_data=True, case_sensitive=self._exact)
        return replace(self._table, schema=schema)

    @property
    def table(self) -> Table:
        """The unchanged table with the options of the write."""
        return self._table

    def apply(self, catalog: Catalog, identifier: Identifier) -> Table:
        """Merge the schemas in the catalog and return the new table with the options of the write."""
        if self.changes():
            has_data = self._table.snapshots.latest_id() is not None
            catalog.alter_table(
                identifier,
                lambda schema: apply_changes(
                    schema,
                    self._rules.changes(schema.fields, self._incoming),
                    has_data=has_data,
                    case_sensitive=self._exact,
                ),
            )
            table = catalog.table(identifier)
            options = {k: v for k, v in self._table.schema.options.items() if table.schema.options.get(k) != v}
            return table.with_options(options)
        return self._table

    def rows(self, table: Table) -> DataFrame:
        """The rows with all nested fields of the table's columns; missing ones are null."""
        folded = self._nested.normalized
        types = {folded(f.name): f.type for f in table.schema.fields}
        expressions, changed = [], False
        for f in self._incoming:
            name = quote_name(f.name)
            filled = self._nested.filled(name, f.type, types.get(folded(f.name), f.type))
            changed = changed or filled != name
            expressions.append(f"{filled} AS {name}")
        return self._frame.selectExpr(*expressions) if changed else self._frame
