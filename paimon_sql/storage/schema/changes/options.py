"""Changes of options, of the table's comment and of its primary key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from paimon_sql.format.options import canonical, check_changes
from paimon_sql.format.options.table.table import PARTITION, PRIMARY_KEY
from paimon_sql.format.options.values import comma_separated
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.schema.changes.base import Context, SchemaChange, missing_column

_KEYS = (PRIMARY_KEY.key, PARTITION.key)


@dataclass(frozen=True)
class SetOption(SchemaChange):
    """Set an option."""

    key: str
    value: str

    def apply(self, schema: TableSchema, context: Context) -> TableSchema:
        change = canonical({self.key: self.value})
        if self.key == PRIMARY_KEY.key and not schema.has_key and not context.has_data:
            return _with_primary_key(schema, self.value, context)
        check_changes(_with_keys(schema), change, has_snapshots=context.has_data)
        if self.key in _KEYS:
            return schema
        return _with_options(schema, {**schema.options, **change})


@dataclass(frozen=True)
class RemoveOption(SchemaChange):
    """Remove an option, so that its default applies; an option that is not set is ignored."""

    key: str

    def apply(self, schema: TableSchema, context: Context) -> TableSchema:
        keys = {self.key, *canonical({self.key: ""})}
        known = _with_keys(schema)
        check_changes(known, dict.fromkeys(k for k in keys if k in known), has_snapshots=context.has_data)
        return _with_options(schema, {k: v for k, v in schema.options.items() if k not in keys})


@dataclass(frozen=True)
class UpdateComment(SchemaChange):
    """Set the table's comment; None removes it."""

    comment: str | None

    def apply(self, schema: TableSchema, context: Context) -> TableSchema:
        return schema if schema.comment == self.comment else replace(schema, comment=self.comment)


def _with_primary_key(schema: TableSchema, columns: str, context: Context) -> TableSchema:
    """Add a primary key to a table without data, such as an empty branch that gets one that main does not have."""
    names = []
    for name in comma_separated(columns):
        resolved = context.find(name, schema.names)
        if resolved is None:
            raise missing_column((name,), schema.names)
        names.append(resolved)
    fields = tuple(replace(f, type=f.type.as_nullable(False)) if f.name in names else f for f in schema.fields)
    return replace(schema, fields=fields, primary_keys=tuple(names))


def _with_keys(schema: TableSchema) -> Mapping[str, str]:
    """The options, including the keys as options that a user could have set."""
    keys = ((PRIMARY_KEY.key, schema.primary_keys), (PARTITION.key, schema.partition_keys))
    return {**schema.options, **{key: ",".join(names) for key, names in keys if names}}


def _with_options(schema: TableSchema, options: Mapping[str, str]) -> TableSchema:
    return schema if options == schema.options else replace(schema, options=options)
