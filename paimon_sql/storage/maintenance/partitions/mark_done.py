"""Marking partitions as done, by the actions of ``partition.mark-done-action``."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from paimon_sql.errors import InvalidOptionError, PaimonError, UnsupportedError
from paimon_sql.format.layout.partitions import PartitionPaths, unescape_path_name
from paimon_sql.format.options.operations.commit import METASTORE_PARTITIONED_TABLE
from paimon_sql.format.options.table import partition as partition_options
from paimon_sql.format.options.values import comma_separated
from paimon_sql.storage.file_io.external.http import HttpResponse
from paimon_sql.storage.file_io.external.locations import redacted
from paimon_sql.storage.metadata.catalog_environment import PartitionRegistry, as_done
from paimon_sql.storage.metadata.refs.tags import SUCCESS, write_success_file
from paimon_sql.storage.table.table import Table


def mark_done(actions: Iterable[DoneAction], folders: Iterable[str]) -> None:
    """Announce partitions in order.

    Args:
        actions: the actions.
        folders: the directories of the partitions below the table's.

    Raises:
        PaimonError: an action failed; those before were done.
    """
    actions = list(actions)
    for directory in folders:
        for action in actions:
            action.announce(directory)


def mark_written_partitions(table: Table, partitions: Iterable[bytes]) -> list[str]:
    """Mark the partitions of a batch write as done if the table's options require it; return their directories.

    Args:
        table: the table.
        partitions: the serialized partitions.

    Raises:
        PaimonError: as `mark_done`, or an action is not possible.
    """
    if not table.schema.partition_keys or not table.options.get(partition_options.PARTITION_END_INPUT_TO_DONE):
        return []
    paths = PartitionPaths.of(table.schema)
    directories = sorted({paths.path(partition) for partition in partitions})
    mark_done(done_actions(table), directories)
    return directories


_ACTION = partition_options.PARTITION_MARK_DONE_ACTION
_SECONDS = 60.0
_MOST_BYTES = 64 * 1024


class DoneAction(ABC):
    """Announces complete partitions (Paimon: `PartitionMarkDoneAction`).

    Class attributes:
        name: the value of the option.
    """

    name: ClassVar[str]

    def __init__(self, table: Table) -> None:
        self.table = table

    @abstractmethod
    def check(self) -> None:
        """Raise an error if the action is impossible; called before anything is announced."""

    @abstractmethod
    def announce(self, partition: str) -> None:
        """Announce that a partition is complete.

        Args:
            partition: its directory below the table's, such as ``dt=2024-01-31/h=8``.
        """


class SuccessFile(DoneAction):
    """Writes a file ``_SUCCESS`` to the partition's directory."""

    name = "success-file"

    def check(self) -> None:
        """Always possible."""

    def announce(self, partition: str) -> None:
        write_success_file(self.table.file_io, f"{self.table.path}/{partition}/{SUCCESS}")


class HttpReport(DoneAction):
    """Posts to a web server that the catalog allows, which must respond ``{"result": "SUCCESS"}``.

    The table's option alone causes no request, as every user who may alter a table could otherwise reach any server.
    """

    name = "http-report"

    def check(self) -> None:
        self._url()

    def _url(self) -> str:
        key = partition_options.PARTITION_MARK_DONE_ACTION_HTTP_URL.key
        url: str | None = self.table.options.get(partition_options.PARTITION_MARK_DONE_ACTION_HTTP_URL)
        if not url:
            raise InvalidOptionError(
                f"{self.table.name}: the action '{self.name}' needs the option '{key}'.",
                key=key,
                remedy="Set it to the address of the server, as http://host/path.",
            )
        self.table.access.check_url(url, key)
        return url

    def announce(self, partition: str) -> None:
        options, url = self.table.options, self._url()
        body = {
            "partition": partition,
            "table": self.table.name,
            "path": self.table.path,
            "params": options.get(partition_options.PARTITION_MARK_DONE_ACTION_HTTP_PARAMS),
        }
        try:
            with HttpResponse(
                "POST",
                url,
                seconds=_SECONDS,
                most_bytes=_MOST_BYTES,
                body=json.dumps(body).encode(),
                headers={"Content-Type": "application/json"},
            ) as answer:
                result = _result(answer.read())
        except PaimonError as error:
            raise PaimonError(
                f"{self.table.name}: partition {partition} could not be reported as done to {redacted(url)}:"
                f" {error.message}"
            ) from error
        if result.upper() != "SUCCESS":
            raise PaimonError(
                f"{self.table.name}: {redacted(url)} answered '{result[:100]}' instead of 'SUCCESS' to the report"
                f" that partition {partition} is done."
            )


