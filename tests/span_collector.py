"""A collector of OpenTelemetry's spans, which servers send by OTLP."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.web import Handler, listening


@dataclass
class Collector:
    """What was sent to a collector.

    Attributes:
        environment: the variables of the environment by which a server finds it.
        spans: the spans.
    """

    environment: dict[str, str] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)

    def edges(self) -> set[tuple[str, str | None]]:
        """The names of the spans, each with that of its parent."""
        names = {span.span_id: span.name for span in self.spans}
        return {(span.name, names.get(span.parent_span_id)) for span in self.spans}


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector that listens."""
    collector = Collector()

    class Received(Handler):
        def do_POST(self) -> None:
            body = self.request_body()
            body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
            request = ExportTraceServiceRequest.FromString(body)
            collector.spans += [s for r in request.resource_spans for scope in r.scope_spans for s in scope.spans]
            self.send_response(200)
            self.end_headers()

    with listening(Received) as url:
        collector.environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = url
        yield collector
