"""A forge announces a push: the book is ingested again."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response

from bythebook.database.audit import ACTOR
from bythebook.errors import InvalidInput, NotFound
from bythebook.jobs.model import Order
from bythebook.jobs.sources import same_repository
from bythebook.settings import GitSource
from bythebook.web.problems import ERRORS, KeyRequired
from bythebook.web.responses import json_response
from bythebook.web.routes.jobs import repository_of
from bythebook.web.state import Current, State

router = APIRouter(tags=["jobs"], responses=ERRORS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """What a push led to."""

    message: str
    job_ids: tuple[int, ...] = ()


@router.post("/webhooks/github", status_code=202, response_model=Queued, summary="GitHub tells of a push")
async def on_push(
    request: Request,
    current: Current,
    x_hub_signature_256: Annotated[str, Header()] = "",
    x_github_event: Annotated[str, Header()] = "",
) -> Response:
    """A push to a configured branch queues an incremental job. The body is signed with GITHUB_WEBHOOK_SECRET."""
    push = _signed(await request.body(), x_hub_signature_256, current)
    if x_github_event != "push" or push.get("deleted"):
        return json_response(Queued(message=f"Nothing to do for '{x_github_event[:40]}'."), 202)
    sources = [one for one in current.settings.git_sources if _pushed_to(one, push)]
    if not sources:
        raise NotFound("No book of this service comes from this repository. BYTHEBOOK_GIT_SOURCES names those that do.")
    wanted = [one for one in sources if push.get("ref") == f"refs/heads/{one.branch}"]
    ACTOR.set("webhook")
    jobs = [await current.resources.jobs.queue(Order(book_id=one.book_id, source=repository_of(one))) for one in wanted]
    message = "Queued." if jobs else "No book comes from this branch."
    return json_response(Queued(message=message, job_ids=tuple(job.job_id for job in jobs)), 202)


def _signed(body: bytes, signature: str, current: State) -> dict[str, Any]:
    secret = current.settings.github_webhook_secret
    if secret is None:
        raise NotFound("This service takes no webhooks. Set GITHUB_WEBHOOK_SECRET, here and at GitHub.")
    wanted = "sha256=" + hmac.new(secret.value.encode(), body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(wanted.encode(), signature.encode("utf-8", "replace")):
        raise KeyRequired("The signature was made with another secret. Set the same one at GitHub and in GITHUB_WEBHOOK_SECRET.")
    try:
        push = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("The body is not JSON. Choose the content type application/json for the webhook.") from error
    if not isinstance(push, dict):
        raise InvalidInput("The body is not what GitHub sends.")
    return push


def _pushed_to(source: GitSource, push: dict[str, Any]) -> bool:
    repository = push.get("repository")
    addresses = [repository.get(name) for name in ("clone_url", "ssh_url", "html_url")] if isinstance(repository, dict) else []
    return any(isinstance(address, str) and same_repository(source.url, address) for address in addresses)
