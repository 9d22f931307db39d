"""Spans for OpenTelemetry: what was measured, under the span of whoever asked for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import paimon_sql
from paimon_sql.observability.opentelemetry import StatementSpans, instrument


@pytest.fixture
def exported() -> Iterator[tuple[TracerProvider, InMemorySpanExporter]]:
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    end = instrument(provider)
    yield provider, exporter
    end()
    provider.shutdown()


def test_commits_scans_and_compactions_are_spans(
    exported: tuple[TracerProvider, InMemorySpanExporter], tmp_path: Path
) -> None:
    provider, exporter = exported
    catalog = paimon_sql.open_catalog(tmp_path)
    catalog.create_database("d")
    table = catalog.create_table("d.t", pa.schema([("id", pa.int64())]), primary_key=["id"], options={"bucket": "1"})
    with provider.get_tracer("mine").start_as_current_span("load") as load:
        table.upsert([{"id": 1}])
        table.upsert([{"id": 2}])
        table.call("compact")
        table.to_arrow()
    spans: dict[str, list[ReadableSpan]] = {}
    for span in exporter.get_finished_spans():
        spans.setdefault(span.name, []).append(span)
    assert {"commit paimon.d.t", "scan paimon.d.t", "compaction paimon.d.t"} <= spans.keys()
    first = spans["commit paimon.d.t"][0]
    assert first.attributes is not None and first.parent is not None
    assert first.parent.span_id == load.get_span_context().span_id
    assert first.attributes["db.system.name"] == "paimon" and first.attributes["db.collection.name"] == "paimon.d.t"
    assert first.attributes["paimon.commit.deltaRecordsAppended"] == 1
    assert first.start_time is not None and first.end_time is not None and first.start_time <= first.end_time
    duration = float(str(first.attributes["paimon.commit.commitDuration"]))
    assert first.end_time - first.start_time == duration * 1_000_000


def test_a_statement_is_one_span_whoever_tells_of_it_first() -> None:
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    spans = StatementSpans(provider)
    fields = {"sql": "SELECT 1", "state": "finished"}
    for _ in range(2):
        spans.started("s1")
    context = spans.context("s1")
    assert context is not None and spans.context("other") is None and spans.context(None) is None
    spans.ended("s1", fields)
    spans.started("s1")
    spans.ended("s1", fields)
    assert spans.context("s1") is None
    (span,) = exporter.get_finished_spans()
    assert span.name == "SELECT"
    provider.shutdown()


def test_nothing_is_traced_once_it_has_ended(tmp_path: Path) -> None:
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrument(provider)()
    catalog = paimon_sql.open_catalog(tmp_path)
    catalog.create_database("d")
    catalog.create_table("d.t", pa.schema([("id", pa.int64())])).append([{"id": 1}])
    assert exporter.get_finished_spans() == ()
    provider.shutdown()
