"""Environment of a REST catalog: version management, vended credentials, partitions (spec: REST API)."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from paimon_sql import errors
from paimon_sql.cache import Cache
from paimon_sql.catalog.identifier import MAIN_BRANCH, Identifier
from paimon_sql.catalog.rest.client import ConflictAnswerError, NotFoundAnswerError, RestClient, path_of
from paimon_sql.format.metadata.snapshot import Snapshot, parse_snapshot
from paimon_sql.format.options.engines.catalog import DLF_OSS_ENDPOINT
from paimon_sql.format.options.operations.commit import METASTORE_PARTITIONED_TABLE
from paimon_sql.process import share
from paimon_sql.storage.file_io import FileIO, ResolvingFileIO
from paimon_sql.storage.format_tables.table import UNKNOWN, PartitionRegister, PartitionStatistics, Spec
from paimon_sql.storage.metadata.catalog_environment import PartitionChange, VersionManagement


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
        found = self._found(branch, "snapshot")
        return None if found is None else self._snapshot(found.get("snapshot"))

    def get(self, branch: str, snapshot_id: int) -> Snapshot | None:
        found = self._found(branch, "snapshots", str(snapshot_id))
        return None if found is None else self._snapshot(found)

    def commit(
        self, branch: str, snapshot: Snapshot, base: Snapshot | None, partitions: Sequence[PartitionChange]
    ) -> bool:
        body: dict[str, object] = {
            "tableId": self.table_id,
            "snapshot": snapshot.members(),
            "statistics": [_statistics(change.values, change, change.buckets) for change in partitions],
        }
        if base is not None and base.uuid is not None:
            body["baseSnapshotUuid"] = base.uuid
        try:
            response = self.client.post(*self._path(branch), "commit", body=body)
        except NotFoundAnswerError:
            raise self._no_table() from None
        if not isinstance(response.get("success"), bool):
            problem = f"{self.table}: the catalog's server did not report whether the commit succeeded."
            raise errors.AnswerLostError(problem)
        return bool(response["success"])

    def roll_back(self, branch: str, latest_id: int, *, snapshot_id: int | None = None, tag: str | None = None) -> None:
        instant = {"type": "tag", "tagName": tag} if tag else {"type": "snapshot", "snapshotId": snapshot_id}
        self.client.post(*self._path(branch), "rollback", body={"instant": instant, "fromSnapshot": latest_id})

    def create_branch(self, branch: str, name: str, tag: str | None) -> None:
        try:
            self.client.post(*self._path(branch), "branches", body={"branch": name, "fromTag": tag})
        except ConflictAnswerError:
            raise errors.AlreadyExistsError(f"Branch '{name}' already exists.", name=name) from None

    def delete_branch(self, name: str) -> None:
        try:
            self.client.delete(*self._path(MAIN_BRANCH), "branches", name)
        except NotFoundAnswerError:
            raise errors.NotFoundError(f"{self.table}: branch '{name}' does not exist.", name=name) from None

    def rename_branch(self, name: str, target: str) -> None:
        try:
            self.client.post(*self._path(MAIN_BRANCH), "branches", name, "rename", body={"toBranch": target})
        except ConflictAnswerError:
            raise errors.AlreadyExistsError(f"Branch '{target}' already exists.", name=target) from None

    def fast_forward(self, name: str) -> None:
        self.client.post(*self._path(MAIN_BRANCH), "branches", name, "forward", body={})

    def mark_done(self, branch: str, partition: Mapping[str, str]) -> None:
        try:
            self.client.post(*self._path(branch), "partitions", "mark", body={"specs": [dict(partition)]})
        except errors.UnsupportedError:
            return  # the server has no partitions of this table, so no listener waits for the event

    def _path(self, branch: str) -> tuple[str, ...]:
        return path_of("tables", Identifier(self.table.database, self.table.table, branch))

    def _snapshot(self, members: object) -> Snapshot:
        return parse_snapshot(json.dumps(members), f"{self.client.server.address}: snapshot of {self.table}")

    def _found(self, branch: str, *path: str) -> Any:
        """The server's entry of a snapshot; None if there is none."""
        try:
            return self.client.get(*self._path(branch), *path).get("snapshot")
        except NotFoundAnswerError as error:
            if error.resource not in ("SNAPSHOT", ""):
                raise self._no_table() from None
            return None

    def _no_table(self) -> errors.NoSuchTableError:
        return errors.NoSuchTableError(
            f"Table {self.table} no longer exists, or was replaced by another one.",
            name=str(self.table),
            remedy="Run the statement again.",
        )


_NO_BUCKETS = -1


def _statistics(
    spec: Mapping[str, str], figures: PartitionChange | PartitionStatistics, buckets: int = _NO_BUCKETS
) -> dict[str, object]:
    """The statistics of a partition as JSON (Paimon: `PartitionStatistics`)."""
    return {
        "spec": dict(spec),
        "recordCount": figures.rows,
        "fileSizeInBytes": figures.size,
        "fileCount": figures.files,
        "lastFileCreationTime": figures.last_file_millis,
        "totalBuckets": buckets,
    }


_EARLY_SECONDS = 3600.0
_MAX_CACHED = 1000


