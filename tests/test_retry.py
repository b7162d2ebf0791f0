"""What everything that calls a remote server shares. Retrying itself is tested with each of the servers."""

from __future__ import annotations

import pytest

from bythebook.retry import without_login


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://name:word@git.example/me/book", "https://git.example/me/book"),
        ("https://token@git.example:8443/me/book", "https://git.example:8443/me/book"),
        ("https://name:a/b@git.example/me/book", "https://git.example/me/book"),
        ("https://git.example/@me/book", "https://git.example/@me/book"),
        ("https://git.example:8443/@me/book", "https://git.example:8443/@me/book"),
        ("http://[::1]:6333/a@b", "http://[::1]:6333/a@b"),
        ("git@git.example:me/book.git", "git@git.example:me/book.git"),
        ("no address at all", "no address at all"),
    ],
)
def test_an_address_is_shown_without_the_name_and_password_in_it(url: str, shown: str) -> None:
    assert without_login(url) == shown
