"""An index and a program that disagree say so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bythebook.errors import Mismatch
from bythebook.index.manifest import Manifest, wanted_manifest

MANIFEST = wanted_manifest("small@1", 32)


def test_it_survives_the_way_through_json() -> None:
    fitted = replace(MANIFEST, calibration={"small": {"slope": 1.5, "questions": ["Größe?"]}})
    assert Manifest.from_json(fitted.to_json()) == fitted


@pytest.mark.parametrize("change", [{"embedder": "other@1"}, {"dimension": 48}, {"chunker_version": 0}, {"lexical_version": 0}])
def test_any_difference_that_changes_chunks_is_a_mismatch(change: dict[str, object]) -> None:
    other = replace(MANIFEST, **change)  # type: ignore[arg-type]
    assert not other.same_index(MANIFEST)
    if "dimension" not in change:
        with pytest.raises(Mismatch, match=r"The book 'small' was indexed by .* (--mode recreate|bythebook upgrade)"):
            other.require("small@1", book_id="small")


def test_a_calibration_changes_no_chunk() -> None:
    fitted = replace(MANIFEST, calibration={"small": 1})
    assert fitted.same_index(MANIFEST)
    fitted.require("small@1", book_id="small")
