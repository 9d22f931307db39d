"""What every kind of schema change is, and what it is told about the table and the session."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.schema.validation import validate_change

Path: TypeAlias = tuple[str, ...]
"""A column's name, and behind it the names of fields inside it; the parts of arrays and maps are ``element``, ``key``
and ``value``."""


@dataclass(frozen=True, slots=True)
class Context:
    """Under which conditions a change is made.

    Attributes:
        has_data: whether the table was written to, so that rows exist that the change must not spoil.
        case_sensitive: whether ``A`` and ``a`` are two columns, as ``spark.sql.caseSensitive`` says.
    """

    has_data: bool = True
    case_sensitive: bool = False

    def find(self, name: str, among: Iterable[str]) -> str | None:
        """The name among those given that this one means; None when it means none, or several."""
        names = list(among)
        if name in names or self.case_sensitive:
            return name if name in names else None
        alike = [n for n in names if n.lower() == name.lower()]
        return alike[0] if len(alike) == 1 else None

    def clash(self, name: str, among: Iterable[str]) -> str | None:
        """The name among those given that stands in the way of a new one."""
        return next((n for n in among if n == name or (not self.case_sensitive and n.lower() == name.lower())), None)


CAREFUL = Context()
"""The conditions that forbid most."""


class SchemaChange(ABC):
    """One change of a table's definition."""

    @abstractmethod
    def apply(self, schema: TableSchema, context: Context = CAREFUL) -> TableSchema:
        """The definition after the change; the same object if it changes nothing.

        The id and the time of the version stay: `apply_changes` gives them.

        Raises:
            InvalidSchemaError: the change names what does not exist, or keys or data forbid it.
            InvalidOptionError: an option does not exist, does not take the value or must not change.
        """


def dotted(path: Path) -> str:
    """The path as messages show it."""
    return ".".join(path)


def missing_column(path: Path, among: Iterable[str]) -> InvalidSchemaError:
    """The error for a column or field that does not exist."""
    return InvalidSchemaError(
        f"Column '{dotted(path)}' does not exist.", remedy=f"Those that do are: {', '.join(among) or 'none'}."
    )


def refuse_key(schema: TableSchema, path: Path, verb: str, *, primary: bool) -> None:
    """Refuse a change of a partition column, or with ``primary`` of one of the primary key.

    Args:
        schema: the definition.
        path: the column.
        verb: what would happen to it, such as ``dropped``.
        primary: whether columns of the primary key are meant too.
    """
    if len(path) > 1:
        return
    kind = "partition" if path[0] in schema.partition_keys else "primary key"
    if path[0] in schema.partition_keys or (primary and path[0] in schema.primary_keys):
        raise InvalidSchemaError(
            f"Column '{path[0]}' cannot be {verb}: it is a {kind} column.",
            remedy="Create a new table with the wanted columns and copy the data into it.",
        )


def apply_changes(
    schema: TableSchema,
    changes: Iterable[SchemaChange],
    *,
    has_data: bool,
    case_sensitive: bool = False,
    now: Callable[[], float] = time.time,
) -> TableSchema:
    """The next version of a schema, with all changes made one after the other.

    Args:
        schema: the newest version.
        changes: the changes; each sees what those before it made.
        has_data: whether the table has a snapshot.
        case_sensitive: whether ``A`` and ``a`` are two columns.
        now: the clock, in seconds.

    Returns:
        A version whose id is one more; the same object if nothing changes.

    Raises:
        InvalidSchemaError: a change is not possible, or the definition would not be valid any more.
        InvalidOptionError: an option does not exist, does not take the value or must not change.
    """
    context = Context(has_data, case_sensitive)
    changed = schema
    for change in changes:
        changed = change.apply(changed, context)
    if changed == schema:
        return schema
    validate_change(schema, changed)
    return replace(changed, id=schema.id + 1, time_millis=max(int(now() * 1000), schema.time_millis))
