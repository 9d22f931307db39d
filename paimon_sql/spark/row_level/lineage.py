"""Events for OpenLineage of statements that its listener does not see: UPDATE, DELETE and MERGE.

They run as calls that collect rows and commit by themselves, so that Spark has no plan that writes. The events are sent
by the listener's own client, to where it sends the others, as runs of the same application.
"""

from __future__ import annotations

import json
import logging
import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TypeVar

from paimon_sql.format.metadata.snapshot import Operation
from paimon_sql.spark.connector.lineage import LISTENER, PRODUCER, Dataset, dataset_of, facet, is_traced
from paimon_sql.spark.java.catalyst import LogicalPlan
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.gateway import Jvm, private_field
from paimon_sql.spark.jvm.proxy import python_object
from paimon_sql.spark.row_level.target import TargetProxy
from paimon_sql.spark.tables.base import SchemaTable
from paimon_sql.spark.tables.system_table import DerivedTableProxy
from paimon_sql.sql.text.secrets import without_secrets
from paimon_sql.storage.table.table import Table

_CLIENT = "io.openlineage.client"
_RUN_EVENT = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_LOG = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class TracedStatement:
    """A statement that changes rows.

    Attributes:
        operation: its kind.
        text: its SQL.
        table: the table that it changes.
        changed_rows: the plan of the rows that it changes.
    """

    operation: Operation
    text: str
    table: Table
    changed_rows: LogicalPlan


@contextmanager
def traced(jvm: Jvm, describe: Callable[[], TracedStatement]) -> Iterator[Callable[[int], None]]:
    """Send the events of the beginning and of the end of the block, if the listener of OpenLineage is there.

    The block gets a function that takes the number of rows that were changed. Events that cannot be sent are logged as
    warnings.

    Args:
        jvm: the JVM.
        describe: describes the statement, which is analyzed for it.
    """
    run = _attempt(lambda: Run(jvm, describe())) if is_traced(jvm) else None
    rows: list[int] = []
    if run is None:
        yield rows.append
        return
    _attempt(lambda: run.send("START"))
    try:
        yield rows.append
    except Exception as error:
        message = str(error)
        _attempt(lambda: run.send("FAIL", error=message))
        raise
    _attempt(lambda: run.send("COMPLETE", rows=sum(rows)))


def _attempt(action: Callable[[], T]) -> T | None:
    try:
        return action()
    except Exception as error:
        _LOG.warning("An event for OpenLineage was not sent: %s: %s", type(error).__name__, error)
        return None


class Run:
    """The run of one statement, as OpenLineage has it."""

    def __init__(self, jvm: Jvm, statement: TracedStatement) -> None:
        self._jvm = jvm
        self._statement = statement
        self._id = str(uuid.uuid4())
        self._emitter = _emitter(jvm)
        self._output = dataset_of(statement.table)
        self._inputs = list(_sources(jvm, statement.changed_rows))

    def send(self, kind: str, *, rows: int | None = None, error: str | None = None) -> None:
        """Send an event.

        Args:
            kind: START, COMPLETE or FAIL.
            rows: the number of changed rows.
            error: the message of the error.
        """
        event = json.dumps(self._event(kind, rows, error))
        self._emitter.emit(self._jvm.static(f"{_CLIENT}.OpenLineageClientUtils", "runEventFromJson")(event))

    def _event(self, kind: str, rows: int | None, error: str | None) -> dict[str, object]:
        emitter = self._emitter
        namespace, application = str(emitter.getJobNamespace()), str(emitter.getApplicationJobName())
        operation = f"{self._statement.operation.value} {self._output.name}"
        parent = facet(
            "1-2-0/ParentRunFacet",
            run={"runId": str(emitter.getApplicationRunId().toString())},
            job={"namespace": namespace, "name": application},
        )
        failure = facet("1-0-1/ErrorMessageRunFacet", message=error, programmingLanguage="SQL")
        statistics = {} if rows is None else {
            "outputStatistics": facet("1-0-2/OutputStatisticsOutputDatasetFacet", rowCount=rows)
        }  # fmt: skip
        return {
            "eventType": kind,
            "eventTime": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            "producer": PRODUCER,
            "schemaURL": _RUN_EVENT,
            "run": {"runId": self._id, "facets": {"parent": parent, **({"errorMessage": failure} if error else {})}},
            "job": {
                "namespace": namespace,
                "name": f"{application}.{re.sub(r'[^a-z0-9]+', '_', operation.lower()).strip('_')}",
                "facets": {
                    "sql": facet("1-1-0/SQLJobFacet", query=without_secrets(self._statement.text)),
                    "jobType": facet(
                        "2-0-4/JobTypeJobFacet", processingType="BATCH", integration="SPARK", jobType="SQL_JOB"
                    ),
                },
            },
            "inputs": self._inputs,
            "outputs": [{**_named(self._output), "outputFacets": statistics}],
        }


def _named(dataset: Dataset) -> dict[str, object]:
    return {"namespace": dataset.namespace, "name": dataset.name, "facets": dataset.facets}


def _emitter(jvm: Jvm) -> JavaObject:
    """The listener's client, which exists from its first event on."""
    listeners: Sequence[JavaObject] = jvm.context._jsc.sc().listenerBus().listeners()
    listener = next(each for each in listeners if each.getClass().getName() == LISTENER)
    _, factory = private_field(listener, "contextFactory")
    _, emitter = private_field(factory, "openLineageEventEmitter")
    return emitter


def _sources(jvm: Jvm, plan: LogicalPlan) -> Iterator[dict[str, object]]:
    """The datasets that a plan reads, without the table that is changed: tables of ours, and directories of files."""
    found: dict[tuple[str, str], dict[str, object]] = {}
    for part in (plan, *jvm.items(plan.subqueriesAll())):
        for leaf in jvm.items(part.collectLeaves()):
            for dataset in _datasets(jvm, leaf):
                found[str(dataset["namespace"]), str(dataset["name"])] = dataset
    yield from found.values()


def _datasets(jvm: Jvm, leaf: LogicalPlan) -> Iterator[dict[str, object]]:
    kind = leaf.getClass().getSimpleName()
    if kind == "DataSourceV2Relation":
        proxy = python_object(jvm, leaf.table())
        if isinstance(proxy, SchemaTable | DerivedTableProxy) and not isinstance(proxy, TargetProxy):
            yield _named(dataset_of(proxy.table))
    elif kind == "LogicalRelation" and leaf.relation().getClass().getSimpleName() == "HadoopFsRelation":
        for path in jvm.items(leaf.relation().location().rootPaths()):
            name = jvm.static(f"{_CLIENT}.utils.filesystem.FilesystemDatasetUtils", "fromLocation")(path.toUri())
            yield {"namespace": str(name.getNamespace()), "name": str(name.getName())}
