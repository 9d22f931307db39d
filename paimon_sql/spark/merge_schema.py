"""Writes by name that bring columns which their table lacks (``write.merge-schema``): the table gets them first.

Afterwards Spark lines the rows up with the table's columns as it does for any write by name. It has no way to leave out
fields inside columns, so those that a row lacks are filled with null here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from pyspark.sql import DataFrame

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.options.spark import (
    WRITE_MERGE_SCHEMA_EXPLICIT_CAST,
    WRITE_MERGE_SCHEMA_TYPE_WIDENING,
)
from paimon_sql.format.types import ArrayType, DataField, DataType, MapType, RowType
from paimon_sql.spark.types import paimon_fields, spark_type
from paimon_sql.sql.scan import quote_name, string_sql
from paimon_sql.storage.schema_change import SchemaChange, apply_changes
from paimon_sql.storage.schema_change.incoming import IncomingColumns
from paimon_sql.storage.table import Table

_NOTHING = "void"
"""Spark's type of a bare NULL."""


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
        known = RowType(True, table.schema.fields)
        self._incoming = paimon_fields(self._typed(json.loads(frame.schema.json()), known, "the rows"))

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
        own = {self._rules.folded(f.name): f.type for f in table.schema.fields}
        pieces, changed = [], False
        for f in self._incoming:
            name = quote_name(f.name)
            filled = self._filled(name, f.type, own.get(self._rules.folded(f.name), f.type), count())
            changed = changed or filled != name
            pieces.append(f"{filled} AS {name}")
        return self._frame.selectExpr(*pieces) if changed else self._frame

    def _typed(self, given: Any, known: DataType | None, where: str) -> Any:
        """A Spark type in whose place of a bare NULL stands the type that the table has there."""
        if given == _NOTHING:
            if known is None:
                raise InvalidSchemaError(
                    f"The new column '{where}' is NULL alone and has no type.", remedy="CAST it to the type wanted."
                )
            return spark_type(known)
        kind = given["type"] if isinstance(given, dict) else None
        if kind == "struct":
            own = {self._rules.folded(f.name): f.type for f in known.fields} if isinstance(known, RowType) else {}
            fields = [
                f | {"type": self._typed(f["type"], own.get(self._rules.folded(f["name"])), f["name"])}
                for f in given["fields"]
            ]
            return given | {"fields": fields}
        if kind == "array":
            inner = known.element if isinstance(known, ArrayType) else None
            return given | {"elementType": self._typed(given["elementType"], inner, where)}
        if kind == "map":
            key, value = (known.key, known.value) if isinstance(known, MapType) else (None, None)
            return given | {
                "keyType": self._typed(given["keyType"], key, where),
                "valueType": self._typed(given["valueType"], value, where),
            }
        return given

    def _filled(self, value: str, source: DataType, target: DataType, numbers: count[int]) -> str:
        """An expression for a value with the fields of the target type; the value itself where it has them."""
        match source, target:
            case RowType(), RowType():
                return self._row(value, source.fields, target.fields, numbers)
            case ArrayType(), ArrayType():
                x = f"x{next(numbers)}"
                inner = self._filled(x, source.element, target.element, numbers)
                return value if inner == x else f"transform({value}, {x} -> {inner})"
            case MapType(), MapType():
                k, v = f"k{next(numbers)}", f"v{next(numbers)}"
                inner = self._filled(v, source.value, target.value, numbers)
                return value if inner == v else f"transform_values({value}, ({k}, {v}) -> {inner})"
        return value

    def _row(self, value: str, source: Sequence[DataField], target: Sequence[DataField], numbers: count[int]) -> str:
        given = {self._rules.folded(f.name): f for f in source}
        parts, changed = [], len(source) != len(target)
        for f in target:
            known = given.get(self._rules.folded(f.name))
            if known is None:
                parts.append((f.name, "NULL"))
                changed = True
                continue
            plain = f"{value}.{quote_name(known.name)}"
            filled = self._filled(plain, known.type, f.type, numbers)
            changed = changed or filled != plain
            parts.append((f.name, filled))
        if not changed:
            return value
        members = ", ".join(f"{string_sql(name)}, {filled}" for name, filled in parts)
        return f"if({value} IS NULL, NULL, named_struct({members}))"
