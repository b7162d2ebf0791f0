"""Turns as spans, sent to a collector over OTLP/HTTP: `answer`, and below it each step. The only file that imports OpenTelemetry.

The SDK reads its own variables besides (OTEL_EXPORTER_OTLP_HEADERS, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from types import TracebackType

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace import Span, Status, StatusCode, Tracer, set_span_in_context

from bythebook import __version__
from bythebook.answering.turn import Attributes, Steps

EXPORT_SECONDS = 5.0
"""How long the program's end waits for a collector that does not answer. No answer waits for it."""
WORDS_OF_READERS = frozenset({"asked", "question"})
NANOSECONDS = 1_000_000_000
log = logging.getLogger(__name__)


class SpanRecorder:
    """Records the spans of every turn. `questions`: spans include what readers asked, which is otherwise left out."""

    def __init__(self, processor: SpanProcessor, *, questions: bool = False) -> None:
        ours = Resource.create({SERVICE_NAME: "bythebook", SERVICE_VERSION: __version__})
        self._provider = TracerProvider(resource=ours, shutdown_on_exit=False)
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("bythebook", __version__)
        self._questions = questions

    def __call__(self) -> AbstractContextManager[Steps]:
        return _Turn(self._tracer, questions=self._questions)

    async def close(self) -> None:
        """Sends what is not sent yet."""
        await asyncio.to_thread(self._provider.shutdown)


def open_tracing(endpoint: str, *, questions: bool = False) -> SpanRecorder:
    """`endpoint`: the collector's address, as OTEL_EXPORTER_OTLP_ENDPOINT has it."""
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # it logs every attempt, with tracebacks
    exporter = _Exporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces", timeout=EXPORT_SECONDS)
    return SpanRecorder(BatchSpanProcessor(exporter), questions=questions)


class _Exporter(OTLPSpanExporter):
    """Reports once that the collector accepts nothing, and again only if it has accepted something in between."""

    _failing = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = super().export(spans)
        failing = result is not SpanExportResult.SUCCESS
        if failing and not self._failing:
            log.warning("The collector at OTEL_EXPORTER_OTLP_ENDPOINT takes no spans; they are lost until it does.")
        self._failing = failing
        return result


class _Turn(AbstractContextManager[Steps]):
    """One turn. Its spans begin and end with its steps, and none of them is ever the current span: a turn is a generator, and
    what its consumer does between two events is not part of it."""

    def __init__(self, tracer: Tracer, *, questions: bool) -> None:
        self._tracer = tracer
        self._questions = questions
        self._steps = Steps()

    def __enter__(self) -> Steps:
        self._span = self._tracer.start_span("answer", context=Context())
        return self._steps

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        below = set_span_in_context(self._span, Context())
        for step, attributes in self._steps.recorded:
            span = self._tracer.start_span(step.name, context=below, start_time=_nanoseconds(step.began_at))
            self._tell(span, attributes)
            span.end(_nanoseconds(step.began_at) + round(step.seconds * NANOSECONDS))
        self._tell(self._span, self._steps.attributes)
        if kind is not None and issubclass(kind, GeneratorExit | asyncio.CancelledError):
            self._span.set_attribute("bythebook.abandoned", True)
        elif kind is not None:  # its text may hold what was asked
            self._span.set_attribute("error.type", kind.__name__)
            self._span.set_status(Status(StatusCode.ERROR))
        self._span.end()

    def _tell(self, span: Span, attributes: Attributes) -> None:
        for name, value in attributes.items():
            if self._questions or name not in WORDS_OF_READERS:
                span.set_attribute(f"bythebook.{name}", value)


def _nanoseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000_000) * 1_000