@dataclass(frozen=True)
class Token:
    """A vended token (Paimon: `RESTToken`).

    Attributes:
        options: options of the file system.
        renewed: the time of renewal, in seconds since the epoch: an hour before it expires, but not before half of its
            lifetime.
    """

    options: Mapping[str, str] = field(repr=False)
    renewed: float

    def holds(self) -> bool:
        """Whether the token need not be renewed yet."""
        return time.time() < self.renewed


@dataclass(frozen=True)
class TokenProvider:
    """The tokens of a table; it can be pickled and be a key.

    Attributes:
        client: the server.
        table: the path of the table.
    """

    client: RestClient
    table: tuple[str, ...]

    def token(self) -> Token:
        """The current token, shared in this process.

        Raises:
            CatalogUnavailableError: the server has none.
            PaimonError: the server refuses.
        """
        return _tokens().compute(self, self._vended, once=False)

    def _vended(self) -> Token:
        now = time.time()
        response = self.client.get(*self.table, "token")
        try:
            options = {str(k): str(v) for k, v in response["token"].items()}
            expires = float(response["expiresAtMillis"]) / 1000
        except (KeyError, TypeError, ValueError, AttributeError):
            raise errors.CatalogUnavailableError(
                f"The catalog's server {self.client.server.address} returned no token for the files of"
                f" {'.'.join(self.table[1::2])}."
            ) from None
        return Token(options, max(expires - _EARLY_SECONDS, (now + expires) / 2))


class TokenFileIO(ResolvingFileIO):
    """Reads and writes a table's files with the current token (Paimon: `RESTTokenFileIO`).

    Args:
        provider: the provider of tokens.
        options: the catalog's options.
    """

    credentials_change = True

    def __init__(self, provider: TokenProvider, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self._provider = provider
        self._token: Token | None = None
        self._files = ResolvingFileIO(options)

    def __reduce__(self) -> tuple[type[TokenFileIO], tuple[TokenProvider, dict[str, str]]]:  # type: ignore[override]
        return type(self), (self._provider, self.options)

    def of(self, path: str) -> FileIO:
        token = self._provider.token()
        if token is not self._token:
            endpoint = self.options.get(DLF_OSS_ENDPOINT.key)
            named = {"fs.oss.endpoint": endpoint} if endpoint else {}
            self._files, self._token = ResolvingFileIO({**self.options, **token.options, **named}), token
        return self._files.of(path)


_tokens = share(lambda: Cache[TokenProvider, Token](_MAX_CACHED, holds=Token.holds))


_PARTITIONS = "partitions"


class _Entry(TypedDict):
    spec: dict[str, str | None] | None


@dataclass(frozen=True)
class RestPartitions(PartitionRegister):
    """The partition register of a table.

    Attributes:
        client: the server.
        table: the path of the table.
        name: its full name, for messages.
    """

    client: RestClient
    table: tuple[str, ...]
    name: str

    def all(self) -> list[tuple[Spec, PartitionStatistics]]:
        try:
            found = self.client.listed(*self.table, _PARTITIONS, member=_PARTITIONS)
        except NotFoundAnswerError as error:
            raise self._no_table(error) from None
        return [(_spec(entry), _figures(entry)) for entry in found]

    def add(self, specs: Sequence[Spec], *, strict: bool = False) -> None:
        self._post({"partitionSpecs": [dict(s) for s in specs], "ignoreIfExists": not strict})

    def report(self, figures: Sequence[tuple[Spec, PartitionStatistics]], *, anew: bool) -> None:
        self._post(
            {
                "partitionSpecs": [dict(s) for s, _ in figures],
                "ignoreIfExists": True,
                "partitionStatistics": [_statistics(s, f) for s, f in figures],
                "replaceStatistics": anew,
            }
        )

    def drop(self, specs: Sequence[Spec]) -> None:
        self._post({"partitionSpecs": [dict(s) for s in specs], "ignoreIfNotExists": True}, "drop")

    def _post(self, body: Mapping[str, object], *more: str) -> None:
        try:
            self.client.post(*self.table, _PARTITIONS, *more, body=body)
        except NotFoundAnswerError as error:
            raise self._no_table(error) from None
        except ConflictAnswerError as error:
            problem = f"{self.name} already has partition {error.name}."
            raise errors.AlreadyExistsError(problem, name=error.name) from None

    def _no_table(self, error: NotFoundAnswerError) -> errors.PaimonError:
        if error.resource != "TABLE":
            return errors.UnsupportedError(
                f"{self.name}: the catalog's server {self.client.server.address} does not store partitions.",
                remedy=f"Create the table without '{METASTORE_PARTITIONED_TABLE.key}' to list its directories.",
            )
        return errors.NoSuchTableError(f"Table {self.name} no longer exists.", name=self.name)


def _spec(entry: _Entry) -> dict[str, str]:
    return {str(k): str(v) for k, v in (entry.get("spec") or {}).items() if v is not None}


def _figures(entry: Mapping[str, object]) -> PartitionStatistics:
    names = ("recordCount", "fileSizeInBytes", "fileCount", "lastFileCreationTime")
    values = [entry.get(name) for name in names]
    return PartitionStatistics(*(value if isinstance(value, int) else UNKNOWN for value in values))
