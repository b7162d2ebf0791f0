"""Errors as HTTP has them: each kind gets its status and code here, once, and becomes problem+json (RFC 9457)."""

from __future__ import annotations

import errno
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import TypeAdapter
from starlette.exceptions import HTTPException

from bythebook.errors import (
    BookError,
    Busy,
    InvalidBook,
    InvalidInput,
    Locked,
    Mismatch,
    NeedsConsent,
    NotFound,
    RateLimited,
    SeveralBooks,
    StorageFailure,
    Unavailable,
)
from bythebook.web.field_errors import FieldError, field_error
from bythebook.web.logs import log

MEDIA_TYPE = "application/problem+json"
COMPLETIONS = "/v1/"
"""Under this path, errors have the form that OpenAI's clients read."""
RETRY_SECONDS = 5
HIDDEN = "Part of this server is out of order. Try again in a moment; its log says more under this request_id."


class InvalidField(InvalidInput):
    """One field of a request has a value that cannot be used."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class NoSuchModel(NotFound):
    """A client of chat completions names a model that is not a book."""


class KeyRequired(BookError):
    """The request has no valid key."""


class NotAllowed(BookError):
    """The key is valid, but may not do this."""


class BodyTooLarge(BookError):
    """The request's body is larger than any question needs."""


class TooSlow(BookError):
    """The request did not arrive in time."""


class Crowded(BookError):
    """More arrives at once than the memory is for."""


class ShuttingDown(BookError):
    """The server is shutting down, and what was asked for would outlast it."""


class TooManyRequests(BookError):
    """The key has used up its requests for now."""

    def __init__(self, message: str, *, retry_after_seconds: float) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The body of every error response."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    errors: tuple[FieldError, ...] = ()
    books: tuple[str, ...] = ()
    """The books to choose from, where none was named."""


KINDS: tuple[tuple[type[BookError], int, str], ...] = (
    (KeyRequired, 401, "key_required"),
    (NotAllowed, 403, "not_allowed"),
    (NoSuchModel, 404, "model_not_found"),
    (NotFound, 404, "not_found"),
    (TooSlow, 408, "too_slow"),
    (Busy, 409, "busy"),
    (Mismatch, 409, "mismatch"),
    (BodyTooLarge, 413, "body_too_large"),
    (SeveralBooks, 422, "book_required"),
    (NeedsConsent, 422, "needs_consent"),
    (InvalidInput, 422, "invalid_input"),
    (InvalidBook, 422, "invalid_book"),
    (TooManyRequests, 429, "too_many_requests"),
    (Crowded, 503, "overloaded"),
    (Locked, 503, "locked"),
    (ShuttingDown, 503, "stopping"),
    (StorageFailure, 503, "storage_failure"),
    (Unavailable, 503, "unavailable"),
)
OPERATORS = frozenset({"mismatch", "locked", "storage_failure", "unavailable"})
"""Codes whose sentences are for the operator: they may contain paths and addresses."""

REFERENCE = "#/components/schemas/{model}"
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": HTTPStatus(status).phrase,
        "content": {MEDIA_TYPE: {"schema": {"$ref": REFERENCE.format(model="Problem")}}},
    }
    for status in (400, 401, 403, 404, 408, 409, 413, 422, 429, 503)
}
"""The errors that any route may respond with, for the OpenAPI document."""


COMPLETION_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": "An error as OpenAI's clients read it.",
        "content": {"application/json": {"schema": {"type": "object", "required": ["error"]}}},
    }
    for status in ("4XX", "503")
}


def problem_schemas() -> dict[str, Any]:
    """The components that `ERRORS` refers to."""
    schema = TypeAdapter(Problem).json_schema(ref_template=REFERENCE)
    return {**schema.pop("$defs"), "Problem": schema}


def describe(error: BookError, request_id: str, *, trusted: bool = False) -> Problem:
    """Turns an error into a Problem. `trusted`: the reader may see what is meant for the operator."""
    status, code = next(((status, code) for kind, status, code in KINDS if isinstance(error, kind)), (500, "failure"))
    detail = str(error) if trusted or code not in OPERATORS else HIDDEN
    told = problem(status, code, detail, request_id)
    if isinstance(error, InvalidField):
        return replace(told, errors=(FieldError(field=error.field, message=detail),))
    return replace(told, books=error.books) if isinstance(error, SeveralBooks) else told


def problem(status: int, code: str, detail: str, request_id: str, errors: tuple[FieldError, ...] = ()) -> Problem:
    title = HTTPStatus(status).phrase
    return Problem(title=title, status=status, detail=detail, code=code, request_id=request_id, errors=errors)


