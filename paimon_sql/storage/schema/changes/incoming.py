"""What must become of a table's columns so that rows with other columns can be written into it.

New columns and new fields inside columns are added, nullable and at the end. Columns keep their types, unless types are
widened: then a type that cannot hold the incoming values becomes theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.schema.types import ArrayType, DataField, DataType, DecimalType, MapType, RowType
from paimon_sql.storage.schema.changes.base import Path, SchemaChange, dotted
from paimon_sql.storage.schema.changes.columns.add_column import AddColumn
from paimon_sql.storage.schema.changes.columns.column_type import UpdateColumnType
from paimon_sql.storage.schema.changes.columns.promotions import Promotion, is_widening, same_type

_REMEDY = "CAST the values to the column's type, or set write.merge-schema.explicit-cast."


@dataclass(frozen=True)
class IncomingColumns:
    """How a table takes in columns that it does not have as they are.

    Attributes:
        widens: whether columns take wider types.
        casts: whether they also take types that lose something.
        case_sensitive: whether names that differ in their case are different.
        lenient: whether columns that cannot be widened keep their types, and values are cast to them if they can be.
    """

    widens: bool = False
    casts: bool = False
    case_sensitive: bool = False
    lenient: bool = False

    def changes(self, held: Sequence[DataField], incoming: Sequence[DataField]) -> list[SchemaChange]:
        """The changes, in the order of the incoming columns.

        Raises:
            InvalidSchemaError: types are to be widened, and neither type of a column can hold the other's values.
        """
        return list(self._fields((), held, incoming))

    def folded(self, name: str) -> str:
        """A name as it is compared."""
        return name if self.case_sensitive else name.lower()

    def _fields(self, parent: Path, held: Iterable[DataField], incoming: Iterable[DataField]) -> Iterator[SchemaChange]:
        own = {self.folded(f.name): f for f in held}
        for f in incoming:
            known = own.get(self.folded(f.name))
            if known is None:
                yield AddColumn((*parent, f.name), f.type.as_nullable())
            else:
                yield from self._type((*parent, known.name), known.type, f.type)

    def _type(self, path: Path, held: DataType, incoming: DataType) -> Iterator[SchemaChange]:
        match held, incoming:
            case RowType(), RowType():
                yield from self._fields(path, held.fields, incoming.fields)
            case ArrayType(), ArrayType():
                yield from self._type((*path, "element"), held.element, incoming.element)
            case MapType(), MapType():
                yield from self._type((*path, "value"), held.value, incoming.value)
            case _ if self.widens and not same_type(held, incoming):
                if (wanted := self._wider(path, held, incoming)) is not None:
                    yield UpdateColumnType(path, wanted)

    def _wider(self, path: Path, held: DataType, incoming: DataType) -> DataType | None:
        """The type that a column takes; None if it keeps its own."""
        wanted = incoming.as_nullable(held.nullable)
        if isinstance(held, DecimalType) and isinstance(incoming, DecimalType):
            fits = held.scale == incoming.scale
            wanted = DecimalType(held.nullable, max(held.precision, incoming.precision), held.scale) if fits else wanted
        elif self.casts:
            Promotion(False, True, count()).change(path, held, wanted)
            return wanted
        else:
            fits = is_widening(held, incoming)
        if fits:
            return None if same_type(held, wanted) else wanted
        if self.lenient or is_widening(incoming, held):
            return None
        raise InvalidSchemaError(
            f"Column '{dotted(path)}' is {held.sql()}, and cannot be widened for values of type {incoming.sql()}.",
            remedy=_REMEDY,
        )
