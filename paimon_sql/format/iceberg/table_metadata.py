"""Iceberg's table metadata: one JSON file per version, with the schemas and snapshots of a table.

The files are interchangeable with those of Apache Paimon's connector. The version of a file is the id of the table's
snapshot, which is also Iceberg's snapshot id and sequence number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paimon_sql.format.bytes.bounded import decoding, load_json
from paimon_sql.format.metadata.snapshot import Snapshot

COMMIT_IDENTITY = "paimon-commit-identity"
"""The member of a snapshot's summary that identifies its Paimon commit."""


def commit_identity(snapshot: Snapshot) -> str:
    """The identity of a commit, which differs from that of another commit with the same snapshot id."""
    if snapshot.uuid is not None:
        return snapshot.uuid
    return f"{snapshot.commit_user}:{snapshot.commit_identifier}:{snapshot.time_millis}"


@dataclass(frozen=True)
class IcebergSnapshot:
    """A snapshot in table metadata; row ids exist since version 3 of the format."""

    id: int
    timestamp_millis: int
    manifest_list: str
    schema_id: int
    summary: Mapping[str, str]
    parent_id: int | None = None
    first_row_id: int | None = None
    added_rows: int | None = None

    @property
    def identity(self) -> str | None:
        """The identity of its Paimon commit; None if its writer did not record it."""
        return self.summary.get(COMMIT_IDENTITY)

    def total(self, name: str) -> int | None:
        """A total of its summary, such as ``records``; None if it is missing."""
        text = self.summary.get(f"total-{name}", "")
        return int(text) if text.isdecimal() else None

    def to_json(self) -> dict[str, Any]:
        """The snapshot as a JSON object."""
        body = {
            "snapshot-id": self.id,
            "sequence-number": self.id,
            "parent-snapshot-id": self.parent_id,
            "timestamp-ms": self.timestamp_millis,
            "summary": dict(self.summary),
            "manifest-list": self.manifest_list,
            "schema-id": self.schema_id,
            "first-row-id": self.first_row_id,
            "added-rows": self.added_rows,
        }
        return {name: value for name, value in body.items() if value is not None}

    @classmethod
    def of_json(cls, body: Mapping[str, Any]) -> IcebergSnapshot:
        """Parse a snapshot from a JSON object."""
        return cls(
            id=int(body["snapshot-id"]),
            timestamp_millis=int(body["timestamp-ms"]),
            manifest_list=str(body["manifest-list"]),
            schema_id=int(body.get("schema-id") or 0),
            summary=dict(body.get("summary") or {}),
            parent_id=body.get("parent-snapshot-id"),
            first_row_id=body.get("first-row-id"),
            added_rows=body.get("added-rows"),
        )


@dataclass(frozen=True)
class TableMetadata:
    """A version of a table's metadata; schemas and the partition spec are JSON objects.

    ``tags`` are snapshot ids by name; the branch ``main`` is always the current snapshot.
    """

    format_version: int
    table_uuid: str
    location: str
    last_updated_millis: int
    last_column_id: int
    schemas: Sequence[Mapping[str, Any]]
    current_schema_id: int
    spec: Mapping[str, Any]
    last_partition_id: int
    snapshots: Sequence[IcebergSnapshot]
    current_snapshot_id: int
    properties: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, int] = field(default_factory=dict)
    next_row_id: int | None = None

    @property
    def current(self) -> IcebergSnapshot:
        """The current snapshot."""
        return next(s for s in self.snapshots if s.id == self.current_snapshot_id)

    def members(self) -> dict[str, Any]:
        """The members of the JSON object."""
        body: dict[str, Any] = {
            "format-version": self.format_version,
            "table-uuid": self.table_uuid,
            "location": self.location,
            "last-sequence-number": self.current_snapshot_id,
            "last-updated-ms": self.last_updated_millis,
            "last-column-id": self.last_column_id,
            "schemas": [dict(s) for s in self.schemas],
            "current-schema-id": self.current_schema_id,
            "partition-specs": [dict(self.spec)],
            "default-spec-id": self.spec["spec-id"],
            "last-partition-id": self.last_partition_id,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "default-sort-order-id": 0,
            "snapshots": [s.to_json() for s in self.snapshots],
            "current-snapshot-id": self.current_snapshot_id,
            "snapshot-log": self._log(),
            "properties": dict(self.properties),
            "refs": {name: {"snapshot-id": i, "type": "tag"} for name, i in sorted(self.tags.items())},
        }
        if self.next_row_id is not None:
            body["next-row-id"] = self.next_row_id
        return body

    def to_json(self) -> str:
        """The JSON of the file."""
        return json.dumps(self.members(), indent=2, ensure_ascii=False)

    def _log(self) -> list[dict[str, int]]:
        """The times at which snapshots became current, never decreasing even if a clock did, as readers require."""
        log, latest = [], 0
        for snapshot in self.snapshots:
            latest = max(latest, snapshot.timestamp_millis)
            log.append({"timestamp-ms": latest, "snapshot-id": snapshot.id})
        return log


def parse_table_metadata(text: str | bytes, path: str) -> TableMetadata:
    """Parse a file of table metadata.

    Raises:
        CorruptFileError: the text is not a JSON object, lacks a member, or lacks its current snapshot.
    """
    with decoding("a file of Iceberg's table metadata", path):
        body = load_json(text)
        snapshots = [IcebergSnapshot.of_json(s) for s in body["snapshots"]]
        metadata = TableMetadata(
            format_version=int(body["format-version"]),
            table_uuid=str(body["table-uuid"]),
            location=str(body["location"]),
            last_updated_millis=int(body["last-updated-ms"]),
            last_column_id=int(body["last-column-id"]),
            schemas=list(body["schemas"]),
            current_schema_id=int(body["current-schema-id"]),
            spec=body["partition-specs"][0],
            last_partition_id=int(body["last-partition-id"]),
            snapshots=snapshots,
            current_snapshot_id=int(body["current-snapshot-id"]),
            properties=dict(body.get("properties") or {}),
            tags={
                str(name): int(ref["snapshot-id"])
                for name, ref in (body.get("refs") or {}).items()
                if ref.get("type") == "tag"
            },
            next_row_id=body.get("next-row-id"),
        )
        if metadata.current_snapshot_id not in {s.id for s in snapshots}:
            raise ValueError(f"its current snapshot {metadata.current_snapshot_id} is none of its snapshots")
        return metadata
