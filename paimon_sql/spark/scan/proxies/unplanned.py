"""Unplanned scan: Spark pushed nothing, as for streams, so it is planned only if Spark asks for a batch."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.connector.interfaces import ScanInterface
from paimon_sql.spark.conversion.types import spark_struct
from paimon_sql.spark.jvm.gateway import CONNECTOR, Jvm
from paimon_sql.spark.scan.proxies.planned import PlannedScanProxy


class UnplannedScanProxy(ScanInterface):
    """A stream of micro-batches, or a batch of all rows.

    Args:
        jvm: the JVM.
        name: the table's name.
        fields: the columns.
        plan: plans the scan of the batch.
    """

    def __init__(self, jvm: Jvm, name: str, fields: Sequence[DataField], plan: Callable[[], PlannedScanProxy]) -> None:
        super().__init__(jvm)
        self._name = name
        self._fields = fields
        self._plan = plan

    @cached_property
    def _planned(self) -> PlannedScanProxy:
        return self._plan()

    def toString(self) -> str:
        return self.description()

    def description(self) -> str:
        return f"paimon {self._name}"

    def readSchema(self) -> Any:
        return self.jvm.struct(json.dumps(spark_struct(self._fields)))

    def toBatch(self) -> Any:
        return self._planned.toBatch()

    def estimateStatistics(self) -> Any:
        return self._planned.estimateStatistics()

    def estimateSizeInBytes(self) -> Any:
        return self._planned.estimateSizeInBytes()

    def reflectsFullyPushedDownFilters(self) -> bool:
        return True

    class Java:
        implements = [f"{CONNECTOR}.read.SupportsReportStatistics"]
