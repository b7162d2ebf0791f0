"""Reads questions from a file: JSON lines, SQuAD 2.0, CSV. A row that cannot be read is reported, and the others are used."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bythebook.errors import InvalidInput
from bythebook.evaluation.cases import FILTER_NAMES, SHORT_NAMES, Case, Remark, read_case

Row = tuple[int, Mapping[str, Any] | str]
"""A line's number, and its content or the error in it."""
SEVERAL = ";"
"""Between the keywords, lessons, answers and levels in one cell of a CSV file."""
LISTS = frozenset({"keywords", "lessons", "answers", "proficiency_levels"})
NUMBERS = frozenset({"hardware_tier", "chapter_min", "chapter_max", "lesson"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSet:
    """The questions of a file, and remarks about rows that could not be read."""

    cases: tuple[Case, ...]
    remarks: tuple[Remark, ...]


def read_cases(path: Path, *, limit: int | None = None) -> CaseSet:
    """Reads every question once, in the file's order, at most the first `limit`."""
    rows = list(_rows(path, _read(path)))
    cases: dict[str, Case] = {}
    remarks: list[Remark] = []
    asked: dict[object, Case] = {}
    for number, (line, row) in enumerate(rows, start=1):
        try:
            if isinstance(row, str):
                raise InvalidInput(row)
            case = read_case(row, line=line, number=number)
        except InvalidInput as error:
            remarks.append(Remark(line=line, id="", message=f"left out: {str(error).rstrip('.')}"))
            continue
        earlier = cases.get(case.id) or asked.get(_asked(case))
        if earlier:
            same = "the same question" if _asked(earlier) == _asked(case) else f"the same id '{case.id}'"
            remarks.append(Remark(line=line, id=case.id, message=f"left out: {same} as on line {earlier.line}"))
            continue
        cases[case.id] = asked[_asked(case)] = case
    if not cases:
        why = f": line {remarks[0].line} {remarks[0].message.replace('left out: ', 'is no question, ')}" if remarks else ""
        raise InvalidInput(f"{path} holds no question that can be asked{why}. docs/evaluate.md shows what one looks like.")
    return CaseSet(cases=tuple(cases.values())[:limit], remarks=tuple(remarks))


def _asked(case: Case) -> object:
    return case.question.casefold(), tuple(sorted(case.filters.items())), case.history


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8 text (byte {error.start:,}); save it as UTF-8.") from error
    except OSError as error:
        raise InvalidInput(f"The questions in {path} cannot be read ({error.strerror}); name another file.") from error


def _rows(path: Path, text: str) -> Iterator[Row]:
    match path.suffix.lower():
        case ".csv" | ".tsv":
            return _csv(text)
        case ".json":
            return _json(path, text)
        case _:
            return _json_lines(text)


def _json_lines(text: str) -> Iterator[Row]:
    for line, written in enumerate(text.split("\n"), start=1):
        if written.strip():
            yield line, _object(written)


def _object(written: str) -> Mapping[str, Any] | str:
    try:
        row = json.loads(written)
    except ValueError as error:
        return f"it is not JSON ({error})"
    except RecursionError:
        return "it is nested too deeply"
    return row if isinstance(row, dict) else "it is not a JSON object"


def _json(path: Path, text: str) -> Iterator[Row]:
    """SQuAD 2.0, or a list of the rows that JSON lines would have."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        if text.lstrip().startswith("{") and "\n{" in text:
            return _json_lines(text)
        raise InvalidInput(f"{path} is not JSON ({error}).") from error
    if isinstance(whole, list):
        return ((number, row if isinstance(row, dict) else "it is not an object") for number, row in enumerate(whole, start=1))
    if isinstance(whole, dict) and isinstance(whole.get("data"), list):
        return enumerate(_squad(whole["data"]), start=1)
    if isinstance(whole, dict) and "question" in whole:
        return iter([(1, whole)])
    raise InvalidInput(f"{path} is neither SQuAD (an object with 'data') nor a list of questions.")


def _squad(articles: list[Any]) -> Iterator[Mapping[str, Any] | str]:
    """A question of SQuAD has its paragraph instead of a lesson, and every accepted wording of its answer."""
    for article in articles:
        for paragraph in article.get("paragraphs", ()) if isinstance(article, dict) else ():
            for asked in paragraph.get("qas", ()) if isinstance(paragraph, dict) else ():
                if not isinstance(asked, dict):
                    yield "it is not an object"
                    continue
                impossible = bool(asked.get("is_impossible"))
                texts = [one.get("text") for one in asked.get("answers", ()) if isinstance(one, dict)]
                yield {
                    "id": asked.get("id"),
                    "question": asked.get("question"),
                    "answerable": not impossible,
                    "reason": "not_in_book" if impossible else None,
                    "passage": None if impossible else paragraph.get("context"),
                    "answers": list(dict.fromkeys(text for text in texts if isinstance(text, str))),
                }


def _csv(text: str) -> Iterator[Row]:
    heading = text.partition("\n")[0]
    delimiter = max(",;\t", key=heading.count)
    reader = csv.DictReader(text.splitlines(keepends=True), delimiter=delimiter, strict=True)
    if "question" not in (reader.fieldnames or ()):
        raise InvalidInput("The first line of a CSV file names its columns, and one of them must be 'question'.")
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield reader.reader.line_num, f"it is not CSV ({error})"
            continue
        yield reader.line_num, _cells(row)


def _cells(row: dict[str | None, Any]) -> dict[str, Any] | str:
    """A filter has a column of its own name; `lesson` is the expected lesson, as everywhere."""
    if None in row:
        return "it has more cells than the first line names"
    cells: dict[str, Any] = {"filters": {}}
    for name, value in row.items():
        if not name or not value or not value.strip():
            continue
        wanted: Any = [one.strip() for one in value.split(SEVERAL)] if name in LISTS else value.strip()
        short = name.removesuffix("_filter")
        if name in FILTER_NAMES or (short in SHORT_NAMES and name != "lesson"):
            cells["filters"][name] = int(wanted) if short in NUMBERS and str(wanted).isdigit() else wanted
        else:
            cells[name] = wanted
    return cells
