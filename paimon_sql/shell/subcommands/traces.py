"""Spans of a command that serves clients, sent by OTLP: one per statement, with those of its scans and commits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyspark import SparkContext

from paimon_sql.discovery import is_installed
from paimon_sql.errors import SetupError
from paimon_sql.spark.statement_log import statement_listeners

if TYPE_CHECKING:  # it needs an optional library
    from paimon_sql.observability.opentelemetry import StatementSpans

_JOB_GROUP, _JOB_TAGS = "spark.jobGroup.id", "spark.job.tags"
"""Local properties of Spark for what a thread runs: the id of a Thrift server's statement, and tags."""
_CONNECT_TAG, _OPERATION = "SparkConnect_OperationTag_", "_Operation_"
"""How the tag of a Spark Connect server's statement begins, and what precedes the statement's id at its end."""


def check_exporter() -> None:
    """Check that the libraries are installed.

    Raises:
        SetupError: they are not.
    """
    if not is_installed("opentelemetry.exporter.otlp.proto.http"):
        raise SetupError("OpenTelemetry's exporter is not installed.", remedy="pip install 'paimon-sql[otlp]'")


@contextmanager
def sent_traces(spark: SparkContext) -> Iterator[None]:
    """Send spans during the block, to where the variables ``OTEL_EXPORTER_OTLP_…`` of the environment tell."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from paimon_sql.observability.opentelemetry import StatementSpans, instrument

    resource = Resource.create({SERVICE_NAME: "paimon-sql"}).merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    spans = StatementSpans(provider)
    statement_listeners().append(spans)
    # The JVM calls Python in the thread that runs the statement.
    end = instrument(provider, lambda: spans.context(_statement(spark, spans)))
    try:
        yield
    finally:
        end()
        statement_listeners().remove(spans)
        provider.shutdown()


def _statement(spark: SparkContext, spans: StatementSpans) -> str | None:
    """The id of the statement that the thread runs."""
    if group := spark.getLocalProperty(_JOB_GROUP):
        return str(group)
    for tag in (spark.getLocalProperty(_JOB_TAGS) or "").split(","):
        operation = tag.rpartition(_OPERATION)[2] if tag.startswith(_CONNECT_TAG) else ""
        if operation:
            # Spark Connect tells of a statement in another thread, which may come later.
            spans.started(operation)
            return operation
    return None
