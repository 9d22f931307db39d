"""Partition register of a format table on a server (spec: REST API, ``partitions``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from paimon_sql.catalog.rest.client import RestClient
from paimon_sql.catalog.rest.http.errors import ConflictAnswerError, NotFoundAnswerError
from paimon_sql.errors import AlreadyExistsError, NoSuchTableError, PaimonError, UnsupportedError
from paimon_sql.format.options.operations.commit import METASTORE_PARTITIONED_TABLE
from paimon_sql.storage.format_tables.register import UNKNOWN, PartitionRegister, PartitionStatistics, Spec

_PARTITIONS = "partitions"
_NO_BUCKETS = -1


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

    def _post(self, body: dict[str, Any], *more: str) -> None:
        try:
            self.client.post(*self.table, _PARTITIONS, *more, body=body)
        except NotFoundAnswerError as error:
            raise self._no_table(error) from None
        except ConflictAnswerError as error:
            raise AlreadyExistsError(f"{self.name} has partition {error.name} already.", name=error.name) from None

    def _no_table(self, error: NotFoundAnswerError) -> PaimonError:
        if error.resource != "TABLE":
            return UnsupportedError(
                f"{self.name}: the catalog's server {self.client.server.address} keeps no lists of partitions.",
                remedy=f"Make the table without '{METASTORE_PARTITIONED_TABLE.key}', so that its folders are the list.",
            )
        return NoSuchTableError(f"Table {self.name} does not exist any more.", name=self.name)


def _spec(entry: Any) -> dict[str, str]:
    return {str(k): str(v) for k, v in (entry.get("spec") or {}).items() if v is not None}


def _figures(entry: Any) -> PartitionStatistics:
    names = ("recordCount", "fileSizeInBytes", "fileCount", "lastFileCreationTime")
    values = [entry.get(name) for name in names]
    return PartitionStatistics(*(value if isinstance(value, int) else UNKNOWN for value in values))


def _request(spec: Spec, figures: PartitionStatistics) -> dict[str, Any]:
    return {
        "spec": dict(spec),
        "recordCount": figures.rows,
        "fileSizeInBytes": figures.size,
        "fileCount": figures.files,
        "lastFileCreationTime": figures.last_file_millis,
        "totalBuckets": _NO_BUCKETS,
    }
