"""Schema changes by the columns of written rows (``write.merge-schema``).

New columns and new nested fields are added, nullable and at the end. Columns keep their types, unless types are
widened: then a type that cannot represent the incoming values is replaced by theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.schema.types import ArrayType, DataField, DataType, DecimalType, MapType, RowType
from paimon_sql.storage.schema.changes.alter_columns import AddColumn
from paimon_sql.storage.schema.changes.base import Path, SchemaChange, dotted
from paimon_sql.storage.schema.changes.column_types import Promotion, UpdateColumnType, is_widening, same_type


@dataclass(frozen=True)
class IncomingColumns:
    """The rules by which incoming columns change a table's columns.

    Attributes:
        widens: whether columns get wider types.
        casts: whether they also get types with loss of information.
        case_sensitive: whether names that differ in case are different.
        lenient: whether columns that cannot be widened keep their types, and values are cast to these if possible.
    """

    widens: bool = False
    casts: bool = False
    case_sensitive: bool = False
    lenient: bool = False

    def changes(self, held: Sequence[DataField], incoming: Sequence[DataField]) -> list[SchemaChange]:
        """Return the changes, in the order of the incoming columns.

        Raises:
            InvalidSchemaError: types are widened, and neither type of a column can represent the other's values.
        """
        return list(self._fields((), held, incoming))

    def folded(self, name: str) -> str:
        """The name for comparisons."""
        return name if self.case_sensitive else name.lower()

    def _fields(self, parent: Path, old: Iterable[DataField], incoming: Iterable[DataField]) -> Iterator[SchemaChange]:
        own = {self.folded(f.name): f for f in old}
        for f in incoming:
            existing = own.get(self.folded(f.name))
            if existing is None:
                yield AddColumn((*parent, f.name), f.type.as_nullable())
            else:
                yield from self._type((*parent, existing.name), existing.type, f.type)

    def _type(self, path: Path, old: DataType, incoming: DataType) -> Iterator[SchemaChange]:
        match old, incoming:
            case RowType(), RowType():
                yield from self._fields(path, old.fields, incoming.fields)
            case ArrayType(), ArrayType():
                yield from self._type((*path, "element"), old.element, incoming.element)
            case MapType(), MapType():
                yield from self._type((*path, "value"), old.value, incoming.value)
            case _ if self.widens and not same_type(old, incoming):
                if (wanted := self._wider(path, old, incoming)) is not None:
                    yield UpdateColumnType(path, wanted)

    def _wider(self, path: Path, old: DataType, incoming: DataType) -> DataType | None:
        """The new type of a column; None if it keeps its own."""
        wanted = incoming.as_nullable(old.nullable)
        if isinstance(old, DecimalType) and isinstance(incoming, DecimalType):
            fits = old.scale == incoming.scale
            wanted = DecimalType(old.nullable, max(old.precision, incoming.precision), old.scale) if fits else wanted
        elif self.casts:
            Promotion(False, True, count()).change(path, old, wanted)
            return wanted
        else:
            fits = is_widening(old, incoming)
        if fits:
            return None if same_type(old, wanted) else wanted
        if self.lenient or is_widening(incoming, old):
            return None
        raise InvalidSchemaError(
            f"Column '{dotted(path)}' is {old.sql()}, and cannot be widened for values of type {incoming.sql()}.",
            remedy="CAST the values to the column's type, or set write.merge-schema.explicit-cast.",
        )
