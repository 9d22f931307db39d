"""Resolution of the column names of a clustering."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.clustering.codes import is_ordered


def order_columns(table: Table, names: Sequence[str], asked_by: str) -> tuple[str, ...]:
    """The distinct columns to order by, as the table spells them.

    Args:
        table: the table.
        names: the columns.
        asked_by: the argument or option that names them, for messages.

    Raises:
        InvalidInputError: a column does not exist, is a partition column or has no order, or there are none.
    """
    spelled = {name.lower(): name for name in table.schema.names} | {name: name for name in table.schema.names}
    found = []
    for asked in names:
        name = spelled.get(asked) or spelled.get(asked.lower())
        if name is None:
            raise InvalidInputError(
                f"{table.name} has no column {asked} to order by.", remedy=f"It has {', '.join(table.schema.names)}."
            )
        if name in table.schema.partition_keys:
            raise InvalidInputError(
                f"{asked_by} names {name}, which is the same in all rows of a partition.", remedy="Leave it out."
            )
        kind = table.schema.field(name).type
        if not is_ordered(arrow_type(kind)):
            raise InvalidInputError(f"{asked_by} names {name}, but {kind} has no order.", remedy="Name another column.")
        found.append(name)
    if not found:
        raise InvalidInputError(f"{asked_by} names no column.", remedy=f"Write {asked_by} => 'a,b'.")
    return tuple(dict.fromkeys(found))
