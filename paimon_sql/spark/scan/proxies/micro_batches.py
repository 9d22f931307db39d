"""Streaming source: Spark asks for the latest position of a stream, then reads between two positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion.types import spark_struct
from paimon_sql.spark.jvm.gateway import CONNECTOR, EXECUTION, JavaObject, Jvm
from paimon_sql.spark.scan.proxies.python import Task, input_partitions, reader_factory
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.streams.position import Position, parse_position
from paimon_sql.storage.streams.source import StreamSource

_STREAMING = f"{CONNECTOR}.read.streaming"
_OFFSET = f"{EXECUTION}.datasources.v2.python.PythonStreamingSourceOffset"
_ALL = "ReadAllAvailable"


class MicroBatchStreamProxy(JavaObject):
    """A table as a stream of micro-batches, read by Python workers.

    Args:
        jvm: the JVM.
        source: the stream.
        fields: the columns of its rows.
        task_of: the task that reads a split.
    """

    def __init__(
        self, jvm: Jvm, source: StreamSource, fields: Sequence[DataField], task_of: Callable[[Split], Task]
    ) -> None:
        super().__init__(jvm)
        self._source = source
        self._fields = fields
        self._task_of = task_of
        self._until: Position | None = None

    def toString(self) -> str:
        return f"paimon {self._source.table.name}"

    def initialOffset(self) -> Any:
        return self._offset(self._begin)

    @cached_property
    def _begin(self) -> Position:
        return self._source.start()

    def deserializeOffset(self, text: str) -> Any:
        return self._offset(parse_position(text))

    def getDefaultReadLimit(self) -> Any:
        # Only its class matters (`latestOffset`): it marks a trigger with limits.
        return self.jvm.cls(f"{_STREAMING}.ReadLimit").maxRows(2**63 - 1)

    def reportLatestOffset(self) -> Any:
        return None

    def prepareForTriggerAvailableNow(self) -> None:
        self._until = self._source.newest()

    def latestOffset(self, *given: Any) -> Any:
        """The end of the next micro-batch; ``given`` is its start and its read limit, both or neither."""
        start, limit = given if given else (None, None)
        begin = self._begin if start is None else parse_position(start.json())
        limits = None if limit is None or limit.getClass().getSimpleName() == _ALL else self._source.limits
        end = self._source.end(begin, limits, self._until)
        return start if end is None else self._offset(end)

    def planInputPartitions(self, start: Any, end: Any) -> Any:
        splits = self._source.splits(parse_position(start.json()), parse_position(end.json()))
        return input_partitions(self.jvm, [[self._task_of(split)] for split in splits])

    def createReaderFactory(self) -> Any:
        return reader_factory(self.jvm, spark_struct(self._fields))

    def commit(self, end: Any) -> None:
        self._source.done(parse_position(end.json()))

    def stop(self) -> None:
        pass

    def _offset(self, position: Position) -> Any:
        return self.jvm.new(_OFFSET, position.to_json())

    class Java:
        implements = [f"{_STREAMING}.MicroBatchStream", f"{_STREAMING}.SupportsTriggerAvailableNow"]
