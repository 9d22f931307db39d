"""Partitions given by strings: as values, as a predicate, and for display."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from functools import cached_property
from typing import Any

import pyarrow as pa

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.text.values import parse_text
from paimon_sql.storage.expressions.predicates import Comparison, IsNull, Or, Predicate, all_of


class PartitionChoice:
    """Partition specs of a table; a partial spec matches all partitions with its values.

    Args:
        schema: the table's schema.
        named: the values as strings by column; the default partition name means null.
        zone: the time zone of TIMESTAMP_LTZ values.

    Raises:
        InvalidInputError: a column is not a partition column, or a string is not a value of its type.
    """

    def __init__(self, schema: TableSchema, named: Sequence[Mapping[str, str]], zone: tzinfo) -> None:
        self._schema = schema
        self._named = named
        default = PartitionPaths.of(schema).default_name
        self._scalars = [{k: self._scalar(k, v, default, zone) for k, v in spec.items()} for spec in named]

    @property
    def shown(self) -> str:
        """The specs for display: ``dt=x/h=1``, comma-separated."""
        return ", ".join("/".join(f"{k}={v}" for k, v in spec.items()) for spec in self._named)

    @cached_property
    def values(self) -> list[dict[str, Any]]:
        """The values by column; columns that are not specified are absent."""
        return [{k: v.as_py() for k, v in spec.items()} for spec in self._scalars]

    @cached_property
    def predicate(self) -> Predicate:
        """The predicate that the rows of these partitions match."""
        parts = [
            all_of([Comparison(k, "=", v) if v.is_valid else IsNull(k) for k, v in spec.items()])
            for spec in self._scalars
        ]
        known = tuple(part for part in parts if part is not None)
        return known[0] if len(known) == 1 else Or(known)

    def _scalar(self, name: str, text: str, default: str, zone: tzinfo) -> pa.Scalar:
        if name not in self._schema.partition_keys:
            keys = ", ".join(self._schema.partition_keys)
            remedy = f"Its partition columns are {keys}." if keys else "It has no partitions."
            raise InvalidInputError(f"{name} is no partition column of the table.", remedy=remedy)
        data_type = self._schema.field(name).type
        if text == default:
            return pa.scalar(None, arrow_type(data_type))
        try:
            return pa.scalar(parse_text(text, data_type, zone), arrow_type(data_type))
        except (ValueError, InvalidInputError) as error:
            raise InvalidInputError(f"'{text}' is no value of partition column {name}: {error}") from error
