"""``t$schemas``: one row per version of the schema."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.types import BigIntType, TimestampType, string_type
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import SystemTable, column
from paimon_sql.system_tables.clock import wall_clock


class Schemas(SystemTable):
    """The versions of the schema, oldest first; time travel does not apply to them."""

    name = "schemas"
    summary = "One row per schema version."
    columns = (
        column("schema_id", BigIntType(False), "number of the version, from 0"),
        column("fields", string_type(False), "JSON array of the fields: id, name, type, description, default"),
        column("partition_keys", string_type(False), "JSON array of names"),
        column("primary_keys", string_type(False), "JSON array of names"),
        column("options", string_type(False), "JSON object"),
        column("comment", string_type(), "comment of the table"),
        column("update_time", TimestampType(False, 3), "when the version was made"),
    )

    def rows(self, table: Table, predicate: Predicate | None = None) -> pa.Table:
        found = [
            {
                "schema_id": s.id,
                "fields": _json([f.to_json() for f in s.fields]),
                "partition_keys": _json(list(s.partition_keys)),
                "primary_keys": _json(list(s.primary_keys)),
                "options": _json(dict(s.options)),
                "comment": s.comment,
                "update_time": wall_clock(s.time_millis),
            }
            for s in table.schemas.all()
        ]
        return pa.Table.from_pylist(found, schema=arrow_schema(self.columns))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
