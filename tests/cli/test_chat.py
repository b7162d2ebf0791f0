"""`bythebook chat`: a conversation through a pipe, as a script or a reader would hold it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, Outcome
from tests.support.fakes.openai_server import ChatServer, Fails, Says, running
from tests.support.fakes.small_embedder import SmallEmbedder
from tests.support.lighthouse import ARC, FOREIGN, TRIMMED, WICK, copy_published, make_embedder

KEY = "sk-test-4815162342"
BRAID = "A wick is a braid of cotton that lifts oil to the flame."
LINK = "https://light.example/module-1-lamp/chapter-1-the-light/wicks#trimming-the-wick"
Talk = Callable[..., Outcome]


@pytest.fixture
def small_embedder() -> SmallEmbedder:
    return make_embedder()


@pytest.fixture
def talk(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Talk:
    """Types lines and then Ctrl-D."""
    copy_published(folder)

    def typed(*lines: str, thread: str | None = None) -> Outcome:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        outcome = cli("chat", *(("--thread", thread) if thread else ()))
        assert (outcome.code, outcome.err) == (0, "")
        return outcome

    return typed


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    with running(ChatServer(key=KEY)) as started:
        monkeypatch.setenv("OPENAI_BASE_URL", started.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield started


def turns(outcome: Outcome) -> list[str]:
    """What was printed before the first prompt and after each, on one line each."""
    return [" ".join(part.split()) for part in outcome.out.split("\n› ")]


def test_ctrl_d_ends_it(talk: Talk) -> None:
    welcome, end = turns(talk())
    assert welcome == "Keeping a Lighthouse Ask the book. /help lists the commands."
    assert end == ""


def test_a_turn_ends_with_document_cs_footer(talk: Talk) -> None:
    _, answer, _ = turns(talk(WICK))
    assert f"{TRIMMED} [1]" in answer
    assert f"--- **Sources:** [1] {LINK} (score: 0." in answer


def test_a_refusal_has_no_footer(talk: Talk) -> None:
    _, refusal, _ = turns(talk(FOREIGN))
    assert "outside the scope of the Keeping a Lighthouse textbook" in refusal
    assert "**Sources:**" not in refusal


def test_a_follow_up_leans_on_what_was_said_and_new_forgets_it(talk: Talk) -> None:
    _, first, second, new, lost, _ = turns(
        talk("What is a wick?", "How often is it trimmed?", "/new", "How often is it trimmed?")
    )
    assert BRAID in first
    assert "searching for: How often is the wick trimmed?" in second
    assert TRIMMED in second
    assert new == "A new thread."
    assert "searching for" not in lost


def thread_of(outcome: Outcome) -> str:
    return outcome.out.rstrip().rpartition("bythebook chat --thread ")[2]


def test_a_thread_is_resumed_where_it_was_left(talk: Talk, cli: Cli) -> None:
    left = talk("What is a wick?")
    thread = thread_of(left)
    _, sources, again, _ = turns(talk("/sources", "How often is it trimmed?", thread=thread))
    assert LINK in sources
    assert "searching for: How often is the wick trimmed?" in again
    assert cli("chat", "-q", "How often is it trimmed?", "--thread", thread.upper()).code == 0
    (told,) = json.loads(cli("threads", "list", "--json").out)
    assert (told["thread_id"], told["turn_count"], told["title"]) == (thread, 3, "What is a wick?")


def test_new_begins_a_second_thread(talk: Talk, cli: Cli) -> None:
    second = thread_of(talk("What is a wick?", "/new", WICK))
    newest, oldest = json.loads(cli("threads", "list", "--json").out)
    assert (newest["thread_id"], newest["title"], oldest["title"]) == (second, WICK, "What is a wick?")


def test_a_thread_that_is_not_there(talk: Talk, cli: Cli) -> None:
    thread = thread_of(talk(WICK))
    gone = cli("chat", "--thread", "550e8400-e29b-41d4-a716-446655440000")
    assert (gone.code, gone.sentence()[:15]) == (1, "There is no thr")
    wrong = cli("chat", "--thread", "12")
    assert (wrong.code, wrong.sentence()[:23]) == (2, "A thread's id is a UUID")
    other = cli("chat", "--thread", thread, "--book", "dark")
    assert (other.code, other.sentence()) == (1, f"The thread {thread} belongs to the book 'light', not with 'dark'.")


def test_one_question_and_end(cli: Cli, talk: Talk) -> None:
    outcome = cli("chat", "-q", WICK)
    assert (outcome.code, outcome.err) == (0, "")
    assert f"{TRIMMED} [1]" in outcome.out
    assert "›" not in outcome.out.replace(" › ", "")
    bad = cli("chat", "-q", " ")
    assert bad.code == 2
    assert "this one has 0" in bad.sentence()
    unknown = cli("chat", "-q", WICK, "--book", "third")
    assert unknown.code == 1
    assert "There is no book 'third'" in unknown.sentence()


def test_sources_and_more(talk: Talk) -> None:
    _, before, _, sources, more, _ = turns(talk("/sources", WICK, "/sources", "/more"))
    assert before == "There are no sources yet."
    assert sources.startswith(f"[Source: {LINK} | Chapter: Chapter 1: ")
    assert "| Section: Trimming the wick | Score: 0." in sources
    assert more.startswith("[1] Wicks and oil › Trimming the wick")
    assert TRIMMED in more
    assert len(more) > 2 * len(TRIMMED)  # the passage, not the sentence alone


def test_commands(talk: Talk) -> None:
    _, help_, unknown, blank, _ = turns(talk("/help", "/dance", "", "/quit", "never read"))[:5]
    for command in ("/sources", "/more", "/filter", "/new", "/quit"):
        assert command in help_
    assert "/dance" in unknown
    assert blank == ""


def test_quit_ends_it(talk: Talk) -> None:
    assert TRIMMED not in talk("/quit", WICK).out
    assert TRIMMED not in talk("/exit", WICK).out


def test_filters_stay_until_they_are_taken_away(talk: Talk) -> None:
    _, none, tier, refused, more, gone, answered, _ = turns(
        talk("/filter", "/filter tier=1", ARC, "/filter chapter=1-2 level=a2", "/filter none", ARC)
    )
    assert none == "No filter: the whole book."
    assert tier == "tier 1"
    assert "Outside your filters" in refused
    assert "The electric lamp" in refused
    assert more == "tier 1, from chapter 1, to chapter 2, level A2"
    assert gone == none
    assert "The rods are moved together by a solenoid" in answered


def test_a_mistake_keeps_the_thread(talk: Talk) -> None:
    lines = (
        "What is a wick?",
        "/filter tier=9",
        "/filter colour=red",
        "/filter tier=two",
        "w" * 1001,
        "How often is it trimmed?",
    )
    _, _, range_, name, number, long, answer, _ = turns(talk(*lines))
    assert range_ == "The hardware tier must be from 1 to 4, not 9."
    assert re.search("no filter 'colour'.* tier, module, chapter,", name)
    assert number == "The tier must be a number, not 'two'."
    assert "this one has 1,001" in long
    assert TRIMMED in answer


def test_brackets_are_shown_as_they_are(talk: Talk) -> None:
    _, first, filter_, _, _ = turns(talk("What is [bold]a wick[/bold] [/red]?", "/filter [/red]=1", "And it [/]?"))
    assert "Traceback" not in first
    assert filter_.startswith("There is no filter '[/red]'.")


def test_the_number_of_turns_has_a_limit(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MAX_TURNS", "1")
    _, _, full, _, again, _ = turns(talk(WICK, WICK, "/new", WICK))
    assert "has had its 1 question" in full
    assert TRIMMED in again


def test_a_model_that_fails_leaves_no_half_turn(talk: Talk, server: ChatServer) -> None:
    server.turns.append(Says(text=f"{BRAID[:-1]} [1]."))
    server.turns.append(Fails(status=401, message="Incorrect API key provided", code="invalid_api_key"))
    server.turns.append(Says(text=f"{TRIMMED[:-1]} [1]."))
    _, first, failed, second, sources, _ = turns(talk("What is a wick?", WICK, WICK, "/sources"))
    assert BRAID in first
    assert "OPENAI_API_KEY" in failed
    assert TRIMMED in second
    assert LINK in sources
    asked = [message["content"] for message in server.bodies[-1]["messages"] if message["role"] == "user"]
    assert asked == ["What is a wick?", WICK]


def test_the_trace_says_who_decided_whatever_the_judge_does(talk: Talk, cli: Cli, server: ChatServer) -> None:
    """Another language, "yes" with words that stand everywhere, an honest "yes", and "no" to everything."""
    own = {"quote": BRAID, "label": 1, "text": "Oil climbs to the flame through cotton."}
    made_up = {"quote": BRAID, "label": 1, "text": "A cotton braid is the favourite toy of every kitten in the harbour."}
    draft = Says(text=json.dumps({"opening": BRAID, "sentences": [own, made_up], "search": ""}))
    yes = '{"n": %d, "words": "%s", "supported": %s}'
    judges = {
        "1 ja: Docht\n2 ja: Baumwolle": "the words rule decided; the judge answered in another form than it was asked for",
        f'{{"verdicts": [{yes % (1, "the", "true")}]}}': "the words rule decided; the judge gave no answer",
        f'{{"verdicts": [{yes % (1, "lifts oil to the flame", "true")}]}}': "the judge says yes",
        f'{{"verdicts": [{yes % (1, "climbs", "false")}]}}': "means something else than its sources, says the judge (climbs)",
    }
    for verdicts in judges:
        server.turns.extend([draft, Says(text=verdicts)])
    answers = turns(talk(*["What is a wick?"] * len(judges)))[1:-1]
    assert all(BRAID in answer and "kitten" not in answer for answer in answers)
    (thread,) = json.loads(cli("threads", "list", "--json").out)
    for number, decided in enumerate(judges.values(), start=1):
        shown = " ".join(cli("threads", "trace", thread["thread_id"], str(number)).out.split())
        assert decided in shown
        assert "kitten in the harbour. [1] (says next to nothing" in shown


def test_no_book_yet(cli: Cli) -> None:
    outcome = cli("chat", "-q", WICK)
    assert outcome.code == 1
    assert "There is no book yet" in outcome.sentence()


def test_thanks_is_not_looked_up_in_the_book(talk: Talk, cli: Cli) -> None:
    _, hello, answer, thanks, _ = turns(talk("Hello!", WICK, "Great, thank you very much."))
    assert hello == thanks == "Nothing was searched. Ask a question about the book."
    assert f"{TRIMMED} [1]" in answer
    outcome = cli("ask", "thanks a lot")
    assert (outcome.code, outcome.out) == (0, "Nothing was searched. Ask a question about the book.\n")
