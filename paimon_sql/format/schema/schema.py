"""Schema files: versions of a table's columns, keys and options (spec: Schema).

A schema file is ``schema/schema-<id>``; format versions 1 to 3 are read, 3 is written. Files are immutable: every
change of a table writes the next one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import count

from paimon_sql.errors import REPAIR_REMEDY, InvalidSchemaError
from paimon_sql.format.bytes.bounded import decoding, load_json
from paimon_sql.format.schema.types import DataField, RowType, field_ids, parse_field, reassign_ids

SCHEMA_VERSION = 3
_LAST_VERSION_WITH_ONE_BUCKET = 1
_LAST_VERSION_WITH_ORC = 2


@dataclass(frozen=True)
class TableSchema:
    """One version of a table's definition (Paimon: `TableSchema`).

    ``highest_field_id`` is the max id ever assigned to a field, so that ids are never reused; ``time_millis`` is the
    creation time of the version.
    """

    id: int
    fields: tuple[DataField, ...]
    highest_field_id: int
    partition_keys: tuple[str, ...] = ()
    primary_keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    time_millis: int = 0

    def __getstate__(self) -> dict[str, object]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @cached_property
    def row_type(self) -> RowType:
        """The table's columns as a row type."""
        return RowType(True, self.fields)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(f.name for f in self.fields)

    def field(self, name: str) -> DataField:
        """The column of that exact name.

        Raises:
            KeyError: there is none.
        """
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, DataField]:
        return {f.name: f for f in self.fields}

    def select(self, names: Iterable[str]) -> tuple[DataField, ...]:
        """The columns of these names, in the order of ``names``."""
        return tuple(self.field(n) for n in names)

    @property
    def has_key(self) -> bool:
        """Whether there is a primary key."""
        return bool(self.primary_keys)

    @property
    def trimmed_primary_keys(self) -> tuple[str, ...]:
        """The primary key without the partition columns: the columns by which a bucket is sorted.

        Raises:
            InvalidSchemaError: the key has only partition columns (spec: "Table with Primary key Data File").
        """
        trimmed = tuple(k for k in self.primary_keys if k not in self.partition_keys)
        if self.primary_keys and not trimmed:
            raise InvalidSchemaError(
                f"The primary key {list(self.primary_keys)} holds only partition columns, so a partition could hold"
                " one row only.",
                remedy="Add a column to the key that is not a partition column.",
            )
        return trimmed

    @property
    def partition_fields(self) -> tuple[DataField, ...]:
        """The partition columns in the order of the partition path."""
        return self.select(self.partition_keys)

    @property
    def key_fields(self) -> tuple[DataField, ...]:
        """The columns of the trimmed primary key."""
        return self.select(self.trimmed_primary_keys)

    @property
    def bucket_keys(self) -> tuple[str, ...]:
        """The columns whose hash determines the bucket: ``bucket-key``, else the trimmed primary key, else none."""
        if text := self.options.get("bucket-key", "").strip():
            return tuple(k.strip() for k in text.split(","))
        return self.trimmed_primary_keys

    def with_options(self, changes: Mapping[str, str]) -> TableSchema:
        """The same version with some options changed, as by dynamic options or a hint."""
        return replace(self, options={**self.options, **changes})

    def to_json(self) -> str:
        """The JSON of the schema file."""
        body: dict[str, object] = {
            "version": SCHEMA_VERSION,
            "id": self.id,
            "fields": [f.to_json() for f in self.fields],
            "highestFieldId": self.highest_field_id,
            "partitionKeys": list(self.partition_keys),
            "primaryKeys": list(self.primary_keys),
            "options": dict(self.options),
        }
        if self.comment is not None:
            body["comment"] = self.comment
        body["timeMillis"] = self.time_millis
        return json.dumps(body, indent=2, ensure_ascii=False)


def parse_schema(text: str | bytes, path: str) -> TableSchema:
    """Parse a schema file; unknown members are ignored.

    The defaults of older versions become explicit options: one bucket up to version 1, ORC files up to 2 (Paimon:
    `TableSchema.fromJson`).

    Args:
        text: the file's content.
        path: the file's path, for error messages.

    Raises:
        CorruptFileError: the text is not JSON or lacks a member.
    """
    with decoding("a schema file", path, REPAIR_REMEDY):
        body = load_json(text)
        version = int(body.get("version", _LAST_VERSION_WITH_ONE_BUCKET))
        options = {str(k): str(v) for k, v in body["options"].items()}
        if version <= _LAST_VERSION_WITH_ONE_BUCKET:
            options.setdefault("bucket", "1")
        if version <= _LAST_VERSION_WITH_ORC:
            options.setdefault("file.format", "orc")
        schema = TableSchema(
            id=int(body["id"]),
            fields=tuple(parse_field(f) for f in body["fields"]),
            highest_field_id=int(body["highestFieldId"]),
            partition_keys=_names(body["partitionKeys"]),
            primary_keys=_names(body["primaryKeys"]),
            options=options,
            comment=body.get("comment"),
            time_millis=int(body.get("timeMillis") or 0),
        )
        unknown = {*schema.partition_keys, *schema.primary_keys, *schema.bucket_keys} - set(schema.names)
        if unknown:
            raise ValueError(f"keys that are not columns: {', '.join(sorted(unknown))}")
        return schema


def _names(stored: object) -> tuple[str, ...]:
    if not isinstance(stored, list) or not all(isinstance(name, str) for name in stored):
        raise TypeError("keys that are not a list of names")
    return tuple(stored)


def new_schema(
    columns: Iterable[DataField],
    *,
    partition_keys: Iterable[str] = (),
    primary_keys: Iterable[str] = (),
    options: Mapping[str, str] | None = None,
    comment: str | None = None,
    now: Callable[[], float] = time.time,
) -> TableSchema:
    """Create the first version of a table: assign ids to all fields, and make key columns NOT NULL.

    Ids count from 0: first that of a column, then those of its nested fields.
    """
    counter = count()
    primary = tuple(primary_keys)
    fields = []
    for column in columns:
        own = next(counter)
        inner = reassign_ids(column.type, counter.__next__)
        nullable = inner.nullable and column.name not in primary
        fields.append(replace(column, id=own, type=inner.as_nullable(nullable)))
    row = RowType(True, tuple(fields))
    return TableSchema(
        id=0,
        fields=row.fields,
        highest_field_id=max(field_ids(row), default=-1),
        partition_keys=tuple(partition_keys),
        primary_keys=primary,
        options=dict(options or {}),
        comment=comment,
        time_millis=int(now() * 1000),
    )
