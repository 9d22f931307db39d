"""Spans for OpenTelemetry of a session of Spark: commits, scans and compactions, under the span of the caller."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from pyspark.sql import SparkSession

from paimon_sql.observability.opentelemetry import SparkSpans, instrument
from paimon_sql.storage.execution.metrics import FAILED_COMMIT, MetricKey, process_metrics

from .conftest import Sql


@pytest.fixture
def spans(spark: SparkSession) -> SparkSpans:
    return SparkSpans(spark.sparkContext)


@pytest.fixture
def exported(spans: SparkSpans) -> Iterator[tuple[TracerProvider, InMemorySpanExporter]]:
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    end = instrument(provider, spans.parent)
    yield provider, exporter
    end()
    provider.shutdown()


def test_statements_of_spark_are_spans_under_that_of_the_caller(
    sql: Sql, spans: SparkSpans, exported: tuple[TracerProvider, InMemorySpanExporter]
) -> None:
    provider, exporter = exported
    sql("CREATE TABLE t (k INT NOT NULL, v INT) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')")
    statements = {
        "insert": ("INSERT INTO t VALUES (1, 1), (2, 2)", {"commit"}),
        "update": ("UPDATE t SET v = 3 WHERE k = 1", {"scan", "commit"}),
        "query": ("SELECT sum(v) FROM t WHERE v > 0", {"scan"}),
        "changes": ("SELECT * FROM t$audit_log", {"scan"}),
        "compact": ("CALL sys.compact(`table` => 't')", {"compaction", "commit"}),
    }
    tracer = provider.get_tracer("mine")
    parents = {}
    for name, (statement, _) in statements.items():
        with tracer.start_as_current_span(name) as span, spans.statements():
            sql(statement)
            parents[span.get_span_context().span_id] = name
    sql("SELECT * FROM t")
    found: dict[str, set[str]] = {name: set() for name in statements}
    finished = exporter.get_finished_spans()
    for each in finished:
        if each.parent is not None:
            found[parents[each.parent.span_id]].add(each.name.split(" ")[0])
    assert sum(each.parent is None and each.name.startswith("scan") for each in finished) == 1
    assert {name: found[name] >= kinds for name, (_, kinds) in statements.items()} == dict.fromkeys(statements, True)


def test_a_failed_commit_is_an_error(exported: tuple[TracerProvider, InMemorySpanExporter]) -> None:
    _, exporter = exported
    process_metrics().note(MetricKey("c.d.t", "/t", "main"), FAILED_COMMIT, {"failedCommitDuration": 5})
    (span,) = exporter.get_finished_spans()
    assert span.name == "commit c.d.t" and span.status.status_code is StatusCode.ERROR
