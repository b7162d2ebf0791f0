"""What readers asked and the book did not answer, for its author."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import AwareDatetime

from bythebook.evaluation.gap_texts import to_csv
from bythebook.evaluation.gaps import Gap, read_gaps
from bythebook.web.access import Author
from bythebook.web.problems import ERRORS
from bythebook.web.requests import BookId
from bythebook.web.responses import json_response
from bythebook.web.state import Current

router = APIRouter(prefix="/books/{book_id}", tags=["books"], responses=ERRORS)
Wanted = Annotated[BookId, Path(description="The book's id.")]
Since = Annotated[AwareDatetime | None, Query(description="Only what was asked from then on.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class GapList:
    """Questions, the most asked first."""

    gaps: tuple[Gap, ...]


@router.get("/gaps", response_model=GapList, summary="What readers asked and the book did not answer, by section")
async def list_gaps(book_id: Wanted, who: Author, current: Current, since: Since = None) -> Response:
    gaps = await read_gaps(current.resources.review, who.book(book_id), since=since)
    return json_response(GapList(gaps=tuple(gaps)))


@router.get(
    "/gaps.csv",
    response_class=Response,
    responses={200: {"description": "A row for each question.", "content": {"text/csv": {"schema": {"type": "string"}}}}},
    summary="The same for a spreadsheet",
)
async def download_gaps(book_id: Wanted, who: Author, current: Current, since: Since = None) -> Response:
    gaps = await read_gaps(current.resources.review, who.book(book_id), since=since)
    headers = {"Content-Disposition": f'attachment; filename="gaps-{book_id}.csv"'}
    return Response(to_csv(gaps), media_type="text/csv; charset=utf-8", headers=headers)
