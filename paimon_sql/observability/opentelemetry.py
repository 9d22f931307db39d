"""Spans of scans, commits and compactions for OpenTelemetry (extra ``opentelemetry``).

A span is made when what it describes has ended, with the time at which it began, under the span that is current in the
thread. Plans and commits are measured where they happen: on Spark's driver, or in the process of the Python API. Spark
calls us in other threads than that which runs a statement; `SparkSpans` takes the span there.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

import paimon_sql
from paimon_sql.storage.execution.metrics import COMMIT, DURATIONS, FAILED_COMMIT, MetricKey, process_metrics

_NANOS_OF_A_MILLI = 1_000_000
_REMEMBERED = 1000
"""Of so many ended statements nothing begins a span again."""


def instrument(
    provider: trace.TracerProvider | None = None, parent: Callable[[], Context | None] = lambda: None
) -> Callable[[], None]:
    """Make spans from now on; return a function that ends this.

    Args:
        provider: makes the tracer; the global one by default.
        parent: returns the context of a span's parent if no span is current in the thread.
    """
    tracer = _tracer(provider)

    def record(table: MetricKey, group: str, values: Mapping[str, float]) -> None:
        ended = time.time_ns()
        operation = COMMIT if group == FAILED_COMMIT else group
        attributes = {f"paimon.{operation}.{name}": value for name, value in values.items()}
        attributes_of_table = {
            "db.system.name": "paimon",
            "db.operation.name": operation,
            "db.collection.name": table.name,
            "paimon.branch": table.branch,
        }
        is_under_another = trace.get_current_span().get_span_context().is_valid
        span = tracer.start_span(
            f"{operation} {table.name}",
            context=None if is_under_another else parent(),
            start_time=ended - int(values[DURATIONS[group]] * _NANOS_OF_A_MILLI),
            attributes={**attributes_of_table, **attributes},
        )
        if group == FAILED_COMMIT:
            span.set_status(trace.StatusCode.ERROR)
        span.end(ended)

    return process_metrics().listen(record)


class LocalProperties(Protocol):
    """What is needed of a ``SparkContext``: its properties of a thread, which the threads that it starts inherit."""

    def getLocalProperty(self, key: str) -> str | None: ...  # noqa: N802 - Spark's name
    def setLocalProperty(self, key: str, value: str) -> None: ...  # noqa: N802


class SparkSpans:
    """Makes the spans of what statements of Spark do children of the span that is current where they are run.

    Args:
        context: the ``SparkContext``.
    """

    _KEY = "paimon.traceparent"

    def __init__(self, context: LocalProperties) -> None:
        self._context = context
        self._propagator = TraceContextTextMapPropagator()

    def parent(self) -> Context | None:
        """The context of the span of the statement that is running; for `instrument`."""
        given = self._context.getLocalProperty(self._KEY)
        return self._propagator.extract({"traceparent": given}) if given else None

    @contextmanager
    def statements(self) -> Iterator[None]:
        """Take the current span to the statements of the block, in this thread."""
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier)
        before = self._context.getLocalProperty(self._KEY)
        self._context.setLocalProperty(self._KEY, carrier.get("traceparent", ""))
        try:
            yield
        finally:
            self._context.setLocalProperty(self._KEY, before or "")


class StatementSpans:
    """Spans of the statements of servers, under which those of their scans and commits can be.

    Args:
        provider: makes the tracer.
    """

    def __init__(self, provider: trace.TracerProvider) -> None:
        self._tracer = _tracer(provider)
        self._lock = threading.Lock()
        self._running: dict[str, trace.Span] = {}
        self._ended: deque[str] = deque(maxlen=_REMEMBERED)

    def started(self, statement_id: str) -> None:
        """A statement begins; servers may say so more than once, and late."""
        with self._lock:
            if statement_id not in self._running and statement_id not in self._ended:
                self._running[statement_id] = self._tracer.start_span("statement", kind=trace.SpanKind.SERVER)

    def ended(self, statement_id: str, fields: Mapping[str, str | int | None]) -> None:
        """A statement has ended; the fields are those of its log."""
        with self._lock:
            self._ended.append(statement_id)
            span = self._running.pop(statement_id, None)
        if span is None:
            return
        sql = str(fields["sql"])
        span.update_name(sql.split(" ", 1)[0].upper() or "statement")
        span.set_attributes({"db.system.name": "paimon", "db.query.text": sql})
        span.set_attributes({f"paimon.{k}": v for k, v in fields.items() if v is not None and k != "sql"})
        if fields["state"] == "failed":
            span.set_status(trace.StatusCode.ERROR, str(fields.get("error")))
        span.end()

    def context(self, statement_id: str | None) -> Context | None:
        """The context of spans under that of a running statement; None if there is no such statement."""
        span = self._running.get(statement_id or "")
        return None if span is None else trace.set_span_in_context(span)


def _tracer(provider: trace.TracerProvider | None) -> trace.Tracer:
    return trace.get_tracer("paimon_sql", paimon_sql.__version__, provider)
