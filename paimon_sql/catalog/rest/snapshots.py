"""Version management by a server: snapshots and branches (spec: REST API, ``commit``, ``branches``)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paimon_sql.catalog.identifier import MAIN_BRANCH, Identifier
from paimon_sql.catalog.rest.client import RestClient
from paimon_sql.catalog.rest.http.errors import ConflictAnswerError, NotFoundAnswerError
from paimon_sql.errors import AlreadyExistsError, AnswerLostError, NoSuchTableError, NotFoundError, UnsupportedError
from paimon_sql.format.metadata.snapshot import Snapshot, parse_snapshot
from paimon_sql.storage.metadata.environment.version_management import PartitionChange, VersionManagement

_SNAPSHOT = "SNAPSHOT"


@dataclass(frozen=True)
class RestVersionManagement(VersionManagement):
    """The snapshots of a table and its branches.

    Attributes:
        client: the server.
        table: the table's name, with any branch.
        table_id: the server's id of the table, which distinguishes it from a later table of the same name.
    """

    client: RestClient
    table: Identifier
    table_id: str

    def latest(self, branch: str) -> Snapshot | None:
        try:
            found = self.client.get(*self._path(branch), "snapshot").get("snapshot")
        except NotFoundAnswerError as error:
            self._refuse_unless_no_snapshot(error)
            return None
        return None if found is None else self._snapshot(found.get("snapshot"))

    def get(self, branch: str, snapshot_id: int) -> Snapshot | None:
        try:
            found = self.client.get(*self._path(branch), "snapshots", str(snapshot_id)).get("snapshot")
        except NotFoundAnswerError as error:
            self._refuse_unless_no_snapshot(error)
            return None
        return None if found is None else self._snapshot(found)

    def commit(
        self, branch: str, snapshot: Snapshot, base: Snapshot | None, partitions: Sequence[PartitionChange]
    ) -> bool:
        body: dict[str, Any] = {
            "tableId": self.table_id,
            "snapshot": snapshot.members(),
            "statistics": [_statistics(change) for change in partitions],
        }
        if base is not None and base.uuid is not None:
            body["baseSnapshotUuid"] = base.uuid
        try:
            response = self.client.post(*self._path(branch), "commit", body=body)
        except NotFoundAnswerError as error:
            raise self._no_table(error) from None
        if not isinstance(response.get("success"), bool):
            raise AnswerLostError(f"{self.table}: the catalog's server did not say whether the commit succeeded.")
        return bool(response["success"])

    def roll_back(self, branch: str, latest_id: int, *, snapshot_id: int | None = None, tag: str | None = None) -> None:
        instant = {"type": "tag", "tagName": tag} if tag else {"type": "snapshot", "snapshotId": snapshot_id}
        self.client.post(*self._path(branch), "rollback", body={"instant": instant, "fromSnapshot": latest_id})

    def create_branch(self, branch: str, name: str, tag: str | None) -> None:
        try:
            self.client.post(*self._path(branch), "branches", body={"branch": name, "fromTag": tag})
        except ConflictAnswerError:
            raise AlreadyExistsError(f"Branch '{name}' already exists.", name=name) from None

    def delete_branch(self, name: str) -> None:
        try:
            self.client.delete(*self._path(MAIN_BRANCH), "branches", name)
        except NotFoundAnswerError:
            raise NotFoundError(f"{self.table}: branch '{name}' does not exist.", name=name) from None

    def rename_branch(self, name: str, target: str) -> None:
        body = {"toBranch": target}
        try:
            self.client.post(*self._path(MAIN_BRANCH), "branches", name, "rename", body=body)
        except ConflictAnswerError:
            raise AlreadyExistsError(f"Branch '{target}' already exists.", name=target) from None

    def fast_forward(self, name: str) -> None:
        self.client.post(*self._path(MAIN_BRANCH), "branches", name, "forward", body={})

    def mark_done(self, branch: str, partition: Mapping[str, str]) -> None:
        try:
            self.client.post(*self._path(branch), "partitions", "mark", body={"specs": [dict(partition)]})
        except UnsupportedError:
            return  # the server has no partitions of this table, so no listener waits for the event

    def _path(self, branch: str) -> tuple[str, ...]:
        named = Identifier(self.table.database, self.table.table, branch)
        return "databases", named.database, "tables", named.object_name

    def _snapshot(self, members: Any) -> Snapshot:
        return parse_snapshot(json.dumps(members), f"{self.client.server.address}: snapshot of {self.table}")

    def _refuse_unless_no_snapshot(self, error: NotFoundAnswerError) -> None:
        if error.resource not in (_SNAPSHOT, ""):
            raise self._no_table(error) from None

    def _no_table(self, error: NotFoundAnswerError) -> NoSuchTableError:
        return NoSuchTableError(
            f"Table {self.table} does not exist any more, or is another one of that name.",
            name=str(self.table),
            remedy="Run the statement again.",
        )


def _statistics(change: PartitionChange) -> dict[str, Any]:
    return {
        "spec": dict(change.values),
        "recordCount": change.rows,
        "fileSizeInBytes": change.size,
        "fileCount": change.files,
        "lastFileCreationTime": change.last_file_millis,
        "totalBuckets": change.buckets,
    }
