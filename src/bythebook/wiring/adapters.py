"""Turns settings into adapters: the embedder, the drafter, the index, the collector. Imports are late, because most of them
are not needed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bythebook.errors import InvalidSettings, StorageFailure, missing_extra
from bythebook.settings import Secret, Settings

if TYPE_CHECKING:
    from bythebook.answering.opentelemetry import SpanRecorder
    from bythebook.drafting.completion import WriteLine
    from bythebook.drafting.draft import Drafter
    from bythebook.drafting.openai_agents.drafter import AgentDrafter
    from bythebook.drafting.openai_agents.options import AgentOptions
    from bythebook.embedding.embedder import Embedder
    from bythebook.embedding.parallel import Spread
    from bythebook.grounding.judgement import Judge
    from bythebook.index.vectors import VectorIndex
    from bythebook.retrieval.sentence_reader import SentenceReader

logger = logging.getLogger(__name__)

EMBEDDER_KEY = "BYTHEBOOK_EMBEDDER_API_KEY"


def open_embedder(settings: Settings) -> Embedder:
    match settings.chosen_embedder:
        case "granite":
            from bythebook.embedding.granite import GraniteEmbedder

            return GraniteEmbedder()
        case "cohere":
            from bythebook.embedding.cohere import COHERE_URL, CohereEmbedder

            if settings.embedder is None:
                logger.warning("Cohere embeds, because COHERE_API_KEY is set. BYTHEBOOK_EMBEDDER=granite embeds on this machine.")
            return CohereEmbedder(
                _key(settings, settings.cohere_api_key, "COHERE_API_KEY", "the Cohere embedder"),
                base_url=settings.embedder_url or COHERE_URL,
                model=settings.embedder_model or settings.cohere_model,
                key_variable=_key_variable(settings, "COHERE_API_KEY"),
            )
        case "openai":
            from bythebook.embedding.openai import MODEL, OPENAI_URL, OpenAIEmbedder

            return OpenAIEmbedder(
                _key(settings, settings.openai_api_key, "OPENAI_API_KEY", "the OpenAI embedder"),
                base_url=settings.embedder_url or OPENAI_URL,
                model=settings.embedder_model or MODEL,
                key_variable=_key_variable(settings, "OPENAI_API_KEY"),
            )
        case "compatible":
            from bythebook.embedding.openai import OpenAIEmbedder

            if not settings.embedder_url or not settings.embedder_model:
                raise InvalidSettings("The compatible embedder needs BYTHEBOOK_EMBEDDER_URL and BYTHEBOOK_EMBEDDER_MODEL.")
            return OpenAIEmbedder(
                settings.embedder_api_key.value if settings.embedder_api_key else "",
                base_url=settings.embedder_url,
                model=settings.embedder_model,
                key_variable=EMBEDDER_KEY,
            )


def spread_embedder(settings: Settings, embedder: Embedder, spread: Spread) -> Embedder:
    """Spreads the embedder over workers. A remote embedder already runs on a server and stays as it is."""
    if settings.chosen_embedder != "granite":
        return embedder
    from bythebook.embedding.granite import open_lone_granite
    from bythebook.embedding.parallel import SpreadEmbedder

    return SpreadEmbedder(embedder, open_lone_granite, spread)


def open_drafter(settings: Settings, reader: SentenceReader) -> tuple[Drafter, WriteLine | None, Judge | None]:
    """Opens the model's drafter, its line writer and its judge if a model is configured, or else the drafter that uses the book's
    own sentences."""
    if not settings.openai_api_key and not settings.openai_base_url:
        from bythebook.drafting.extractive import ExtractiveDrafter

        return ExtractiveDrafter(reader), None, None
    drafter = open_model(settings)
    return drafter, drafter.write_line, drafter.judge if settings.check == "meaning" else None


def open_model(settings: Settings) -> AgentDrafter:
    """The model's drafter, with the server that is configured or OpenAI's."""
    with _extra("openai", "OPENAI_API_KEY" if settings.openai_api_key else "OPENAI_BASE_URL", "the OpenAI Agents SDK"):
        from bythebook.drafting.openai_agents.drafter import AgentDrafter

    return AgentDrafter(_model_options(settings))


def check_model(settings: Settings) -> None:
    """Raises InvalidSettings for a model that cannot be meant, such as a key of another shape than OpenAI's, where one is set."""
    if settings.openai_api_key or settings.openai_base_url:
        from bythebook.drafting.openai_agents.options import check_key

        options = _model_options(settings)
        check_key(options.api_key, options.base_url)


