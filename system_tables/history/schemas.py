"""``t$schemas``: one row per version of the schema."""

from __future__ import annotations

import json
from collections.abc import Iterable

from paimon_sql.format.schema.records import Long, Record, Timestamp, column
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import RecordTable, SystemTable
from paimon_sql.system_tables.formatting import wall_clock


class Schemas(RecordTable[Table], SystemTable):
    """The versions of the schema, oldest first; time travel does not apply."""

    summary = "One row per schema version."

    class Row(Record):
        schema_id: Long = column("number of the version, from 0")
        fields: str = column("JSON array of the fields: id, name, type, description, default")
        partition_keys: str = column("JSON array of names")
        primary_keys: str = column("JSON array of names")
        options: str = column("JSON object")
        comment: str | None = column("comment of the table")
        update_time: Timestamp = column("when the version was created")

    def records(self, table: Table) -> Iterable[Row]:
        for s in table.schemas.all():
            yield self.Row(
                schema_id=s.id,
                fields=_json([f.to_json() for f in s.fields]),
                partition_keys=_json(list(s.partition_keys)),
                primary_keys=_json(list(s.primary_keys)),
                options=_json(dict(s.options)),
                comment=s.comment,
                update_time=wall_clock(s.time_millis),
            )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
