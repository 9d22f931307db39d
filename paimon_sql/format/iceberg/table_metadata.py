"""Iceberg's table metadata: one JSON file a version, which names the schemas and snapshots of a table.

What Apache Paimon's connector writes is read, and what is written here it reads. The version of a file is the number of
the table's snapshot, which is Iceberg's snapshot id and sequence number as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paimon_sql.format.bytes.bounded import decoding, load_json
from paimon_sql.format.metadata.snapshot import Snapshot

COMMIT_IDENTITY = "paimon-commit-identity"
"""What the summary of a snapshot calls the commit that it was made of."""


def commit_identity(snapshot: Snapshot) -> str:
    """What tells a commit from another one that has its number."""
    if snapshot.uuid is not None:
        return snapshot.uuid
    return f"{snapshot.commit_user}:{snapshot.commit_identifier}:{snapshot.time_millis}"


@dataclass(frozen=True)
class IcebergSnapshot:
    """A snapshot, as table metadata name it; row ids are there since version 3 of the format."""

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
        """The commit that it was made of; None where its writer does not say."""
        return self.summary.get(COMMIT_IDENTITY)

    def total(self, name: str) -> int | None:
        """A total of its summary, such as ``records``; None if it is not there."""
        text = self.summary.get(f"total-{name}", "")
        return int(text) if text.isdecimal() else None

    def to_json(self) -> dict[str, Any]:
        """The object in the file."""
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
        """The snapshot that an object tells of."""
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
    """A version of a table's metadata; schemas and the partition specification are objects of the file.

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
        """The text of the file."""
        return json.dumps(self.members(), indent=2, ensure_ascii=False)

    def _log(self) -> list[dict[str, int]]:
        """When each snapshot became the current one; clocks that went back are left out of it, as readers insist."""
        log, latest = [], 0
        for snapshot in self.snapshots:
            latest = max(latest, snapshot.timestamp_millis)
            log.append({"timestamp-ms": latest, "snapshot-id": snapshot.id})
        return log


def parse_table_metadata(text: str | bytes, path: str) -> TableMetadata:
    """Read a file of table metadata.

    Raises:
        CorruptFileError: the text is no JSON object, lacks a member, or lacks its current snapshot.
    """
    with decoding("a file of Iceberg's table metadata", path):
        body = load_json(text)
        snapshots = [IcebergSnapshot.of_json(s) for s in body["snapshots"]]
        made = TableMetadata(
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
        if made.current_snapshot_id not in {s.id for s in snapshots}:
            raise ValueError(f"its current snapshot {made.current_snapshot_id} is none of its snapshots")
        return made
