"""Names of columns, as callers give them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from paimon_sql.errors import InvalidInputError
from paimon_sql.storage.table.table import Table


def names_in(table: Table, known: Iterable[str], shown: Iterable[str], columns: Sequence[str]) -> tuple[str, ...]:
    """Return names of columns, given in any case, as the table has them.

    Args:
        table: the table.
        known: all columns that may be named.
        shown: those that an error lists.
        columns: the names.

    Raises:
        InvalidInputError: there is no such column, or one is named twice.
    """
    exact = list(known)
    by_name = {name.lower(): name for name in exact} | {name: name for name in exact}
    found = [by_name.get(name) or by_name.get(name.lower()) for name in columns]
    names = tuple(name for name in found if name is not None)
    times = Counter(names)
    for given, name in zip(columns, found, strict=True):
        if name is None:
            raise no_column(table, given, shown)
        if times[name] > 1:
            raise InvalidInputError(f"Column {name} is named twice.")
    return names


def no_column(table: Table, name: str, shown: Iterable[str]) -> InvalidInputError:
    """The error that a table has no such column; `shown` are those that it lists."""
    return InvalidInputError(f"{table.name} has no column '{name}'.", remedy=f"Its columns are {', '.join(shown)}.")
