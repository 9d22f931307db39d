"""Base class of schema changes, and the context in which they apply."""

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
"""A column's name, followed by the names of nested fields; parts of arrays and maps are ``element``, ``key`` and
``value``."""


@dataclass(frozen=True, slots=True)
class Context:
    """The conditions under which a change is made.

    Attributes:
        has_data: whether the table has rows that must stay readable after the change.
        case_sensitive: whether ``A`` and ``a`` are two columns (``spark.sql.caseSensitive``).
    """

    has_data: bool = True
    case_sensitive: bool = False

    def find(self, name: str, among: Iterable[str]) -> str | None:
        """Resolve a name among others; None if it matches none, or several."""
        names = list(among)
        if name in names or self.case_sensitive:
            return name if name in names else None
        matches = [n for n in names if n.lower() == name.lower()]
        return matches[0] if len(matches) == 1 else None

    def clash(self, name: str, among: Iterable[str]) -> str | None:
        """The existing name that conflicts with a new one; None if there is none."""
        return next((n for n in among if n == name or (not self.case_sensitive and n.lower() == name.lower())), None)


STRICT = Context()
"""The most restrictive conditions."""


class SchemaChange(ABC):
    """A change of a table's schema."""

    @abstractmethod
    def apply(self, schema: TableSchema, context: Context = STRICT) -> TableSchema:
        """Return the changed schema; the same object if nothing changes.

        Id and time are not changed: `apply_changes` sets them.

        Raises:
            InvalidSchemaError: the change names a column that does not exist, or keys or data forbid it.
            InvalidOptionError: an option does not exist, its value is invalid, or it must not change.
        """


def dotted(path: Path) -> str:
    """The path for messages."""
    return ".".join(path)


def missing_column(path: Path, among: Iterable[str]) -> InvalidSchemaError:
    """The error for a column or field that does not exist."""
    return InvalidSchemaError(
        f"Column '{dotted(path)}' does not exist.", remedy=f"Those that do are: {', '.join(among) or 'none'}."
    )


def refuse_key(schema: TableSchema, path: Path, verb: str, *, primary: bool) -> None:
    """Refuse a change of a partition column, or with ``primary`` of one of the primary key.

    Args:
        schema: the schema.
        path: the column.
        verb: the change in the past participle, such as ``dropped``.
        primary: whether to refuse columns of the primary key as well.
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
    """Apply changes one after the other, and return the next schema version.

    Args:
        schema: the latest version.
        changes: the changes; each applies to the result of those before it.
        has_data: whether the table has a snapshot.
        case_sensitive: whether ``A`` and ``a`` are two columns.
        now: the clock, in seconds.

    Returns:
        The version with the next id; the same object if nothing changes.

    Raises:
        InvalidSchemaError: a change is not possible, or the new schema would be invalid.
        InvalidOptionError: an option does not exist, its value is invalid, or it must not change.
    """
    context = Context(has_data, case_sensitive)
    changed = schema
    for change in changes:
        changed = change.apply(changed, context)
    if changed == schema:
        return schema
    validate_change(schema, changed)
    return replace(changed, id=schema.id + 1, time_millis=max(int(now() * 1000), schema.time_millis))
