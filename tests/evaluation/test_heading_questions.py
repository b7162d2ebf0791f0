"""What a reader would ask to be led to a heading, and the headings that do not say it."""

from __future__ import annotations

import pytest

from bythebook.evaluation.heading_questions import asked_by_heading, asked_of_subject

NAMES = {"BaseModel", "Query", "Python"}


@pytest.mark.parametrize(
    ("heading", "question"),
    [
        ("Changing the default", "How do I change the default?"),
        ("2.1 Handling Errors in Python", "How do I handle errors in Python?"),
        ("Step 3: Install A Pump", "How do I install a pump?"),
        ("Import Query and BaseModel", "How do I import Query and BaseModel?"),
        ("Run your app", "How do I run my app?"),
        ("Running the tests", "How do I run the tests?"),
        ("How to protect yourself from replays", "How do I protect myself from replays?"),
        ("What is a Container Image", "What is a container image?"),
        ("Why should you pin versions?", "Why should I pin versions?"),
    ],
)
def test_a_heading_that_says_what_it_answers_is_asked(heading: str, question: str) -> None:
    assert asked_by_heading(heading, NAMES) == question


@pytest.mark.parametrize(
    "heading",
    [
        "Open Access",  # an adjective
        "Package list",  # a noun
        "Logging Cheat Sheet",
        "Monitoring and Incident Response",
        "Use it with a router",  # which "it" is said above
        "How to test",
        "How To - Recipes",
        "Use cases",
        "What is it?",
        "Path Parameters",
        "Adding",
        "Running example: a pump",
        "Installation des pompes",
        "",
    ],
)
def test_a_heading_that_does_not_say_it_is_not_asked(heading: str) -> None:
    assert asked_by_heading(heading, NAMES) is None


@pytest.mark.parametrize(
    ("heading", "question"),
    [
        ("Timing Attacks", "What are timing attacks?"),
        ("Query parameters", "What are Query parameters?"),
        ("Path parameters containing paths", "How do path parameters containing paths work?"),
        ("3.2 Dependencies with yield", "How do dependencies with yield work?"),
        ("Bodies of arbitrary dicts", "What are the bodies of arbitrary dicts?"),
    ],
)
def test_a_heading_that_names_several_things_is_asked_about_them(heading: str, question: str) -> None:
    assert asked_of_subject(heading, NAMES) == question


@pytest.mark.parametrize(
    "heading",
    [
        "Data conversion",  # one thing, or what is done: words alone do not tell
        "Order matters",
        "About HTTPS",
        "Check the docs",
        "More details",
        "Use cases",
        "Running tests",
        "Other data types",
        "Pros and cons",
        "TLS with its SNI",
        "Example: pumps",
        "Recap",
    ],
)
def test_a_heading_that_names_no_things_is_not_asked_about_them(heading: str) -> None:
    assert asked_of_subject(heading, NAMES) is None
