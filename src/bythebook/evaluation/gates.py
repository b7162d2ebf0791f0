"""Gates: the lowest value that a figure may have for a run to pass. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bythebook.errors import InvalidInput
from bythebook.evaluation.cases import REASONS
from bythebook.evaluation.figures import LABELS, REASON_NAMES, Figure, by_name

NAMES = (
    *(name for name in LABELS if not name.endswith("_ms")),
    *(f"{name}_{reason}" for name in REASON_NAMES for reason in REASONS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityGate:
    """The lowest value that a figure may have."""

    name: str
    least: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """A figure below its gate; no figure at all where the questions have nothing to compute it from."""

    gate: QualityGate
    figure: Figure | None

    @property
    def message(self) -> str:
        if self.figure is None:
            return f"{self.gate.name} must be at least {self.gate.least:g}, and none of the questions can tell it"
        return f"{self.gate.name} is {self.figure.value:.3f} and must be at least {self.gate.least:g}"


def read_gates(given: Iterable[str]) -> list[QualityGate]:
    """Reads METRIC=VALUE; a value may be a percentage."""
    return [_gate(text) for text in given]


def _gate(text: str) -> QualityGate:
    name, _, value = (part.strip() for part in text.partition("="))
    try:
        least = float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
    except ValueError:
        least = -1.0
    if not 0.0 <= least <= 1.0:
        raise InvalidInput(f"--fail-under takes METRIC=VALUE with a value from 0 to 1 or 0% to 100%, not '{text}'.")
    if name not in NAMES:
        raise InvalidInput(f"There is no metric '{name}' to fail under. There are: {', '.join(NAMES)}.")
    return QualityGate(name=name, least=least)


def missed(gates: Sequence[QualityGate], figures: Iterable[Figure]) -> list[Miss]:
    known = by_name(figures)
    return [
        Miss(gate=gate, figure=figure) for gate in gates if (figure := known.get(gate.name)) is None or figure.value < gate.least
    ]
