"""What was read lately is not read again, until there is no room or something was written."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from bythebook.index.qdrant_edge.shard import BoundedCache


class Source:
    """Numbers by name, and what was asked for. Names in capitals are nowhere."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def read(self, names: list[str]) -> dict[str, int]:
        self.asked.append(names)
        return {name: ord(name) for name in names if name.islower()}


def test_only_what_is_not_known_is_read() -> None:
    recent, source = BoundedCache[str, int](10), Source()
    assert recent.read(["b", "a"], source.read) == [98, 97]
    assert recent.read(["a", "c", "b", "a"], source.read) == [97, 99, 98, 97]
    assert recent.read(["a", "b"], source.read) == [97, 98]
    assert source.asked == [["b", "a"], ["c"]]


def test_what_is_nowhere_is_left_out_and_asked_for_again() -> None:
    recent, source = BoundedCache[str, int](10), Source()
    assert recent.read(["a", "X"], source.read) == [97]
    assert recent.read(["X", "a"], source.read) == [97]
    assert source.asked == [["a", "X"], ["X"]]


def test_all_or_nothing() -> None:
    recent = BoundedCache[str, int](10)
    recent.keep({"a": 0, "b": 1})
    assert recent.all(["b", "a", "b"]) == [1, 0, 1]
    assert recent.all(["a", "c"]) is None
    assert recent.all([]) == []


def test_the_oldest_goes_where_there_is_no_room() -> None:
    recent = BoundedCache[str, int](2)
    recent.keep({"a": 1})
    recent.keep({"b": 2, "c": 3})
    assert recent.all(["a"]) is None
    assert recent.all(["b", "c"]) == [2, 3]


def test_nothing_is_known_after_clearing() -> None:
    recent = BoundedCache[str, int](10)
    recent.keep({"a": 1})
    recent.clear()
    assert recent.all(["a"]) is None


def test_threads_may_share_it() -> None:
    recent, source = BoundedCache[str, int](3), Source()
    names = [chr(97 + number % 20) for number in range(2000)]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda name: recent.read([name], source.read), names))
    assert found == [[ord(name)] for name in names]
