"""Schema merging: a write by name adds new columns and nested fields to its table first (``write.merge-schema``).

Afterwards Spark matches the rows with the table's columns as for any write by name. It does not support missing fields
inside columns, so they are filled with null here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count

from pyspark.sql import DataFrame

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.options.engines.spark import WRITE_MERGE_SCHEMA_EXPLICIT_CAST, WRITE_MERGE_SCHEMA_TYPE_WIDENING
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import ArrayType, DataField, DataType, MapType, RowType
from paimon_sql.spark.conversion.types import StructJson, TypeJson, paimon_fields, spark_type, struct_of
from paimon_sql.sql.text.names import quote_name, string_sql
from paimon_sql.storage.schema.changes.base import SchemaChange, apply_changes
from paimon_sql.storage.schema.changes.incoming import IncomingColumns
from paimon_sql.storage.table.table import Table


class SchemaMerge:
    """The merge of the schemas of a table and of rows that are written to it by name.

    Args:
        table: the table with the options of the write, which is not changed.
        frame: the rows.
        case_sensitive: whether names that differ only in case are different.
    """

    def __init__(self, table: Table, frame: DataFrame, *, case_sensitive: bool) -> None:
        options = table.options
        self.table = table
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
        return self._rules.changes(self.table.schema.fields, self._incoming)

    def preview(self) -> Table:
        """The table with the merged schema, without changing it."""
        return replace(self.table, schema=self._merged(self.table.schema, has_data=True))

    def apply(self, catalog: Catalog, identifier: Identifier) -> Table:
        """Merge the schemas in the catalog and return the new table with the options of the write."""
        if self.changes():
            has_data = self.table.snapshots.latest_id() is not None
            return altered(catalog, identifier, self.table, lambda schema: self._merged(schema, has_data))
        return self.table

    def _merged(self, schema: TableSchema, has_data: bool) -> TableSchema:
        changes = self._rules.changes(schema.fields, self._incoming)
        return apply_changes(schema, changes, has_data=has_data, case_sensitive=self._exact)

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


def altered(
    catalog: Catalog, identifier: Identifier, table: Table, change: Callable[[TableSchema], TableSchema]
) -> Table:
    """Change a table's schema in its catalog, and return the new table with the options of the statement."""
    catalog.alter_table(identifier, change)
    new = catalog.table(identifier)
    return new.with_options({k: v for k, v in table.schema.options.items() if new.schema.options.get(k) != v})


_VOID = "void"
"""Spark's type of a bare NULL."""


@dataclass(frozen=True)
class NestedFields:
    """Alignment of the fields inside values with those of columns, by name.

    Attributes:
        case_sensitive: whether names that differ only in case are different.
    """

    case_sensitive: bool

    def normalized(self, name: str) -> str:
        """A name normalized for comparison."""
        return name if self.case_sensitive else name.lower()

    def incoming(self, struct: StructJson, columns: Sequence[DataField], where: str) -> tuple[DataField, ...]:
        """The fields of a Spark struct; an untyped NULL has the type of the table's field of that name.

        Raises:
            InvalidSchemaError: the table has no field for an untyped NULL.
        """
        return paimon_fields(self._typed_struct(struct, RowType(True, tuple(columns))))

    def filled(self, value: str, source: DataType, target: DataType, kept: str | None = None) -> str:
        """An expression for a value with the fields of the target type; the value itself if it has them.

        Args:
            value: a column, or a field of one.
            source: its type.
            target: the type of the result; it has every field of the source.
            kept: the existing value, which has the fields of structs that the source lacks; None makes them null.
        """
        return self._filled(value, source, target, kept, count())

    def _filled(self, value: str, source: DataType, target: DataType, kept: str | None, numbers: count[int]) -> str:
        match source, target:
            case RowType(), RowType():
                return self._row(value, source.fields, target.fields, kept, numbers)
            case ArrayType(), ArrayType():
                x = f"x{next(numbers)}"
                inner = self._filled(x, source.element, target.element, None, numbers)
                return value if inner == x else f"transform({value}, {x} -> {inner})"
            case MapType(), MapType():
                k, v = f"k{next(numbers)}", f"v{next(numbers)}"
                inner = self._filled(v, source.value, target.value, None, numbers)
                return value if inner == v else f"transform_values({value}, ({k}, {v}) -> {inner})"
        return value

    def _row(
        self,
        value: str,
        source: Sequence[DataField],
        target: Sequence[DataField],
        kept: str | None,
        numbers: count[int],
    ) -> str:
        given = {self.normalized(f.name): f for f in source}
        parts, changed, uses_kept = [], len(source) != len(target), False
        for f in target:
            known = given.get(self.normalized(f.name))
            old = f"{kept}.{quote_name(f.name)}" if kept is not None else None
            if known is None:
                parts.append((f.name, old or "NULL"))
                changed = True
                uses_kept = uses_kept or old is not None
                continue
            plain = f"{value}.{quote_name(known.name)}"
            filled = self._filled(plain, known.type, f.type, old, numbers)
            changed = changed or filled != plain
            uses_kept = uses_kept or (old is not None and old in filled)
            parts.append((f.name, filled))
        if not changed:
            return value
        members = ", ".join(f"{string_sql(name)}, {filled}" for name, filled in parts)
        empty = f"{value} IS NULL AND {kept} IS NULL" if uses_kept else f"{value} IS NULL"
        return f"if({empty}, NULL, named_struct({members}))"

    def _typed_struct(self, given: StructJson, known: DataType | None) -> StructJson:
        own = {self.normalized(f.name): f.type for f in known.fields} if isinstance(known, RowType) else {}
        return struct_of(
            {**f, "type": self._typed(f["type"], own.get(self.normalized(f["name"])), f["name"])}
            for f in given["fields"]
        )

    def _typed(self, given: TypeJson, known: DataType | None, where: str) -> TypeJson:
        """A Spark type with the types of untyped NULLs taken from the table's type."""
        if given == _VOID:
            if known is None:
                raise InvalidSchemaError(
                    f"The new column '{where}' has only NULL values and no type.", remedy="CAST it to a type."
                )
            return spark_type(known)
        if isinstance(given, str):
            return given
        if given["type"] == "struct":
            return self._typed_struct(given, known)
        if given["type"] == "array":
            inner = known.element if isinstance(known, ArrayType) else None
            return {**given, "elementType": self._typed(given["elementType"], inner, where)}
        if given["type"] == "map":
            key, value = (known.key, known.value) if isinstance(known, MapType) else (None, None)
            return {
                **given,
                "keyType": self._typed(given["keyType"], key, where),
                "valueType": self._typed(given["valueType"], value, where),
            }
        return given
