"""Metrics for Prometheus. With several workers, their counts are added up through files."""

from __future__ import annotations

import os
from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector

from bythebook.answering.answer import Answer
from bythebook.jobs.model import JobStatus

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
CONTENT_TYPE = CONTENT_TYPE_LATEST

disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series beside each, that nobody reads


class Metrics:
    """The metrics of one application. Labels have few values: routes as they are declared, never the requested paths."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "bythebook_requests", "Requests answered.", ("method", "route", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "bythebook_request_seconds", "Time to the end of the answer.", ("route",), buckets=SECONDS, registry=self._registry
        )
        self._in_flight = Gauge(
            "bythebook_requests_in_flight", "Requests being answered.", registry=self._registry, multiprocess_mode="livesum"
        )
        self._answers = Counter("bythebook_answers", "Answers by confidence.", ("confidence",), registry=self._registry)
        self._refusals = Counter("bythebook_refusals", "Refusals by reason.", ("reason",), registry=self._registry)
        self._tokens = Counter("bythebook_tokens", "Tokens that the model used.", registry=self._registry)
        self._retrieval = Histogram(
            "bythebook_retrieval_seconds", "Time to what a turn retrieved.", buckets=SECONDS, registry=self._registry
        )
        self._drafting = Histogram(
            "bythebook_drafting_seconds", "Time to draft and check an answer.", buckets=SECONDS, registry=self._registry
        )
        self._jobs = Gauge(
            "bythebook_jobs", "Jobs by status.", ("status",), registry=self._registry, multiprocess_mode="mostrecent"
        )

    def began(self) -> None:
        self._in_flight.inc()

    def ended(self, method: str, route: str, status: int, seconds: float) -> None:
        self._in_flight.dec()
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def turn(self, answer: Answer) -> None:
        if answer.refused:
            self._refusals.labels(answer.reason or "unknown").inc()
        else:
            self._answers.labels(answer.confidence.confidence_level).inc()
        self._tokens.inc(answer.tokens_used)
        self._retrieval.observe(answer.retrieval_time_ms / 1000)
        self._drafting.observe(answer.generation_time_ms / 1000)

    def jobs(self, counts: dict[str, int]) -> None:
        """How many jobs are in each status, as the database has it."""
        for status in get_args(JobStatus):
            self._jobs.labels(status).set(counts.get(status, 0))

    def exposition(self) -> bytes:
        if SHARED_FOLDER not in os.environ:
            return generate_latest(self._registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)
