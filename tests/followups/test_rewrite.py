"""Follow-ups made standalone by a model: what is asked of it, what is taken from it, and what stands where it gives nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from bythebook.drafting.completion import LONGEST_LINE
from bythebook.drafting.draft import Exchange, Usage
from bythebook.drafting.openai_agents.drafter import AgentDrafter
from bythebook.drafting.openai_agents.options import AgentOptions
from bythebook.followups.rewrite import INSTRUCTIONS, Rewrite, make_standalone, material, objection_to, unwrapped
from bythebook.followups.rules import LONGEST, standalone
from bythebook.retry import Patience
from tests.followups.test_rules import TIDES
from tests.support.fakes.openai_server import ChatServer, Fails, Says, Script, Silent, running

KEY = "sk-test-4815162342"
ASKED = "Is it dangerous?"
MADE = "Is a spring tide dangerous?"
BY_RULES = standalone(ASKED, TIDES, "en")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with running(ChatServer(key=KEY)) as started:
        yield started


async def at_once(_: float) -> None:
    """A pause that a test need not wait for."""


def rewritten(
    server: ChatServer,
    *turns: Script,
    asked: str = ASKED,
    history: tuple[Exchange, ...] = TIDES,
    language: str = "en",
    line_seconds: float = 60.0,
) -> Rewrite:
    server.turns.extend(turns)

    async def rewrite() -> Rewrite:
        patience = Patience(tries=3, sleep=at_once)
        options = AgentOptions(api_key=KEY, base_url=server.url, patience=patience, line_seconds=line_seconds)
        drafter = AgentDrafter(options)
        try:
            return await make_standalone(asked, history, language, drafter.write_line)
        finally:
            await drafter.close()
            assert asyncio.all_tasks() == {asyncio.current_task()}

    made = asyncio.run(rewrite())
    assert not server.refused
    assert not server.turns
    return made


def test_a_good_rewrite_is_searched_for_and_its_tokens_are_told(server: ChatServer) -> None:
    made = rewritten(server, Says(text=MADE))
    assert (made.text, made.by, made.note) == (MADE, "model", "")
    assert isinstance(made.usage, Usage)
    assert made.usage.completion_tokens == len(MADE) // 4


def test_what_the_model_is_shown(server: ChatServer) -> None:
    rewritten(server, Says(text=MADE))
    (body,) = server.bodies
    system, user = body["messages"]
    assert system == {"role": "system", "content": INSTRUCTIONS}
    assert user["content"].splitlines() == [
        "Reader: What is a spring tide?",
        "Book: It is the tide at new and full moon, when the pull of the sun adds to that of the moon.",
        "Sources: [1] Tides > Spring tides; [2] Sailing and its dangers; [3] Moon",
        "",
        "Last question: Is it dangerous?",
    ]
    assert body.keys() == {"model", "messages", "temperature", "stream", "stream_options"}


def test_a_first_question_and_one_that_stands_alone_cost_no_call(server: ChatServer) -> None:
    assert rewritten(server, history=()) == Rewrite(text=ASKED)
    assert rewritten(server, asked="What is a bowline?") == Rewrite(text="What is a bowline?")
    assert not server.bodies


def test_without_a_model_the_rules_stand() -> None:
    before = f"{TIDES[-1].question} {TIDES[-1].answer}"
    assert asyncio.run(make_standalone(ASKED, TIDES, "en", None)) == Rewrite(text=BY_RULES, by="rules", before=before)


@pytest.mark.parametrize(
    "said",
    [
        '"Is a spring tide dangerous?"',
        "**Question:** Is a spring tide dangerous?",
        "Standalone question: “Is a spring tide dangerous?”\n",
    ],
)
def test_what_models_put_around_a_line_is_taken_off(server: ChatServer, said: str) -> None:
    assert rewritten(server, Says(text=said)).text == MADE


@pytest.mark.parametrize(
    ("said", "note"),
    [
        ("Is a spring tide in Norway dangerous?", "the model's line brings in what nobody said (norway)"),
        ("Is a spring tide of 16 metres dangerous?", "the model's line brings in what nobody said (16, metr)"),
        ("", "the model's line is empty"),
        ("  \n", "the model's line is empty"),
        (ASKED, "the model's line still leans on the thread"),
        ("Is a spring tide dangerous?\nYes, it is.", "the model's line asks more than one question"),
    ],
)
def test_what_may_not_be_searched_for_gives_way_to_the_rules(server: ChatServer, said: str, note: str) -> None:
    made = rewritten(server, Says(text=said))
    assert (made.text, made.by, made.note) == (BY_RULES, "rules", note)


def test_a_model_that_goes_on_and_on_is_not_heard_to_the_end(server: ChatServer) -> None:
    endless = Says(text="Is a spring tide dangerous " * (LONGEST_LINE // 20), stalls=True)
    made = rewritten(server, endless)
    assert (made.text, made.note) == (BY_RULES, "the model's line is longer than 300 characters")


def test_a_rate_limit_is_waited_for(server: ChatServer) -> None:
    later = Fails(status=429, message="Rate limit reached", headers={"Retry-After": "1"})
    assert rewritten(server, later, Says(text=MADE)).text == MADE


@pytest.mark.parametrize(
    ("trouble", "line_seconds", "told"),
    [
        ((Fails(status=503),) * 3, 60.0, "does not answer (status 503), asked 3 times"),
        ((Fails(status=401),), 60.0, "does not accept the key"),
        ((Fails(status=429, headers={"Retry-After": "50"}),), 30.0, "accepts no more requests for now"),
        ((Silent(),), 0.2, "did not finish within 0.2 seconds"),
        ((Says(text="Is a spring", finish=None),), 60.0, "was cut off"),
    ],
)
def test_trouble_with_the_model_is_noted_and_nothing_more(
    server: ChatServer, trouble: tuple[Script, ...], line_seconds: float, told: str
) -> None:
    made = rewritten(server, *trouble, line_seconds=line_seconds)
    assert (made.text, made.by) == (BY_RULES, "rules")
    assert made.note.startswith("the model wrote none: ")
    assert told in made.note


def test_a_server_that_is_not_there() -> None:
    server = ChatServer(key=KEY, listening=False)
    made = rewritten(server)
    server.http.server_close()
    assert made.text == BY_RULES
    assert "(ConnectError)" in made.note


def test_of_a_language_without_rules_the_model_is_asked_and_may_repeat_the_question(server: ChatServer) -> None:
    thread = (Exchange(question="Was ist eine Springflut?", answer="Eine hohe Flut."),)
    said = Says(text="Warum ist eine Springflut hoch?")
    assert rewritten(server, said, asked="Warum ist sie hoch?", history=thread, language="de").by == "model"
    alone = "Was ist ein Anker?"
    assert rewritten(server, Says(text=alone), asked=alone, history=thread, language="de").by is None


@pytest.mark.parametrize(
    ("rewrite", "asked", "accepted"),
    [
        ("Is a spring tide dangerous?", "Is it dangerous?", True),
        ("Explain why the spring tide is dangerous", "Why is it dangerous?", True),
        ("Why does the pull of the sun add to that of the moon?", "Why?", True),
        ("What does Sailing and its dangers say?", "What does the second source say?", True),
        ("Is a spring tide dangerous in Norway?", "Is it dangerous?", False),
        ("Is a spring tide above 16 metres dangerous?", "Is it dangerous?", False),
        ("Is the second spring tide dangerous?", "Is it dangerous?", False),
        ("A spring tide is dangerous.", "Is it dangerous?", False),
        ("What is a spring tide?", "Is it dangerous for harbours?", False),
        ("Why is a spring tide dangerous?", "Why is it not dangerous?", False),
        ("Is a spring tide not dangerous?", "Is it dangerous?", False),
        ("Is a spring tide dangerous?\nYes.", "Is it dangerous?", False),
        ("Is a spring tide dangerous? Is the moon?", "Is it dangerous?", False),
        ("Is the moon full? Is it dangerous?", "Is it full? Is it dangerous?", True),
        ("", "Is it dangerous?", False),
        ("Is a spring tide dangerous" + " or dangerous" * 30 + "?", "Is it dangerous?", False),
    ],
)
def test_a_model_s_rewrite_says_nothing_new_and_keeps_what_was_asked(rewrite: str, asked: str, accepted: bool) -> None:
    assert (objection_to(rewrite, asked, TIDES) is None) is accepted


def test_a_negation_may_come_from_the_thread() -> None:
    thread = (Exchange(question="Why can't a sloop sail straight into the wind?", answer="Its sails would flap."),)
    assert objection_to("How can't a sloop sail straight into the wind?", "How?", thread) is None


def test_a_rewrite_in_another_language_is_judged_by_its_words() -> None:
    thread = (Exchange(question="Was ist eine Springflut?", answer="Eine hohe Flut."),)
    assert objection_to("Warum ist eine Springflut hoch?", "Warum ist sie hoch?", thread, "de") is None
    assert objection_to("Warum ist eine Sturmflut hoch?", "Warum ist sie hoch?", thread, "de") is not None


@pytest.mark.parametrize("asked", ["Is it dangerous?", "Why?", "What about harbours?", "What are the consequences?"])
def test_what_the_offline_rules_make_would_be_accepted_from_a_model(asked: str) -> None:
    assert objection_to(standalone(asked, TIDES, "en"), asked, TIDES) is None


def test_the_instructions_name_the_limit_that_is_checked() -> None:
    assert f"at most {LONGEST} characters" in INSTRUCTIONS


def test_only_the_latest_of_a_long_thread_is_shown() -> None:
    long = tuple(Exchange(question=f"What is tide {number}?", answer="A tide. " * 300) for number in range(20))
    shown = material(ASKED, long)
    assert "tide 19" in shown
    assert "tide 0?" not in shown
    assert len(shown) < 10_000


@pytest.mark.parametrize("line", ["What is a question: a wish or a command?", "Is `ros2 topic list` a command?"])
def test_what_belongs_to_a_line_stays(line: str) -> None:
    assert unwrapped(line) == line
