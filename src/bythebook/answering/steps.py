"""The steps of a turn while it runs: when each began, how long it took, and what is worth telling of it.

Whoever wants to hear of them gives `Conversing` a `Tracing`. Steps are kept here and told when the turn has ended, because a
turn is a generator: what is current between two of its events is its reader's business.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime

from bythebook.answering.trace import Step, StepName

Attribute = str | int | float | bool
Attributes = dict[str, Attribute]


@dataclass(slots=True)
class Steps:
    """Of one turn. `attributes` tell of the turn as a whole."""

    attributes: Attributes = field(default_factory=dict)
    recorded: list[tuple[Step, Attributes]] = field(default_factory=list)

    @property
    def taken(self) -> tuple[Step, ...]:
        return tuple(step for step, _ in self.recorded)

    @contextmanager
    def step(self, name: StepName) -> Iterator[Attributes]:
        """What is put into the attributes is told with the step. One that fails counts, too."""
        attributes: Attributes = {}
        began_at, began = datetime.now(UTC), time.perf_counter()
        try:
            yield attributes
        finally:
            self.recorded.append((Step(name=name, began_at=began_at, seconds=time.perf_counter() - began), attributes))


Tracing = Callable[[], AbstractContextManager[Steps]]
"""Entered for each turn, and left when it has ended, failed or was given up."""


def untraced() -> AbstractContextManager[Steps]:
    return nullcontext(Steps())
