"""Statistics files: results of ANALYZE TABLE for a snapshot's rows and columns (spec: Table Statistics).

A file is a JSON object with the members ``snapshotId``, ``schemaId``, ``mergedRecordCount``, ``mergedRecordSize`` and
``colStats``, an object by column name. A snapshot names its file; later snapshots of the same schema name it, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from paimon_sql.format.bytes.bounded import decoding, load_json

_COLUMN_MEMBERS = {
    "colId": "column_id",
    "distinctCount": "distinct_count",
    "min": "min",
    "max": "max",
    "nullCount": "null_count",
    "avgLen": "average_length",
    "maxLen": "max_length",
}


@dataclass(frozen=True)
class ColumnStatistics:
    """Statistics of one column; None if unknown.

    ``min`` and ``max`` are strings in the form of Java's serializers: a date is its day number, a timestamp has
    a space between date and time. Lengths are bytes.
    """

    column_id: int
    distinct_count: int | None = None
    min: str | None = None
    max: str | None = None
    null_count: int | None = None
    average_length: int | None = None
    max_length: int | None = None

    def members(self) -> dict[str, Any]:
        """The members of the JSON object, in the order of the file."""
        values = ((name, getattr(self, attribute)) for name, attribute in _COLUMN_MEMBERS.items())
        return {name: value for name, value in values if value is not None}


@dataclass(frozen=True)
class TableStatistics:
    """Statistics of one snapshot: the number of its merged rows, their size in bytes, and columns by name."""

    snapshot_id: int
    schema_id: int
    merged_record_count: int | None = None
    merged_record_size: int | None = None
    columns: Mapping[str, ColumnStatistics] = field(default_factory=dict)

    def to_json(self) -> str:
        """The JSON of the file."""
        return json.dumps(self._members(), indent=2, ensure_ascii=False)

    def columns_json(self) -> str:
        """The JSON of the columns' statistics."""
        return json.dumps(self._members()["colStats"], ensure_ascii=False, separators=(",", ":"))

    def _members(self) -> dict[str, Any]:
        counted = {"mergedRecordCount": self.merged_record_count, "mergedRecordSize": self.merged_record_size}
        return {
            "snapshotId": self.snapshot_id,
            "schemaId": self.schema_id,
            **{name: value for name, value in counted.items() if value is not None},
            "colStats": {name: c.members() for name, c in self.columns.items()},
        }


def parse_statistics(text: str | bytes, path: str) -> TableStatistics:
    """Parse a statistics file; unknown members are ignored.

    Raises:
        CorruptFileError: it is not a statistics file.
    """
    with decoding("a file of statistics", path):
        body = load_json(text)
        columns = {name: _column(members) for name, members in (body.get("colStats") or {}).items()}
        return TableStatistics(
            int(body["snapshotId"]),
            int(body["schemaId"]),
            body.get("mergedRecordCount"),
            body.get("mergedRecordSize"),
            columns,
        )


def _column(members: Mapping[str, Any]) -> ColumnStatistics:
    known = {attribute: members[name] for name, attribute in _COLUMN_MEMBERS.items() if name in members}
    return ColumnStatistics(**known)
