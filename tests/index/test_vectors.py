"""What every vector engine must do, asked of all of them: the embedded one, and the server's client before a server made of
the same engine. `tests/live` asks it of a real server."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from bythebook.books.model import LAYERS, PROFICIENCIES, Chunk
from bythebook.errors import InvalidInput, Mismatch, NotFound
from bythebook.index.lexical import Terms, query_terms, term_id
from bythebook.index.qdrant_edge.index import EdgeIndex
from bythebook.index.qdrant_server.index import ServerIndex
from bythebook.index.vectors import Candidate, Filters, IndexedChunk, Replacement, VectorIndex
from tests.support.fakes.qdrant_rest import qdrant_server
from tests.support.made_chunks import COLLECTION, MANIFEST, chunk, direction, fast_folder, indexed, lesson

pytestmark = pytest.mark.anyio

ROBOTS = Filters(book_id="robots")
SECOND = f"{COLLECTION}_2"
COOKS = Filters(book_id="cooks")
WORDS = (
    *("hip", "knee", "ankle", "torque", "gait", "balance", "sensor", "joint"),
    *("servo", "cable", "spring", "motor", "step", "heel", "toe", "plan"),
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["edge", "server"])
async def index(request: pytest.FixtureRequest) -> AsyncIterator[VectorIndex]:
    if request.param == "edge":
        with fast_folder() as folder:
            embedded = await EdgeIndex.open(folder / "index")
            yield embedded
            await embedded.close()
        return
    with fast_folder() as folder, qdrant_server(folder, api_key="secret") as server:
        remote = await ServerIndex.open(server.url, "secret")
        yield remote
        await remote.close()


@pytest.fixture
async def shelf(index: VectorIndex) -> VectorIndex:
    """With one collection, empty."""
    await index.create(COLLECTION, MANIFEST)
    return index


async def held(shelf: VectorIndex, filters: Filters = ROBOTS) -> dict[str, list[str]]:
    """The texts of each lesson, in order."""
    lessons: dict[str, list[str]] = {}
    async for one in shelf.scan(COLLECTION, filters):
        lessons.setdefault(one.chunk.source_file, []).append(one.chunk.text)
    assert await shelf.source_files(COLLECTION, filters.book_id) == {name: len(texts) for name, texts in lessons.items()}
    assert await shelf.count(COLLECTION, filters) == sum(map(len, lessons.values()))
    return lessons


async def ask(
    shelf: VectorIndex, text: str, filters: Filters = ROBOTS, depth: int = 100, *, exact: bool = False
) -> list[Candidate]:
    terms = query_terms(text, "en")
    return await shelf.candidates(COLLECTION, embedding=direction(text), terms=terms, filters=filters, depth=depth, exact=exact)


# Collections


async def test_collections_come_and_go_with_their_manifests(index: VectorIndex) -> None:
    assert await index.collections() == {}
    other = replace(MANIFEST, dimension=3, embedder="größer@2")
    await index.create(COLLECTION, MANIFEST)
    await index.create(SECOND, other)
    assert await index.collections() == {COLLECTION: MANIFEST, SECOND: other}
    calibrated = replace(other, calibration={"robots": {"fit": [0.1, 0.9], "curve": "σ"}})
    await index.save_manifest(SECOND, calibrated)
    assert await index.collections() == {COLLECTION: MANIFEST, SECOND: calibrated}
    await index.save_manifest(SECOND, other)
    assert (await index.collections())[SECOND].calibration == {}
    await index.drop(COLLECTION)
    assert await index.collections() == {SECOND: other}


async def test_a_question_of_another_dimension_is_a_mismatch(shelf: VectorIndex) -> None:
    await shelf.replace(COLLECTION, "robots", [lesson("a.md", ["one"])])
    with pytest.raises(Mismatch, match=r"^An embedding of 3 dimensions does not fit the index of 'robots', which has"):
        await shelf.candidates(COLLECTION, embedding=direction("one", 3), terms=None, filters=ROBOTS, depth=5)


async def test_a_dropped_collection_comes_back_empty(shelf: VectorIndex) -> None:
    await shelf.replace(COLLECTION, "robots", [lesson("a.md", ["one"])])
    await shelf.drop(COLLECTION)
    await shelf.create(COLLECTION, MANIFEST)
    assert await held(shelf) == {}


async def test_collections_do_not_see_each_other(shelf: VectorIndex) -> None:
    await shelf.create(SECOND, MANIFEST)
    await shelf.replace(COLLECTION, "robots", [lesson("a.md", ["one"])])
    await shelf.replace(SECOND, "robots", [lesson("b.md", ["two", "three"])])
    assert await held(shelf) == {"a.md": ["one"]}
    assert await shelf.source_files(SECOND, "robots") == {"b.md": 2}


async def test_a_collection_is_created_once(shelf: VectorIndex) -> None:
    await shelf.replace(COLLECTION, "robots", [lesson("a.md", ["one"])])
    with pytest.raises(InvalidInput, match="textbook_chunks"):
        await shelf.create(COLLECTION, MANIFEST)
    assert await held(shelf) == {"a.md": ["one"]}


@pytest.mark.parametrize("name", ["", "a/b", "..", "a" * 65, "ü", "a b", "a\n"])
async def test_a_name_that_no_engine_can_bear_is_refused(index: VectorIndex, name: str) -> None:
    with pytest.raises(InvalidInput, match="letters, digits"):
        await index.create(name, MANIFEST)
    with pytest.raises(InvalidInput, match="letters, digits"):
        await index.count(name, ROBOTS)


async def test_a_collection_that_is_not_there_is_not_found(index: VectorIndex) -> None:
    async def scan() -> None:
        async for _ in index.scan("gone", ROBOTS):
            pass

    calls: list[Callable[[], object]] = [
        lambda: index.save_manifest("gone", MANIFEST),
        lambda: index.drop("gone"),
        lambda: index.replace("gone", "robots", [lesson("a.md", ["one"])]),
        lambda: index.remove_book("gone", "robots"),
        lambda: index.candidates("gone", embedding=direction("x"), terms=None, filters=ROBOTS, depth=5),
        lambda: index.chunks("gone", "robots", []),
        scan,
        lambda: index.count("gone", ROBOTS),
        lambda: index.source_files("gone", "robots"),
        lambda: index.settle("gone"),
    ]
    for call in calls:
        with pytest.raises(NotFound, match="gone"):
            await call()  # type: ignore[misc]


# Replacing lessons


async def test_lessons_are_new_edited_shortened_and_removed(shelf: VectorIndex) -> None:
    await shelf.replace(COLLECTION, "robots", [lesson("a.md", ["one", "two", "three"]), lesson("b.md", ["four"])])
    assert await held(shelf) == {"a.md": ["one", "two", "three"], "b.md": ["four"]}
    await shelf.replace(COLLECTION, "robots", [lesson("a.md", ["one", "2", "three", "more"])])
    assert await held(shelf) == {"a.md": ["one", "2", "three", "more"], "b.md": ["four"]}
    await shelf.replace(COLLECTION, "robots", [lesson("a.md", ["three"])])
    assert await held(shelf) == {"a.md": ["three"], "b.md": ["four"]}
    await shelf.replace(COLLECTION, "robots", [Replacement(source_file="a.md", chunks=())])
    assert await held(shelf) == {"b.md": ["four"]}
    await shelf.replace(COLLECTION, "robots", [])
    await shelf.replace(COLLECTION, "robots", [Replacement(source_file="never.md", chunks=())])
    assert await held(shelf) == {"b.md": ["four"]}


async def test_replacing_twice_is_replacing_once(shelf: VectorIndex) -> None:
    for _ in range(2):
        await shelf.replace(COLLECTION, "robots", [lesson("a.md", ["one", "two"])])
    assert await held(shelf) == {"a.md": ["one", "two"]}


@pytest.mark.parametrize("order", ["together, old first", "together, new first", "new first", "old first"])
async def test_a_lesson_that_is_renamed_keeps_its_ids(shelf: VectorIndex, order: str) -> None:
    old = lesson("old.md", ["one", "two"])
    await shelf.replace(COLLECTION, "robots", [old, lesson("b.md", ["four"])])
    moved = tuple(replace(one, chunk=replace(one.chunk, source_file="new.md")) for one in old.chunks)
    gone, come = Replacement(source_file="old.md", chunks=()), Replacement(source_file="new.md", chunks=moved)
    steps = {"together, old first": [[gone, come]], "together, new first": [[come, gone]]}
    for step in steps.get(order, [[come], [gone]] if order == "new first" else [[gone], [come]]):
        await shelf.replace(COLLECTION, "robots", step)
    assert await held(shelf) == {"new.md": ["one", "two"], "b.md": ["four"]}
    found = await shelf.chunks(COLLECTION, "robots", [one.chunk.id for one in old.chunks])
    assert [one.chunk.source_file for one in found] == ["new.md", "new.md"]


async def test_two_lessons_can_exchange_their_chunks(shelf: VectorIndex) -> None:
    first, second = lesson("a.md", ["one"]), lesson("b.md", ["two"])
    await shelf.replace(COLLECTION, "robots", [first, second])
    swapped = [
        Replacement(
            source_file=target.source_file,
            chunks=tuple(replace(one, chunk=replace(one.chunk, source_file=target.source_file)) for one in source.chunks),
        )
        for target, source in ((first, second), (second, first))
    ]
    await shelf.replace(COLLECTION, "robots", swapped)
    assert await held(shelf) == {"a.md": ["two"], "b.md": ["one"]}


async def test_what_does_not_fit_changes_nothing(shelf: VectorIndex) -> None:
    await shelf.replace(COLLECTION, "robots", [lesson("a.md", ["one"])])
    good = lesson("b.md", ["two"])
    wide = Replacement(source_file="c.md", chunks=(indexed(chunk("x", source_file="c.md"), embedding=direction("x", 17)),))
    with pytest.raises(Mismatch, match=r"17 .* 16"):
        await shelf.replace(COLLECTION, "robots", [good, wide])
    unusable: list[Replacement] = [
        lesson("c.md", ["x"], book_id="cooks"),
        Replacement(source_file="d.md", chunks=lesson("c.md", ["x"]).chunks),
        Replacement(source_file="c.md", chunks=(indexed(chunk("x", source_file="c.md"), embedding=None),)),
        Replacement(source_file="c.md", chunks=(indexed(chunk("x", source_file="c.md"), terms=None),)),
        Replacement(
            source_file="c.md",
            chunks=(indexed(chunk("x", source_file="c.md"), embedding=direction("x") * np.float32("nan")),),
        ),
    ]
    for one in unusable:
        with pytest.raises(ValueError, match="chunk"):
            await shelf.replace(COLLECTION, "robots", [good, one])
    assert await held(shelf) == {"a.md": ["one"]}


# What is stored


async def test_a_chunk_comes_back_as_it_went_in(shelf: VectorIndex) -> None:
    text = "Ein Gelenk – 関節 🤖 مفصل\r\n\tdreht sich.\u0000 `τ = I·α`"
    one = indexed(
        chunk(
            text,
            source_file="módulo/ü 1.md",
            section_title="§",
            prev_chunk_id="p",
            heading_path=("Ä", "Ö"),
            preface="| a |",
        ),
        version=3,
    )
    await shelf.replace(COLLECTION, "robots", [Replacement(source_file="módulo/ü 1.md", chunks=(one,))])
    (found,) = await shelf.chunks(COLLECTION, "robots", [one.chunk.id], with_vectors=True)
    assert (found.chunk, found.version, found.created_at, found.terms) == (one.chunk, 3, one.created_at, one.terms)
    assert found.embedding is not None
    assert one.embedding is not None
    assert found.embedding.dtype == np.float32
    np.testing.assert_allclose(found.embedding, one.embedding, atol=1e-6)
    (bare,) = [other async for other in shelf.scan(COLLECTION, ROBOTS)]
    assert (bare.chunk, bare.embedding, bare.terms) == (one.chunk, None, None)
    assert await shelf.source_files(COLLECTION, "robots") == {"módulo/ü 1.md": 1}


async def test_a_chunk_without_words_is_found_by_its_embedding(shelf: VectorIndex) -> None:
    await shelf.replace(COLLECTION, "robots", [lesson("a.md", ["***", "a hip"])])
    everything = [one async for one in shelf.scan(COLLECTION, ROBOTS, with_vectors=True)]
    assert everything[0].terms == Terms(ids=(), weights=())
    found = {one.id: one for one in await ask(shelf, "hip")}
    assert found[everything[0].chunk.id].lexical == 0.0
    assert found[everything[1].chunk.id].lexical > 0.0


async def test_chunks_come_in_the_order_asked_for(shelf: VectorIndex) -> None:
    await shelf.replace(COLLECTION, "robots", [lesson("a.md", ["one", "two", "three"])])
    ids = [one.chunk.id async for one in shelf.scan(COLLECTION, ROBOTS)]
    asked = [ids[2], "no id", chunk("nowhere").id, ids[0].upper(), "", ids[0], ids[1], ids[2], "7"]
    found = await shelf.chunks(COLLECTION, "robots", asked)
    assert [one.chunk.text for one in found] == ["three", "one", "two", "three"]
    assert await shelf.chunks(COLLECTION, "robots", []) == []


async def test_texts_are_what_a_close_look_needs(shelf: VectorIndex) -> None:
    await shelf.replace(COLLECTION, "robots", [lesson("a.md", ["The HIP bends.", "Straße"], page_title="Éa")])
    ids = [one.chunk.id async for one in shelf.scan(COLLECTION, ROBOTS)]
    asked = [ids[1], "no id", chunk("nowhere").id, "", ids[0], ids[1]]
    for _ in range(2):  # read, and remembered
        found = await shelf.texts(COLLECTION, "robots", asked)
        assert [one.id for one in found] == [ids[1], ids[0], ids[1]]
        assert [one.folded for one in found[:2]] == ["éa\nlegs\nwalking\nstrasse", "éa\nlegs\nwalking\nthe hip bends."]
        assert found[1].content_hash == chunk("The HIP bends.").content_hash
        assert await shelf.texts(COLLECTION, "cooks", asked) == []
        assert await shelf.chunks(COLLECTION, "cooks", asked) == []
    assert await shelf.texts(COLLECTION, "robots", []) == []


async def test_what_was_read_is_read_anew_after_a_write(shelf: VectorIndex) -> None:
    first = lesson("a.md", ["one", "two"])
    ids = [one.chunk.id for one in first.chunks]
    await shelf.replace(COLLECTION, "robots", [first])
    await shelf.read_ahead(COLLECTION)

    async def seen() -> tuple[int, list[str], list[str]]:
        texts, chunks = await shelf.texts(COLLECTION, "robots", ids), await shelf.chunks(COLLECTION, "robots", ids)
        return await shelf.count(COLLECTION, ROBOTS), [one.folded for one in texts], [one.chunk.page_title for one in chunks]

    assert await seen() == (2, ["walking\nlegs\nwalking\none", "walking\nlegs\nwalking\ntwo"], ["Walking", "Walking"])
    await shelf.replace(COLLECTION, "robots", [lesson("a.md", ["one", "three"], page_title="Running")])
    assert await seen() == (2, ["running\nlegs\nwalking\none"], ["Running"])
    await shelf.settle(COLLECTION)
    assert await seen() == (2, ["running\nlegs\nwalking\none"], ["Running"])
    await shelf.remove_book(COLLECTION, "robots")
    assert await seen() == (0, [], [])


async def test_reading_ahead_changes_nothing_but_the_time(shelf: VectorIndex) -> None:
    lessons = [lesson(f"{number}.md", [f"{number} {part}" for part in range(30)]) for number in range(20)]
    await shelf.replace(COLLECTION, "robots", lessons)
    ids = [held.chunk.id for one in lessons for held in one.chunks]
    before = await shelf.texts(COLLECTION, "robots", ids[:100])
    await shelf.read_ahead(COLLECTION)
    assert await shelf.texts(COLLECTION, "robots", ids[:100]) == before
    assert [one.id for one in await shelf.texts(COLLECTION, "robots", ids)] == ids
    with pytest.raises(NotFound):
        await shelf.read_ahead("nowhere")


async def test_two_thousand_chunks_are_scanned_lesson_by_lesson(shelf: VectorIndex) -> None:
    lessons = [lesson(f"{number:03}.md", [f"{number} {part}" for part in range(1 + number % 15)]) for number in range(160)]
    lessons.append(lesson("long.md", [f"long {part}" for part in range(750)]))
    await shelf.replace(COLLECTION, "robots", lessons[100:])
    await shelf.replace(COLLECTION, "robots", lessons[:100])
    expected = {one.source_file: [held.chunk.text for held in one.chunks] for one in lessons}
    found = await held(shelf)
    assert found == expected
    assert list(found) == sorted(expected)
    assert sum(map(len, expected.values())) > 2000
    await shelf.settle(COLLECTION)
    assert await held(shelf) == expected


# Tenants


async def test_a_book_never_sees_another(shelf: VectorIndex) -> None:
    mine = lesson("a.md", ["the hip turns", "the knee bends"])
    theirs = lesson("a.md", ["the hip of a pig", "the knee of a calf"], book_id="cooks")
    await shelf.replace(COLLECTION, "robots", [mine])
    await shelf.replace(COLLECTION, "cooks", [theirs])
    foreign = [one.chunk.id for one in theirs.chunks]
    assert await held(shelf) == {"a.md": ["the hip turns", "the knee bends"]}
    assert await held(shelf, COOKS) == {"a.md": ["the hip of a pig", "the knee of a calf"]}
    assert await shelf.chunks(COLLECTION, "robots", foreign) == []
    for filters in (
        ROBOTS,
        replace(ROBOTS, parent_doc_id=mine.chunks[0].chunk.parent_doc_id),
        replace(ROBOTS, source_file="a.md"),
        replace(ROBOTS, prefix="a"),
        replace(ROBOTS, prefix="https://book.example/a"),
    ):
        assert {one.id for one in await ask(shelf, "hip knee pig calf", filters)} == {one.chunk.id for one in mine.chunks}
        assert await shelf.count(COLLECTION, filters) == 2
    assert await shelf.count(COLLECTION, replace(ROBOTS, parent_doc_id=theirs.chunks[0].chunk.parent_doc_id)) == 0
    assert await shelf.count(COLLECTION, Filters(book_id="")) == 0
    await shelf.replace(COLLECTION, "cooks", [Replacement(source_file="a.md", chunks=())])
    assert await held(shelf) == {"a.md": ["the hip turns", "the knee bends"]}


async def test_removing_a_book_leaves_the_others(shelf: VectorIndex) -> None:
    await shelf.replace(COLLECTION, "robots", [lesson("a.md", ["one"])])
    await shelf.replace(COLLECTION, "cooks", [lesson("a.md", ["two"], book_id="cooks")])
    assert await shelf.count(COLLECTION, ROBOTS) == 1
    await shelf.remove_book(COLLECTION, "robots")
    await shelf.remove_book(COLLECTION, "nobody")
    assert (await held(shelf), await held(shelf, COOKS)) == ({}, {"a.md": ["two"]})


async def test_how_rare_a_word_is_depends_on_its_own_book_alone(shelf: VectorIndex) -> None:
    await shelf.replace(COLLECTION, "robots", [lesson("a.md", ["the hip turns", "the knee bends", "an ankle"])])
    before = await ask(shelf, "hip knee")
    many = [f"hip number {number}" for number in range(50)]
    await shelf.replace(COLLECTION, "cooks", [lesson("a.md", many, book_id="cooks")])
    assert await ask(shelf, "hip knee") == before


async def test_what_was_deleted_no_longer_makes_a_word_common(shelf: VectorIndex) -> None:
    await shelf.replace(COLLECTION, "robots", [lesson("a.md", ["the hip turns", "the knee bends", "an ankle"])])
    before = await ask(shelf, "hip knee")
    await shelf.replace(COLLECTION, "robots", [lesson("b.md", [f"hip number {number}" for number in range(50)])])
    assert await ask(shelf, "hip knee") != before
    await shelf.replace(COLLECTION, "robots", [Replacement(source_file="b.md", chunks=())])
    assert await ask(shelf, "hip knee") == before


async def test_how_rare_a_word_is_can_be_asked(shelf: VectorIndex) -> None:
    hip, knee, tail = (term_id(word) for word in ("hip", "knee", "tail"))

    async def asked() -> dict[int, float]:
        return await shelf.idf(COLLECTION, "robots", [hip, knee, tail])

    def idf(chunks: int, having: int) -> float:
        return math.log(1 + (chunks - having + 0.5) / (having + 0.5))

    assert await asked() == {}
    await shelf.replace(
        COLLECTION, "robots", [lesson("a.md", ["the hip turns", "the knee bends, the other knee too", "an ankle"])]
    )
    before = await asked()
    assert before == pytest.approx({hip: idf(3, 1), knee: idf(3, 1)}, rel=1e-5)
    await shelf.replace(COLLECTION, "cooks", [lesson("a.md", ["a tail", "no hip"], book_id="cooks")])
    assert await asked() == pytest.approx(before, rel=1e-6)
    await shelf.replace(COLLECTION, "robots", [lesson("b.md", ["hip hip", "hips and a tail", "a hip again"])])
    assert await asked() == pytest.approx({hip: idf(6, 4), knee: idf(6, 1), tail: idf(6, 1)}, rel=1e-5)
    await shelf.remove_book(COLLECTION, "cooks")
    await shelf.replace(COLLECTION, "robots", [Replacement(source_file="b.md", chunks=())])
    assert await asked() == pytest.approx(before, rel=1e-6)
    assert await shelf.idf(COLLECTION, "robots", []) == {}


# Filters


def varied() -> list[Replacement]:
    return [
        lesson(
            f"module-{number % 3}/lesson-{number:02}.md",
            [f"{WORDS[number % 16]} {WORDS[(number * 7 + part) % 16]} {number} {part}" for part in range(3)],
            module=("legs", "arms", "")[number % 3],
            chapter=number % 5,
            lesson=number % 4,
            hardware_tier=1 + number % 4,
            proficiency_level=PROFICIENCIES[number % 6],
            layer=LAYERS[(number // 2) % 4],
            source_url=f"https://{'ab'[number % 2]}.example/page-{number}#x",
        )
        for number in range(24)
    ]


PARENT = lesson("module-1/lesson-04.md", ["x"]).chunks[0].chunk.parent_doc_id
FILTERS: list[tuple[Filters, Callable[[Chunk], bool]]] = [
    (ROBOTS, lambda one: True),
    (replace(ROBOTS, hardware_tier_max=1), lambda one: one.hardware_tier <= 1),
    (replace(ROBOTS, hardware_tier_max=3), lambda one: one.hardware_tier <= 3),
    (replace(ROBOTS, module="arms"), lambda one: one.module == "arms"),
    (replace(ROBOTS, module=""), lambda one: one.module == ""),
    (replace(ROBOTS, module="nowhere"), lambda one: False),
    (replace(ROBOTS, chapter_min=2), lambda one: one.chapter >= 2),
    (replace(ROBOTS, chapter_max=0), lambda one: one.chapter <= 0),
    (replace(ROBOTS, chapter_min=1, chapter_max=3), lambda one: 1 <= one.chapter <= 3),
    (replace(ROBOTS, chapter_min=3, chapter_max=2), lambda one: False),
    (replace(ROBOTS, lesson=0), lambda one: one.lesson == 0),
    (replace(ROBOTS, proficiency_levels=("A2", "C1")), lambda one: one.proficiency_level in ("A2", "C1")),
    (replace(ROBOTS, proficiency_levels=()), lambda one: False),
    (replace(ROBOTS, layer="L3"), lambda one: one.layer == "L3"),
    (replace(ROBOTS, parent_doc_id=PARENT), lambda one: one.parent_doc_id == PARENT),
    (replace(ROBOTS, source_file="module-1/lesson-04.md"), lambda one: one.source_file == "module-1/lesson-04.md"),
    (replace(ROBOTS, source_file="module-1"), lambda one: False),
    (replace(ROBOTS, prefix="module-2/"), lambda one: one.source_file.startswith("module-2/")),
    (replace(ROBOTS, prefix="https://a.example/"), lambda one: one.source_url.startswith("https://a.example/")),
    (replace(ROBOTS, prefix=""), lambda one: True),
    (
        replace(ROBOTS, hardware_tier_max=2, module="legs", chapter_min=1, chapter_max=4, prefix="https://b.example/page-1"),
        lambda one: (
            one.hardware_tier <= 2
            and one.module == "legs"
            and 1 <= one.chapter <= 4
            and one.source_url.startswith("https://b.example/page-1")
        ),
    ),
    (
        replace(ROBOTS, lesson=3, layer="L2", proficiency_levels=("A1", "A2", "B1", "B2"), hardware_tier_max=4),
        lambda one: one.lesson == 3 and one.layer == "L2" and one.proficiency_level in ("A1", "A2", "B1", "B2"),
    ),
]


async def test_each_filter_lets_through_what_it_should(shelf: VectorIndex) -> None:
    lessons = varied()
    await shelf.replace(COLLECTION, "robots", lessons)
    await shelf.replace(COLLECTION, "cooks", [lesson("module-2/x.md", ["hip knee"], book_id="cooks")])
    chunks = [one.chunk for replacement in lessons for one in replacement.chunks]
    for filters, passes in FILTERS:
        expected = {one.id for one in chunks if passes(one)}
        assert {one.chunk.id async for one in shelf.scan(COLLECTION, filters)} == expected, filters
        assert await shelf.count(COLLECTION, filters) == len(expected), filters
        assert {one.id for one in await ask(shelf, " ".join(WORDS), filters)} == expected, filters
    assert any(passes(one) for one in chunks for _, passes in FILTERS[-2:])


# Scores


def reference(chunks: Sequence[IndexedChunk], text: str) -> dict[str, tuple[float, float]]:
    """Cosine, and BM25 with the rarity ln(1 + (n - f + 0.5) / (f + 0.5)), worked out one chunk at a time."""
    question, vector = query_terms(text, "en"), direction(text)
    weights = [dict(zip(one.terms.ids, one.terms.weights, strict=True)) if one.terms else {} for one in chunks]
    frequency = Counter(term for held in weights for term in held)
    rarity = {term: math.log(1 + (len(chunks) - frequency[term] + 0.5) / (frequency[term] + 0.5)) for term in question.ids}
    scores = {}
    for one, held in zip(chunks, weights, strict=True):
        assert one.embedding is not None
        lexical = sum(rarity[term] * held.get(term, 0.0) for term in question.ids)
        scores[one.chunk.id] = (float(vector @ one.embedding), lexical)
    return scores


@pytest.mark.parametrize("exact", [False, True])
async def test_both_scores_are_what_they_are_by_hand(shelf: VectorIndex, exact: bool) -> None:
    lessons = varied()
    await shelf.replace(COLLECTION, "robots", lessons)
    chunks = [one for replacement in lessons for one in replacement.chunks]
    for question in ("hip torque of the knee", "gait", "balance balance plan 7", "nothing of this"):
        by_hand = reference(chunks, question)
        found = await ask(shelf, question, depth=6, exact=exact)
        assert [one.id for one in found] == sorted(one.id for one in found)
        for one in found:
            assert (one.cosine, one.lexical) == pytest.approx(by_hand[one.id], abs=1e-4)
        best = sorted(by_hand, key=lambda name: -by_hand[name][0])[:6]
        assert set(best) <= {one.id for one in found}
        bar = sorted((lexical for _, lexical in by_hand.values()), reverse=True)[5]
        assert {name for name, (_, lexical) in by_hand.items() if lexical > bar + 1e-4} <= {one.id for one in found}
        assert len(found) <= 12


async def test_scores_under_a_filter_are_those_of_the_whole_book(shelf: VectorIndex) -> None:
    """The rarity of a word is the book's, whatever part of it may be seen."""
    lessons = varied()
    await shelf.replace(COLLECTION, "robots", lessons)
    by_hand = reference([one for replacement in lessons for one in replacement.chunks], "hip torque")
    found = await ask(shelf, "hip torque", replace(ROBOTS, hardware_tier_max=1, module="legs"), depth=4)
    assert len(found) >= 4
    for one in found:
        assert (one.cosine, one.lexical) == pytest.approx(by_hand[one.id], abs=1e-4)


async def test_either_retrieval_can_be_left_out(shelf: VectorIndex) -> None:
    await shelf.replace(COLLECTION, "robots", [lesson("a.md", ["the hip turns", "the knee bends", "an ankle"])])
    vector, terms = direction("x"), query_terms("knee", "en")
    nothing = Terms(ids=(), weights=())

    async def candidates(embedding: object, terms: Terms | None) -> list[Candidate]:
        given = vector if embedding else None
        return await shelf.candidates(COLLECTION, embedding=given, terms=terms, filters=ROBOTS, depth=2)

    (only_words,) = await candidates(False, terms)
    assert (only_words.cosine, only_words.lexical > 0) == (0.0, True)
    only_meaning = await candidates(True, None)
    assert [one.lexical for one in only_meaning] == [0.0, 0.0]
    assert await candidates(True, nothing) == only_meaning
    assert await candidates(False, None) == await candidates(False, nothing) == []


async def test_an_empty_book_has_no_candidates(shelf: VectorIndex) -> None:
    assert await ask(shelf, "hip") == []
    await shelf.settle(COLLECTION)
    assert await held(shelf) == {}
