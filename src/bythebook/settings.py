"""One frozen Settings object: environment over `.env` over `bythebook.toml` over defaults. Only `wiring` and the edges read it.

The documents' names (OPENAI_API_KEY, QDRANT_URL, DATABASE_URL …) are the variables' names; ours begin with BYTHEBOOK_.
In `bythebook.toml` the same names stand in lower case, ours without the prefix. Written by hand because a person waits for
it at every command: a validation library takes longer to import than a search takes.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

from bythebook.errors import InvalidSettings

SETTINGS_FILE = "bythebook.toml"
ENV_FILE = ".env"
NO_ENV_FILE = "BYTHEBOOK_NO_ENV_FILE"
"""Set by `--no-env-file`, so that the processes that a command starts do not read the file either."""
OURS = "BYTHEBOOK_"
_ENV_LINE = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=(?P<value>.*)")
_QUOTED = re.compile(r"""(?:"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>[^']*)')\s*(?:#.*)?$""")

ScoreScale = Literal["relevance", "cosine"]
CheckMode = Literal["meaning", "words"]
ToolChoice = Literal["required", "auto", "none"]
EmbedderName = Literal["granite", "openai", "cohere", "compatible"]
T = TypeVar("T")
Reading = Callable[[Any], Any]
"""Turns what was given into the setting's value, or raises ValueError with what it must be."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A key, or an address with a password in it. It is never shown."""

    value: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class GitSource:
    """A repository that a book may be ingested from, and that may announce its pushes."""

    book_id: str
    url: str
    branch: str
    folder: str


