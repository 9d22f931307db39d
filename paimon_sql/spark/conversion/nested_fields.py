"""Alignment of nested fields: SQL that gives a value all fields of the column that it is written to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.schema.types import ArrayType, DataField, DataType, MapType, RowType
from paimon_sql.spark.conversion.types import paimon_fields, spark_type
from paimon_sql.sql.text.names import quote_name, string_sql

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

    def incoming(self, struct: Any, columns: Sequence[DataField], where: str) -> tuple[DataField, ...]:
        """The fields of a Spark struct; an untyped NULL has the type of the table's field of that name.

        Raises:
            InvalidSchemaError: the table has no field for an untyped NULL.
        """
        return paimon_fields(self._typed(struct, RowType(True, tuple(columns)), where))

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

    def _typed(self, given: Any, known: DataType | None, where: str) -> Any:
        """A Spark type with the types of untyped NULLs taken from the table's type."""
        if given == _VOID:
            if known is None:
                raise InvalidSchemaError(
                    f"The new column '{where}' is NULL alone and has no type.", remedy="CAST it to the type wanted."
                )
            return spark_type(known)
        kind = given["type"] if isinstance(given, dict) else None
        if kind == "struct":
            own = {self.normalized(f.name): f.type for f in known.fields} if isinstance(known, RowType) else {}
            fields = [
                f | {"type": self._typed(f["type"], own.get(self.normalized(f["name"])), f["name"])}
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
