"""Partition register of a format table on a server (spec: REST API, ``partitions``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from paimon_sql.catalog.rest.client import RestClient
from paimon_sql.catalog.rest.http.errors import ConflictAnswerError, NotFoundAnswerError
from paimon_sql.errors import AlreadyExistsError, NoSuchTableError, PaimonError, UnsupportedError
from paimon_sql.format.options.operations.commit import METASTORE_PARTITIONED_TABLE
from paimon_sql.storage.format_tables.register import UNKNOWN, PartitionRegister, PartitionStatistics, Spec

_PARTITIONS = "partitions"
_NO_BUCKETS = -1


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
                "partitionStatistics": [_request(s, f) for s, f in figures],
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
            raise AlreadyExistsError(f"{self.name} already has partition {error.name}.", name=error.name) from None

    def _no_table(self, error: NotFoundAnswerError) -> PaimonError:
        if error.resource != "TABLE":
            return UnsupportedError(
                f"{self.name}: the catalog's server {self.client.server.address} does not store partitions.",
                remedy=f"Create the table without '{METASTORE_PARTITIONED_TABLE.key}' to list its directories.",
            )
        return NoSuchTableError(f"Table {self.name} no longer exists.", name=self.name)


def _spec(entry: _Entry) -> dict[str, str]:
    return {str(k): str(v) for k, v in (entry.get("spec") or {}).items() if v is not None}


def _figures(entry: Mapping[str, object]) -> PartitionStatistics:
    names = ("recordCount", "fileSizeInBytes", "fileCount", "lastFileCreationTime")
    values = [entry.get(name) for name in names]
    return PartitionStatistics(*(value if isinstance(value, int) else UNKNOWN for value in values))


def _request(spec: Spec, figures: PartitionStatistics) -> dict[str, object]:
    return {
        "spec": dict(spec),
        "recordCount": figures.rows,
        "fileSizeInBytes": figures.size,
        "fileCount": figures.files,
        "lastFileCreationTime": figures.last_file_millis,
        "totalBuckets": _NO_BUCKETS,
    }
