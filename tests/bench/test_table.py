from __future__ import annotations

from pathlib import Path

import pytest

from bench.__main__ import TABLES, closing, run
from bench.machine import cpu_model, describe_machine, peak_memory
from bench.table import Table, markdown, verdict
from bench.timing import median, percentile


def test_a_table_is_printed_with_padded_columns() -> None:
    table = Table(title="Speed", columns=("what", ""), rows=(("a longer name", "met"), ("b", "")), note="How it was done.")
    assert markdown(table).splitlines() == [
        "## Speed",
        "",
        "| what          |     |",
        "| ------------- | --- |",
        "| a longer name | met |",
        "| b             |     |",
        "",
        "How it was done.",
    ]


def test_a_row_must_fit_its_columns() -> None:
    with pytest.raises(ValueError, match="does not have 2 cells"):
        Table(title="Speed", columns=("what", "measured"), rows=(("only one",),))


def test_targets_that_were_missed_are_counted() -> None:
    table = Table(title="", columns=("what", ""), rows=(("a", verdict(True)), ("b", verdict(False)), ("c", "")))
    assert table.missed == 1


def test_a_percentile_is_a_value_that_was_measured() -> None:
    values = [float(number) for number in range(100, 0, -1)]
    assert percentile(values, 0.5) == 50.0
    assert percentile(values, 0.95) == 95.0
    assert percentile([7.0], 0.95) == 7.0
    assert median([3.0, 1.0, 2.0]) == 2.0


def test_the_machine_is_described() -> None:
    described = {row[0]: row[1] for row in describe_machine().rows}
    assert cpu_model() in described["processor"]
    assert "onnxruntime" in described["versions"]


def test_peak_memory_does_not_fall_when_memory_is_freed() -> None:
    held = bytearray(b"x" * 50_000_000)
    peak = peak_memory()
    assert peak > len(held)
    del held
    assert peak_memory() >= peak


def test_a_run_prints_the_machine_and_each_table_and_writes_its_pictures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    made = Table(title="Made up", columns=("what", ""), rows=(("a", verdict(False)),), pictures={"made.svg": "<svg/>"})
    monkeypatch.setitem(TABLES, "made-up", lambda workshop: made)
    page = run(["made-up"], None)  # type: ignore[arg-type]
    assert "## Machine" in page.text
    assert markdown(made) in page.text
    assert "1 target not met. It took made-up 0.0 minutes." in page.text
    assert markdown(made) in capsys.readouterr().out
    page.write(tmp_path)
    assert (tmp_path / "benchmarks.md").read_text("utf-8") == page.text
    assert (tmp_path / "images" / "made.svg").read_text("utf-8") == "<svg/>"


def test_a_table_that_fails_says_so_and_the_others_are_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(workshop: object) -> Table:
        raise OSError("there is no room left")

    monkeypatch.setitem(TABLES, "fails", fails)
    monkeypatch.setitem(TABLES, "made-up", lambda workshop: Table(title="Made up", columns=("what",), rows=(("a",),)))
    page = run(["fails", "made-up"], None)  # type: ignore[arg-type]
    assert "## Fails\n\n**Not measured in this run**: there is no room left" in page.text
    assert "## Made up" in page.text


def test_the_end_tells_how_long_each_table_took() -> None:
    assert closing(0, {"latency": 6.04, "peers": 7.52}) == (
        "0 targets not met. The run took 14 minutes (latency 6.0, peers 7.5).\n"
    )