_GIT_SOURCE = re.compile(
    r"(?P<book_id>[a-z0-9][a-z0-9._-]*)=(?P<url>(?:(?:https?|ssh|file)://|[\w.-]+@[\w.-]+:)[^\s#]+)"
    r"#(?P<branch>[^\s:#-][^\s:#]*)(?::(?P<folder>[^\s:]+))?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSource:
    """A site that a book may be ingested from."""

    book_id: str
    url: str


_SITE_SOURCE = re.compile(r"(?P<book_id>[a-z0-9][a-z0-9._-]*)=(?P<url>https?://[^\s@#]+)")


def _text(pattern: str = r"\S", says: str = "a text that is not blank") -> Reading:
    def read(given: Any) -> str:
        if not isinstance(given, str) or not re.search(pattern, given):
            raise ValueError(says)
        return given

    return read


def _secret(given: Any) -> Secret:
    if not isinstance(given, str) or not given.strip():
        raise ValueError("a text that is not blank")
    return Secret(given)


def _key(given: Any) -> Secret:
    if not isinstance(given, str) or not re.fullmatch(r"[\x21-\x7e]{32,200}", given):
        raise ValueError("32 to 200 characters without a space, as 'openssl rand -hex 32' makes them")
    return Secret(given)


def _path(given: Any) -> Path:
    if not isinstance(given, str | Path):
        raise ValueError("a path")
    return Path(given)


def _number(kind: type[int] | type[float], least: float, most: float) -> Reading:
    says = f"a {'whole number' if kind is int else 'number'} from {least} to {most}"

    def read(given: Any) -> float:
        if isinstance(given, bool) or not isinstance(given, str | int | float) or (kind is int and isinstance(given, float)):
            raise ValueError(says)
        try:
            number = kind(given)
        except ValueError as error:
            raise ValueError(says) from error
        if not least <= number <= most:
            raise ValueError(says)
        return number

    return read


def _choice(*allowed: str) -> Reading:
    def read(given: Any) -> str:
        if given not in allowed:
            raise ValueError(f"one of {', '.join(allowed)}")
        return str(given)

    return read


def _yes_or_no(given: Any) -> bool:
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if str(given).lower() not in words:
        raise ValueError("true or false")
    return words[str(given).lower()]


def _redis(given: Any) -> Secret:
    if not isinstance(given, str) or not re.match(r"rediss?://\S+$", given):
        raise ValueError("an address that begins with redis:// or rediss://")
    return Secret(given)


def _origins(given: Any) -> tuple[str, ...]:
    """A browser's origin is a scheme, a host and perhaps a port, and nothing after them."""
    origins = tuple(part.strip() for part in given.split(",")) if isinstance(given, str) else tuple(given)
    if not all(isinstance(origin, str) and re.fullmatch(r"https?://[^\s/,*]+", origin) for origin in origins):
        raise ValueError("origins like https://book.example, separated by commas, without a path and without *")
    return origins


def _books(given: Any) -> tuple[str, ...]:
    ids = tuple(part.strip() for part in given.split(",")) if isinstance(given, str) else tuple(given)
    if not all(isinstance(one, str) and re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,99}", one) for one in ids):
        raise ValueError("ids of books, separated by commas")
    return ids


def _folders(given: Any) -> tuple[Path, ...]:
    parts = [part for part in given.split(os.pathsep) if part] if isinstance(given, str) else given
    if not isinstance(parts, list) or not all(isinstance(part, str) and Path(part).is_absolute() for part in parts):
        raise ValueError(f"absolute folders, separated by '{os.pathsep}'")
    return tuple(Path(part) for part in parts)


def _git_sources(given: Any) -> tuple[GitSource, ...]:
    parts = given.split() if isinstance(given, str) else given
    found = [_GIT_SOURCE.fullmatch(part) for part in parts if isinstance(part, str)] if isinstance(parts, list) else [None]
    if not all(found):
        raise ValueError("sources like my-book=https://github.com/me/my-book#main or …#main:docs, separated by spaces")
    return tuple(GitSource(**{name: value or "" for name, value in one.groupdict().items()}) for one in found if one)


def _site_sources(given: Any) -> tuple[SiteSource, ...]:
    parts = given.split() if isinstance(given, str) else given
    found = [_SITE_SOURCE.fullmatch(part) for part in parts if isinstance(part, str)] if isinstance(parts, list) else [None]
    if not all(found):
        raise ValueError("sites like my-book=https://example.org/book/, separated by spaces")
    return tuple(SiteSource(**one.groupdict()) for one in found if one)


def _setting(default: T, reading: Reading, *, variable: str | None = None, secret: bool = False, empty: bool = False) -> T:
    """A field. Without a `variable` it has one of our names. `empty`: an empty variable counts as given, not as unset."""
    return field(default=default, metadata={"reading": reading, "variable": variable, "secret": secret, "empty": empty})


_ADDRESS = _text(r"^https?://\S+$", "an address that begins with http:// or https://")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be configured. Ranges are checked once, in `read_settings`."""

    data_dir: Path = field(metadata={"reading": _path, "variable": None, "secret": False, "empty": False})
    book: str | None = _setting(None, _text())
    database_url: Secret | None = _setting(None, _secret, variable="DATABASE_URL", secret=True)

    qdrant_url: str | None = _setting(None, _ADDRESS, variable="QDRANT_URL", secret=True)
    qdrant_api_key: Secret | None = _setting(None, _secret, variable="QDRANT_API_KEY", secret=True)
    qdrant_collection_name: str = _setting(
        "textbook_chunks",
        _text(r"^[A-Za-z0-9_-]{1,48}$", "1 to 48 letters, digits, '_' or '-'"),
        variable="QDRANT_COLLECTION_NAME",
    )

    embedder: EmbedderName | None = _setting(None, _choice("granite", "openai", "cohere", "compatible"))
    embedder_model: str | None = _setting(None, _text())
    embedder_url: str | None = _setting(None, _ADDRESS, secret=True)
    embedder_api_key: Secret | None = _setting(None, _secret, secret=True)
    openai_api_key: Secret | None = _setting(None, _secret, variable="OPENAI_API_KEY", secret=True)
    cohere_api_key: Secret | None = _setting(None, _secret, variable="COHERE_API_KEY", secret=True)
    cohere_model: str = _setting("embed-english-v3.0", _text(), variable="COHERE_MODEL")

    openai_base_url: str | None = _setting(None, _ADDRESS, variable="OPENAI_BASE_URL", secret=True)
    openai_model: str = _setting("gpt-4o-mini", _text(), variable="OPENAI_MODEL")
    agent_top_k: int = _setting(5, _number(int, 1, 20), variable="AGENT_TOP_K")
    agent_score_threshold: float = _setting(0.3, _number(float, 0.0, 1.0), variable="AGENT_SCORE_THRESHOLD")
    agent_max_turns: int = _setting(50, _number(int, 1, 1000), variable="AGENT_MAX_TURNS")
    temperature: float = _setting(0.0, _number(float, 0.0, 2.0))
    max_tokens: int | None = _setting(None, _number(int, 1, 100_000))
    model_seconds: float = _setting(60.0, _number(float, 1.0, 3600.0))
    system_prompt: str | None = _setting(None, _text(), empty=True)
    tool_name: str = _setting("search_textbook", _text(r"^[A-Za-z0-9_-]{1,64}$", "1 to 64 letters, digits, '_' or '-'"))
    tool_choice: ToolChoice = _setting("required", _choice("required", "auto", "none"))
    check: CheckMode = _setting("meaning", _choice("meaning", "words"))
    check_model: str | None = _setting(None, _text())
    evidence_tokens: int = _setting(8000, _number(int, 500, 200_000))
    score_scale: ScoreScale = _setting("relevance", _choice("relevance", "cosine"))

    first_key: Secret | None = _setting(None, _key, secret=True)
    host: str = _setting("127.0.0.1", _text(r"^[A-Za-z0-9.:_-]{1,255}$", "a host name or an IP address"))
    port: int = _setting(8000, _number(int, 0, 65535))
    redis_url: Secret | None = _setting(None, _redis, variable="REDIS_URL", secret=True)
    cors_origins: tuple[str, ...] = _setting((), _origins)
    public_books: tuple[str, ...] = _setting((), _books)
    keep_threads_days: int | None = _setting(None, _number(int, 1, 36_500))
    log_questions: bool = _setting(False, _yes_or_no)
    prepare_questions: bool = _setting(True, _yes_or_no)
    otlp_endpoint: str | None = _setting(None, _ADDRESS, variable="OTEL_EXPORTER_OTLP_ENDPOINT", secret=True)

    source_roots: tuple[Path, ...] = _setting((), _folders)
    git_sources: tuple[GitSource, ...] = _setting((), _git_sources)
    site_sources: tuple[SiteSource, ...] = _setting((), _site_sources)
    git_max_bytes: int = _setting(2_000_000_000, _number(int, 1_000_000, 1_000_000_000_000))
    git_private: bool = _setting(False, _yes_or_no)
    github_webhook_secret: Secret | None = _setting(None, _secret, variable="GITHUB_WEBHOOK_SECRET", secret=True)
    dask_scheduler: str | None = _setting(None, _text(r"^\S+:\S+$", "an address like tcp://host:8786"), variable="DASK_SCHEDULER")
    qdrant_shard_number: int | None = _setting(None, _number(int, 1, 1000), variable="QDRANT_SHARD_NUMBER")
    qdrant_replication_factor: int | None = _setting(None, _number(int, 1, 100), variable="QDRANT_REPLICATION_FACTOR")
    qdrant_write_consistency_factor: int | None = _setting(None, _number(int, 1, 100), variable="QDRANT_WRITE_CONSISTENCY_FACTOR")

    max_file_bytes: int = _setting(10_000_000, _number(int, 1000, 1_000_000_000))
    exact_search: bool = _setting(False, _yes_or_no)

    @property
    def chosen_embedder(self) -> EmbedderName:
        """The embedder. If only Cohere's key is set, Cohere is chosen, as document B requires."""
        return self.embedder or ("cohere" if self.cohere_api_key else "granite")


def read_settings(**given: Any) -> Settings:
    """The settings as they stand now. `given`: command-line options, which override everything else."""
    stored, from_file = _stored(), _env_file()
    known = {setting.name for setting in fields(Settings)}
    if unknown := sorted(set(stored) - known):
        raise InvalidSettings(f"{SETTINGS_FILE} sets '{unknown[0]}', which is not a setting. docs/settings.md lists them all.")
    values: dict[str, Any] = {}
    for setting in fields(Settings):
        found = _found(setting, given, from_file, stored)
        if found is not None:
            values[setting.name] = _read(setting, found, from_file)
    return Settings(**{"data_dir": _default_data_dir(), **values})


def described(settings: Settings) -> dict[str, str]:
    """All settings that differ from their defaults, by variable. Of a secret only that it is set."""
    told = {}
    for setting in fields(Settings):
        value = getattr(settings, setting.name)
        if value != setting.default and value is not None:
            told[variable_of(setting)] = "set" if setting.metadata["secret"] or setting.name == "git_sources" else str(value)
    return told


def variable_of(setting: Field[Any]) -> str:
    return setting.metadata["variable"] or OURS + setting.name.upper()


def _found(setting: Field[Any], given: dict[str, Any], from_file: dict[str, str], stored: dict[str, Any]) -> Any:
    """The first value given; an empty variable counts as unset, unless the setting says otherwise."""
    if given.get(setting.name) is not None:
        return given[setting.name]
    variable = variable_of(setting)
    for variables in (os.environ, from_file):
        if variables.get(variable) or (setting.metadata["empty"] and variable in variables):
            return variables[variable]
    return stored.get(setting.name)


def _read(setting: Field[Any], found: Any, from_file: dict[str, str]) -> Any:
    try:
        return setting.metadata["reading"](found)
    except ValueError as error:
        variable = variable_of(setting)
        if variable in os.environ:
            where = variable
        elif variable in from_file:
            where = f"{variable} in {ENV_FILE}"
        else:
            where = f"{variable} (or '{setting.name}' in {SETTINGS_FILE})"
        value = "" if setting.metadata["secret"] else f", but it is {found!r}"
        raise InvalidSettings(f"{where} must be {error}{value}.") from None


def _env_file() -> dict[str, str]:
    """The settings in the working folder's `.env`. Other lines in it belong to other programs."""
    if os.environ.get(NO_ENV_FILE):
        return {}
    try:
        lines = Path(ENV_FILE).read_text("utf-8-sig").splitlines()
    except (FileNotFoundError, IsADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise InvalidSettings(f"{ENV_FILE} cannot be read: {error}. --no-env-file leaves it unread.") from error
    variables = {variable_of(setting) for setting in fields(Settings)}
    found = {}
    for number, line in enumerate(lines, start=1):
        named = _ENV_LINE.fullmatch(line)
        if named and named["name"] in variables:
            found[named["name"]] = _env_value(named["value"].strip(), number)
    return found


def _env_value(text: str, line: int) -> str:
    """The value as a shell reads it: without quotes, and without a comment after a space."""
    if text[:1] in ("'", '"'):
        quoted = _QUOTED.match(text)
        if quoted is None:
            raise InvalidSettings(f"{ENV_FILE}, line {line}: the quotation mark is not closed.")
        return re.sub(r'\\(["\\])', r"\1", quoted["double"]) if quoted["double"] is not None else quoted["single"]
    return re.split(r"(?:^|\s)#", text, maxsplit=1)[0].strip()


def _stored() -> dict[str, Any]:
    try:
        return tomllib.loads(Path(SETTINGS_FILE).read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:  # tomllib's error names line and column
        raise InvalidSettings(f"{SETTINGS_FILE} cannot be read: {error}.") from error


def _default_data_dir() -> Path:
    from platformdirs import user_data_path

    return user_data_path("bythebook", appauthor=False)