def _model_options(settings: Settings) -> AgentOptions:
    from bythebook.drafting.openai_agents.options import OPENAI_URL, AgentOptions
    from bythebook.drafting.prompts import SYSTEM_PROMPT

    return AgentOptions(
        api_key=settings.openai_api_key.value if settings.openai_api_key else "",
        base_url=settings.openai_base_url or OPENAI_URL,
        model=settings.openai_model,
        system_prompt=settings.system_prompt or SYSTEM_PROMPT,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        tool_name=settings.tool_name,
        tool_choice=settings.tool_choice,
        call_seconds=settings.model_seconds,
        total_seconds=answer_seconds(settings),
        line_seconds=line_seconds(settings),
        check_model=settings.check_model or "",
        check_seconds=settings.model_seconds / 4,
    )


def answer_seconds(settings: Settings) -> float:
    """Returns how long a whole draft may take: half as long again as one call of the model."""
    return 1.5 * settings.model_seconds


def turn_seconds(settings: Settings) -> float:
    """No turn takes longer: a follow-up made standalone, a look at the book and one beyond the reader's filters, the draft."""
    from bythebook.answering.answerer import EMBED_SECONDS, SEARCH_SECONDS

    return line_seconds(settings) + EMBED_SECONDS + 2 * SEARCH_SECONDS + answer_seconds(settings)


def line_seconds(settings: Settings) -> float:
    return settings.model_seconds / 4


def open_spans(settings: Settings) -> SpanRecorder | None:
    """Opens tracing to the configured collector, if any."""
    if settings.otlp_endpoint is None:
        return None
    with _extra("tracing", "OTEL_EXPORTER_OTLP_ENDPOINT", "OpenTelemetry"):
        from bythebook.answering.opentelemetry import open_tracing
    return open_tracing(settings.otlp_endpoint, questions=settings.log_questions)


async def open_index(settings: Settings, data_dir: Path) -> VectorIndex:
    if settings.qdrant_url:
        with _extra("qdrant", "QDRANT_URL", "the Qdrant client"):
            from bythebook.index.qdrant_server.index import ServerIndex

        key = settings.qdrant_api_key.value if settings.qdrant_api_key else ""
        return await ServerIndex.open(
            settings.qdrant_url,
            key,
            collection_name=settings.qdrant_collection_name,
            shard_number=settings.qdrant_shard_number,
            replication_factor=settings.qdrant_replication_factor,
            write_consistency_factor=settings.qdrant_write_consistency_factor,
        )
    from bythebook.index.qdrant_edge.index import EdgeIndex

    return await EdgeIndex.open(data_dir / "index")


@contextmanager
def _extra(extra: str, setting: str, what: str) -> Iterator[None]:
    """Around an import that only works where the extra is installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("bythebook"):
            raise
        raise missing_extra(setting, what, extra) from error


def make_folder(folder: Path) -> None:
    """For its owner alone, where it is made here: readers' questions are kept in it."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise StorageFailure(
            f"The data folder {folder} cannot be made ({error.strerror}). Choose another with --data-dir or BYTHEBOOK_DATA_DIR."
        ) from error


def _key(settings: Settings, vendors: Secret | None, variable: str, user: str) -> str:
    """The key for the embedder alone, or the vendor's."""
    key = settings.embedder_api_key or vendors
    if key is None or not key.value:
        raise InvalidSettings(f"{variable} is not set, and {user} needs it. Set it, or unset BYTHEBOOK_EMBEDDER.")
    return key.value


def _key_variable(settings: Settings, vendors: str) -> str:
    """What a person changes when the server does not accept the key."""
    return EMBEDDER_KEY if settings.embedder_api_key else vendors
