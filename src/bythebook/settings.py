"""One frozen Settings object: environment over `bythebook.toml` over defaults. Only `wiring` and the edges read it.

The documents' names (OPENAI_API_KEY, QDRANT_URL, DATABASE_URL …) are the variables' names; ours begin with BYTHEBOOK_.
In `bythebook.toml` the same names stand in lower case, ours without the prefix.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field, SecretStr, StringConstraints, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from bythebook.errors import InvalidSettings

SETTINGS_FILE = "bythebook.toml"
OURS = "BYTHEBOOK_"

CollectionName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,48}$")]


def _named(variable: str) -> AliasChoices:
    """A document's variable, or the same in lower case in the settings file."""
    return AliasChoices(variable, variable.lower())


def _ours(name: str) -> AliasChoices:
    return AliasChoices(OURS + name.upper(), name)


def _default_data_dir() -> Path:
    from platformdirs import user_data_path

    return user_data_path("bythebook", appauthor=False)


class Settings(BaseSettings):
    """All that can be configured. Ranges are checked once, here."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", toml_file=SETTINGS_FILE, env_ignore_empty=True)

    data_dir: Path = Field(default_factory=_default_data_dir, validation_alias=_ours("data_dir"))
    book: str | None = Field(None, validation_alias=_ours("book"))
    database_url: SecretStr | None = Field(None, validation_alias=_named("DATABASE_URL"))

    qdrant_url: str | None = Field(None, validation_alias=_named("QDRANT_URL"), pattern=r"^https?://")
    qdrant_api_key: SecretStr | None = Field(None, validation_alias=_named("QDRANT_API_KEY"))
    qdrant_collection_name: CollectionName = Field("textbook_chunks", validation_alias=_named("QDRANT_COLLECTION_NAME"))

    embedder: Literal["granite", "openai", "cohere", "compatible"] = Field("granite", validation_alias=_ours("embedder"))
    embedder_model: str | None = Field(None, validation_alias=_ours("embedder_model"))
    embedder_url: str | None = Field(None, validation_alias=_ours("embedder_url"), pattern=r"^https?://")
    embedder_api_key: SecretStr | None = Field(None, validation_alias=_ours("embedder_api_key"))
    openai_api_key: SecretStr | None = Field(None, validation_alias=_named("OPENAI_API_KEY"))
    cohere_api_key: SecretStr | None = Field(None, validation_alias=_named("COHERE_API_KEY"))
    cohere_model: str = Field("embed-english-v3.0", validation_alias=_named("COHERE_MODEL"))

    openai_base_url: str | None = Field(None, validation_alias=_named("OPENAI_BASE_URL"), pattern=r"^https?://")
    openai_model: str = Field("gpt-4o-mini", min_length=1, validation_alias=_named("OPENAI_MODEL"))
    agent_top_k: int = Field(5, ge=1, le=20, validation_alias=_named("AGENT_TOP_K"))
    agent_score_threshold: float = Field(0.3, ge=0.0, le=1.0, validation_alias=_named("AGENT_SCORE_THRESHOLD"))
    agent_max_turns: int = Field(50, ge=1, le=1_000, validation_alias=_named("AGENT_MAX_TURNS"))
    temperature: float = Field(0.0, ge=0.0, le=2.0, validation_alias=_ours("temperature"))
    max_tokens: int | None = Field(None, ge=1, le=100_000, validation_alias=_ours("max_tokens"))
    system_prompt: str | None = Field(None, validation_alias=_ours("system_prompt"), pattern=r"\S")
    tool_name: str = Field("search_textbook", validation_alias=_ours("tool_name"), pattern=r"^[A-Za-z0-9_-]{1,64}$")
    tool_choice: Literal["required", "auto", "none"] = Field("required", validation_alias=_ours("tool_choice"))
    score_scale: Literal["relevance", "cosine"] = Field("relevance", validation_alias=_ours("score_scale"))

    max_file_bytes: int = Field(10_000_000, ge=1_000, le=1_000_000_000, validation_alias=_ours("max_file_bytes"))
    hnsw_ef: int | None = Field(None, ge=1, le=10_000, validation_alias=_ours("hnsw_ef"))
    exact_search: bool = Field(False, validation_alias=_ours("exact_search"))

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


def read_settings(**given: Any) -> Settings:
    """Settings as they stand now. `given` are command-line options and win over all."""
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise InvalidSettings(_sentence(error)) from error
    except ValueError as error:  # tomllib's error, which names line and column
        raise InvalidSettings(f"{SETTINGS_FILE} cannot be read: {error}.") from error


def _sentence(error: ValidationError) -> str:
    """The first problem in one sentence: the variable, its value, its range. Secrets are never repeated."""
    problem = error.errors()[0]
    name = str(problem["loc"][0]) if problem["loc"] else "settings"
    if problem["type"] == "extra_forbidden":
        return f"{SETTINGS_FILE} sets '{name}', which is not a setting. The README lists them all."
    field = next((field for key, field in Settings.model_fields.items() if name in _names(key, field)), None)
    variable = next((alias for alias in _names(name, field) if alias.isupper()), name)
    key = next((alias for alias in _names(name, field) if alias.islower()), name)
    where = variable if variable in os.environ else f"{variable} (or '{key}' in {SETTINGS_FILE})"
    value = "" if "key" in name.lower() or "url" in name.lower() else f", but it is {problem['input']!r}"
    return f"{where} is not usable: {problem['msg'].rstrip('.')}{value}."


def _names(key: str, field: Any) -> list[str]:
    alias = getattr(field, "validation_alias", None)
    return [key, *(str(choice) for choice in alias.choices)] if isinstance(alias, AliasChoices) else [key]