def _result(answer: bytes) -> str:
    """Return the result in a server's response; empty if there is none."""
    try:
        parsed = json.loads(answer)
    except (ValueError, RecursionError):
        return ""
    return str(parsed.get("result")) if isinstance(parsed, dict) else ""


class _MetastoreAction(DoneAction):
    """An action of a catalog with a partition registry."""

    what: ClassVar[str]

    def check(self) -> None:
        self._listing()

    def _listing(self) -> PartitionRegistry:
        if self.table.partition_registry is not None:
            return self.table.partition_registry
        raise UnsupportedError(
            f"{self.table.name}: the action '{self.name}' {self.what}, but its catalog keeps no partitions.",
            remedy=f"Set '{_ACTION.key}' to {SuccessFile.name} or {HttpReport.name}; a Hive"
            f" catalog keeps those of tables that are created with '{METASTORE_PARTITIONED_TABLE.key}'.",
        )


def values_of(partition: str) -> dict[str, str]:
    """Parse the directory of a partition to its partition spec."""
    parts = (part.partition("=") for part in partition.split("/"))
    return {unescape_path_name(k): unescape_path_name(v) for k, _, v in parts}


class DonePartition(_MetastoreAction):
    """Adds a partition ``<value>.done`` to the metastore."""

    name = "done-partition"
    what = "adds a partition to the metastore"

    def announce(self, partition: str) -> None:
        self._listing().add([as_done(values_of(partition))])


class MarkEvent(_MetastoreAction):
    """Triggers an event of the metastore, or of the server that manages the table's snapshots."""

    name = "mark-event"
    what = "is an event of the metastore"

    def check(self) -> None:
        if self.table.version_management is None:
            super().check()

    def announce(self, partition: str) -> None:
        if self.table.version_management is None:
            self._listing().mark_done(values_of(partition))
        else:
            self.table.version_management.mark_done(self.table.branch, values_of(partition))


class Custom(DoneAction):
    """Calls a Java class."""

    name = "custom"

    def check(self) -> None:
        class_name = self.table.options.get(partition_options.PARTITION_MARK_DONE_ACTION_CUSTOM_CLASS)
        raise UnsupportedError(
            f"{self.table.name}: the action '{self.name}' calls {class_name or 'a class'} of Java, which only"
            " Java engines support.",
            remedy=f"Set '{_ACTION.key}' to {SuccessFile.name} or {HttpReport.name}.",
        )

    def announce(self, partition: str) -> None:
        self.check()


ACTIONS: dict[str, type[DoneAction]] = {
    action.name: action for action in (SuccessFile, DonePartition, MarkEvent, HttpReport, Custom)
}
"""The actions by name."""


def done_actions(table: Table) -> list[DoneAction]:
    """Return the actions that the table's options name, after checking them.

    Raises:
        InvalidOptionError: there is no such action, or it lacks an option.
        UnsupportedError: it is not possible here.
    """
    key = _ACTION.key
    names = dict.fromkeys(comma_separated(table.options.get(_ACTION)))
    for name in names:
        if name not in ACTIONS:
            raise InvalidOptionError(
                f"The option '{key}' cannot be '{name}'.", key=key, remedy=f"Use some of {', '.join(ACTIONS)}."
            )
    if not names:
        raise InvalidOptionError(f"The option '{key}' names no action.", key=key)
    actions = [ACTIONS[name](table) for name in names]
    for action in actions:
        action.check()
    return actions
