"""`bythebook calibration`: the fit as a table, as a curve, and for programs."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from bythebook.grounding.calibration import METHOD, Calibration
from tests.cli.conftest import Cli
from tests.support.fakes.small_embedder import SmallEmbedder
from tests.support.lighthouse import copy_published, make_embedder
from tests.support.small_book import write


@pytest.fixture
def small_embedder() -> SmallEmbedder:
    return make_embedder()


@pytest.fixture
def shelf(cli: Cli, folder: Path) -> Cli:
    copy_published(folder)
    return cli


def test_the_table_names_method_questions_signals_and_curve(shelf: Cli) -> None:
    fitted = Calibration.from_dict(json.loads(shelf("calibration", "--json").out))
    outcome = shelf("calibration")
    assert (outcome.code, outcome.err) == (0, "")
    text = " ".join(outcome.out.split())
    assert METHOD in text
    assert f"{fitted.answerable} answerable and {fitted.unanswerable} unanswerable questions" in text
    assert f"area under the curve {fitted.auc:.3f}" in text
    for name in fitted.names:
        assert name.replace("_", " ") in text
    for logit, level in fitted.anchors:
        assert f"{logit:+.2f}" in text
        assert f"● {level:.2f}" in text


def test_programs_get_the_whole_fit(shelf: Cli) -> None:
    found = json.loads(shelf("calibration", "--json").out)
    assert found.keys() >= {"method", "names", "coefficients", "intercept", "anchors", "sources", "auc", "balanced_accuracy"}
    assert [level for _, level in found["anchors"]] == [0.0, 0.3, 0.6, 0.75, 0.85, 0.98]
    assert len(found["names"]) == len(found["coefficients"]) == len(found["means"]) == len(found["scales"])


def test_the_curve_is_written_as_svg(shelf: Cli, folder: Path) -> None:
    assert shelf("calibration", "--plot", folder / "curve.svg").code == 0
    root = ElementTree.parse(folder / "curve.svg").getroot()
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{space}svg"
    shown = {text.text for text in root.iter(f"{space}text")}
    assert {"Keeping a Lighthouse", "relevance", "0.30", "0.60", "0.85", "low", "high"} <= shown
    line = root.find(f"{space}polyline")
    assert line is not None
    points = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
    assert points == sorted(points)
    assert [y for _, y in points] == sorted((y for _, y in points), reverse=True)  # it rises; y points down in a picture


@pytest.mark.parametrize(("name", "ending"), [("curve.png", ".png"), ("curve", "curve")])
def test_only_svg_is_drawn_and_that_is_said_in_a_sentence(shelf: Cli, folder: Path, name: str, ending: str) -> None:
    outcome = shelf("calibration", "--plot", folder / name)
    assert outcome.code == 2
    assert outcome.sentence() == f"The curve is drawn as SVG, not as '{ending}': name a file that ends with .svg."
    assert not (folder / name).exists()


def test_a_place_that_cannot_be_written_to(shelf: Cli, folder: Path) -> None:
    outcome = shelf("calibration", "--plot", folder / "nowhere" / "curve.svg")
    assert outcome.code == 2
    assert "cannot be written" in outcome.sentence()


def test_a_book_that_is_not_calibrated(cli: Cli, folder: Path) -> None:
    write(folder / "tiny", "book.toml", 'book_id = "tiny"\ntitle = "Tiny [red]"\n')
    write(folder / "tiny", "one.md", "# One\n\nOne sentence stands here and it is the only one.\n")
    assert cli("ingest", folder / "tiny").code == 0
    outcome = cli("calibration")
    assert outcome.code == 1
    assert outcome.sentence().startswith("The book 'tiny' is not calibrated")
    missing = cli("calibration", "--book", "third")
    assert missing.code == 1
    assert "There is no book 'third'" in missing.sentence()
