"""Writes by name that bring columns which their table lacks (``write.merge-schema``): the table gets them first.

Afterwards Spark lines the rows up with the table's columns as it does for any write by name. It has no way to leave out
fields inside columns, so those that a row lacks are filled with null here.
"""

from __future__ import annotations

import json
from dataclasses import replace

from pyspark.sql import DataFrame

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.format.options.spark import (
    WRITE_MERGE_SCHEMA_EXPLICIT_CAST,
    WRITE_MERGE_SCHEMA_TYPE_WIDENING,
)
from paimon_sql.spark.nested_fields import NestedFields
from paimon_sql.sql.names import quote_name
from paimon_sql.storage.schema_change import SchemaChange, apply_changes
from paimon_sql.storage.schema_change.incoming import IncomingColumns
from paimon_sql.storage.table import Table


class SchemaMerge:
    """What rows make of a table that they are written into by name.

    Args:
        table: the table, under the options of the write.
        frame: the rows.
        case_sensitive: whether names that differ in their case are different.
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
        """What must become of the table's columns.

        Raises:
            InvalidSchemaError: they cannot take the rows.
        """
        return self._rules.changes(self._table.schema.fields, self._incoming)

    def foreseen(self) -> Table:
        """The table as it will be; nothing changes."""
        schema = apply_changes(self._table.schema, self.changes(), has_data=True, case_sensitive=self._exact)
        return replace(self._table, schema=schema)

    @property
    def table(self) -> Table:
        """The table as it is, under the options of the write."""
        return self._table

    def evolved(self, catalog: Catalog, identifier: Identifier) -> Table:
        """The table with what the rows bring, under the options of the write."""
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
            now = catalog.table(identifier)
            given = {k: v for k, v in self._table.schema.options.items() if now.schema.options.get(k) != v}
            return now.with_options(given)
        return self._table

    def rows(self, table: Table) -> DataFrame:
        """The rows with all fields inside the columns of the table, null where they have none."""
        folded = self._nested.folded
        own = {folded(f.name): f.type for f in table.schema.fields}
        pieces, changed = [], False
        for f in self._incoming:
            name = quote_name(f.name)
            filled = self._nested.filled(name, f.type, own.get(folded(f.name), f.type))
            changed = changed or filled != name
            pieces.append(f"{filled} AS {name}")
        return self._frame.selectExpr(*pieces) if changed else self._frame