def respond(told: Problem, headers: Mapping[str, str] | None = None, *, path: str) -> Response:
    """Responds in the form that clients of this path understand."""
    if path.startswith(COMPLETIONS):
        status = 400 if told.status == 422 else told.status
        return Response(json.dumps(completion_error(told)), status, headers, "application/json")
    body = {name: value for name, value in asdict(told).items() if value or name not in ("errors", "books")}
    return Response(json.dumps(body), told.status, headers, MEDIA_TYPE)


def completion_error(told: Problem) -> dict[str, Any]:
    """An error in the form that OpenAI's clients read."""
    kind = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}.get(told.status)
    kind = kind or ("server_error" if told.status >= 500 else "invalid_request_error")
    code = {"key_required": "invalid_api_key", "too_many_requests": "rate_limit_exceeded"}.get(told.code, told.code)
    param = told.errors[0].field if told.errors else "model" if told.code == "model_not_found" else None
    return {"error": {"message": told.detail, "type": kind, "param": param, "code": code, "request_id": told.request_id}}


def headers_of(error: BookError) -> dict[str, str]:
    match error:
        case KeyRequired():
            return {"WWW-Authenticate": "Bearer"}
        case TooManyRequests() | RateLimited(retry_after_seconds=float()):
            return {"Retry-After": str(math.ceil(error.retry_after_seconds or RETRY_SECONDS))}
        case Crowded() | Locked() | ShuttingDown() | StorageFailure() | Unavailable() | Busy():
            return {"Retry-After": str(RETRY_SECONDS)}
    return {}


async def on_book_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, BookError)
    told = describe(error, request_id(request), trusted=trusted(request))
    if told.status >= 500:
        log.warning("failed", code=told.code, reason=str(error))
    return respond(told, headers_of(error), path=request.url.path)


async def on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_")
    told = problem(error.status_code, code, _sentence(error, request), request_id(request))
    return respond(told, error.headers, path=request.url.path)


async def on_invalid_request(request: Request, error: Exception) -> Response:
    """A request that does not fit the OpenAPI document: 422, or 400 where it is not even JSON."""
    assert isinstance(error, RequestValidationError)
    if any(one["type"] == "json_invalid" for one in error.errors()):
        told = problem(400, "invalid_json", "The body is not JSON. Check its quotes, commas and brackets.", request_id(request))
        return respond(told, path=request.url.path)
    errors = tuple(field_error(one) for one in error.errors())
    first = f"{errors[0].field} {errors[0].message}." if errors else "The request does not fit."
    return respond(problem(422, "invalid_input", first, request_id(request), errors), path=request.url.path)


async def on_shortage(request: Request, error: Exception) -> Response:
    """The machine lacks memory, threads or file descriptors, which is not a fault of the program."""
    if not is_shortage(error):
        raise error
    log.warning("failed", code="overloaded", reason=f"{type(error).__name__}: {error}")
    return respond(failure(request_id(request), error), {"Retry-After": str(RETRY_SECONDS)}, path=request.url.path)


def is_shortage(error: Exception) -> bool:
    if isinstance(error, OSError):
        return error.errno in (errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN)
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and "can't start new thread" in str(error))


async def on_failure(request: Request, error: Exception) -> Response:
    return respond(failure(request_id(request), error), path=request.url.path)


def answer_errors(app: FastAPI) -> None:
    """Registers the handlers for every error of this application."""
    app.add_exception_handler(BookError, on_book_error)
    app.add_exception_handler(HTTPException, on_http_error)
    app.add_exception_handler(RequestValidationError, on_invalid_request)
    for kind in (MemoryError, OSError, RuntimeError):
        app.add_exception_handler(kind, on_shortage)
    app.add_exception_handler(Exception, on_failure)


def failure(request_id: str, error: Exception) -> Problem:
    """A fault of the program, whose log has the details; or a shortage of the machine, which passes."""
    if is_shortage(error):
        detail = "The server is short of memory, threads or file descriptors. Try again in a moment."
        return problem(503, "overloaded", detail, request_id)
    detail = "The server met an error of its own. Try again; if it stays, report it with this request_id."
    return problem(500, "internal", detail, request_id)


def request_id(request: Request) -> str:
    return str(request.scope["state"].get("request_id", ""))


def trusted(request: Request) -> bool:
    return bool(request.scope["state"].get("trusted"))


def _sentence(error: HTTPException, request: Request) -> str:
    match error.status_code:
        case 404:
            return "There is nothing at this address. /openapi.json lists what there is."
        case 405:
            return f"{request.method} is not possible here. /openapi.json lists what is."
        case 400:
            return "The body cannot be read. Send JSON in UTF-8."
    return str(error.detail)
