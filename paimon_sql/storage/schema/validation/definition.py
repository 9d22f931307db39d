"""Input and errors of the rules: the schema with typed options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from paimon_sql.errors import InvalidOptionError, InvalidSchemaError, PaimonError
from paimon_sql.format.options import Option, TableOptions
from paimon_sql.format.options.operations.changelog import CHANGELOG_PRODUCER
from paimon_sql.format.options.table.bucket import BUCKET
from paimon_sql.format.options.table.merge_engine import MERGE_ENGINE, SEQUENCE_FIELD
from paimon_sql.format.options.values import comma_separated
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField, DataType, walk


@dataclass(frozen=True)
class Definition:
    """A table's schema with derived properties."""

    schema: TableSchema

    @cached_property
    def options(self) -> TableOptions:
        """The options."""
        return TableOptions(self.schema.options)

    @cached_property
    def columns(self) -> dict[str, DataField]:
        """The columns by name."""
        return {f.name: f for f in self.schema.fields}

    @property
    def has_key(self) -> bool:
        """Whether there is a primary key."""
        return bool(self.schema.primary_keys)

    @property
    def is_cross_partition(self) -> bool:
        """Whether a key may move from one partition to another."""
        return self.has_key and not set(self.schema.partition_keys) <= set(self.schema.primary_keys)

    @cached_property
    def bucket(self) -> int:
        """The number of buckets, -1 for dynamic and -2 for postponed ones."""
        return self.options.get(BUCKET)

    @cached_property
    def merge_engine(self) -> str:
        """The merge engine."""
        return self.options.get(MERGE_ENGINE)

    @cached_property
    def producer(self) -> str:
        """The changelog producer."""
        return self.options.get(CHANGELOG_PRODUCER)

    @cached_property
    def sequence_fields(self) -> tuple[str, ...]:
        """The sequence fields."""
        return self.names_of(SEQUENCE_FIELD)

    def names_of(self, option: Option[str | None], *names: str) -> tuple[str, ...]:
        """The columns that an option lists."""
        return comma_separated(self.options.get(option, *names))

    def is_on(self, option: Option[bool]) -> bool:
        """The value of a boolean option."""
        return self.options.get(option)


Rule: TypeAlias = Callable[[Definition], Iterator[PaimonError]]
"""Yields an error for each violation."""


def invalid(message: str, remedy: str | None = None) -> InvalidSchemaError:
    """The error for invalid columns or keys."""
    return InvalidSchemaError(message, remedy=remedy)


def conflict(option: Option[object] | str, message: str, remedy: str | None = None) -> InvalidOptionError:
    """The error for a conflicting option; the message continues after its key."""
    key = option if isinstance(option, str) else option.key
    return InvalidOptionError(f"The option '{key}' {message}", key=key, remedy=remedy)


def holds(data_type: DataType, kinds: type[DataType] | tuple[type[DataType], ...]) -> bool:
    """Whether a type is, or contains, a type of some kinds."""
    return any(isinstance(inner, kinds) for inner in walk(data_type))


def quoted_list(names: Iterable[str]) -> str:
    """Names for messages."""
    return ", ".join(f"'{name}'" for name in names)
