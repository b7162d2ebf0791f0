"""Environment over file over defaults; what is out of range says so."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from bythebook.errors import InvalidSettings
from bythebook.settings import read_settings


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_defaults() -> None:
    settings = read_settings()
    assert (settings.chosen_embedder, settings.qdrant_collection_name, settings.max_file_bytes) == (
        "granite",
        "textbook_chunks",
        10_000_000,
    )
    assert settings.data_dir.name == "bythebook"
    assert (settings.database_url, settings.qdrant_url, settings.openai_api_key) == (None, None, None)


def test_environment_wins_over_file_and_options_over_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bythebook.toml").write_text('data_dir = "from-file"\nbook = "from-file"\nqdrant_collection_name = "from-file"\n')
    monkeypatch.setenv("BYTHEBOOK_DATA_DIR", "from-environment")
    monkeypatch.setenv("QDRANT_COLLECTION_NAME", "from-environment")
    settings = read_settings(data_dir=Path("from-option"))
    assert settings.data_dir == Path("from-option")
    assert settings.qdrant_collection_name == "from-environment"
    assert settings.book == "from-file"


@pytest.mark.parametrize(
    ("variable", "attribute"),
    [
        ("OPENAI_API_KEY", "openai_api_key"),
        ("COHERE_API_KEY", "cohere_api_key"),
        ("QDRANT_API_KEY", "qdrant_api_key"),
        ("DATABASE_URL", "database_url"),
        ("BYTHEBOOK_EMBEDDER_API_KEY", "embedder_api_key"),
    ],
)
def test_the_documents_names_work_and_secrets_do_not_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, attribute: str
) -> None:
    monkeypatch.setenv(variable, "very-secret")
    settings = read_settings()
    assert getattr(settings, attribute).value == "very-secret"
    assert "very-secret" not in repr(settings)
    monkeypatch.setenv(variable, "")
    assert getattr(read_settings(), attribute) is None  # empty is unset


def test_settings_are_frozen() -> None:
    settings = read_settings()
    with pytest.raises(FrozenInstanceError):
        settings.book = "other"  # type: ignore[misc]


@pytest.mark.parametrize("value", ["999", "1000000001"])
def test_a_number_out_of_range_names_variable_value_and_range(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("BYTHEBOOK_MAX_FILE_BYTES", value)
    with pytest.raises(InvalidSettings, match=rf"BYTHEBOOK_MAX_FILE_BYTES.*(1000|1000000000).*'{value}'"):
        read_settings()


def test_a_secret_in_the_wrong_place_is_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "bythebook.toml").write_text('openai_api_key = ["very-secret"]\n')
    with pytest.raises(InvalidSettings) as raised:
        read_settings()
    assert "OPENAI_API_KEY" in str(raised.value)
    assert "very-secret" not in str(raised.value)


def test_sources_are_read_from_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYTHEBOOK_SOURCE_ROOTS", "/books:/more")
    monkeypatch.setenv("BYTHEBOOK_GIT_SOURCES", "one=https://git.example/me/one#main two=git@git.example:me/two.git#v2:docs/en")
    settings = read_settings()
    assert settings.source_roots == (Path("/books"), Path("/more"))
    assert [(one.book_id, one.url, one.branch, one.folder) for one in settings.git_sources] == [
        ("one", "https://git.example/me/one", "main", ""),
        ("two", "git@git.example:me/two.git", "v2", "docs/en"),
    ]


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("BYTHEBOOK_SOURCE_ROOTS", "books"),
        ("BYTHEBOOK_GIT_SOURCES", "one=https://git.example/me/one"),
        ("BYTHEBOOK_GIT_SOURCES", "one=--upload-pack=evil#main"),
        ("BYTHEBOOK_GIT_SOURCES", "one=ext::sh#main"),
        ("BYTHEBOOK_GIT_SOURCES", "one=/srv/book.git#main"),
        ("BYTHEBOOK_GIT_SOURCES", "one=https://git.example/me/one#--evil"),
        ("DASK_SCHEDULER", "somewhere"),
    ],
)
def test_sources_that_cannot_be_meant_are_errors(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(InvalidSettings, match=variable):
        read_settings()


@pytest.mark.parametrize("line", ['github_webhook_secret = ""', 'github_webhook_secret = "  "', 'first_key = "short"'])
def test_a_secret_that_is_none_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bythebook.toml").write_text(line)
    with pytest.raises(InvalidSettings, match="must be"):
        read_settings()
