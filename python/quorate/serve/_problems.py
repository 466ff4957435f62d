"""Answers that refuse: problem details of RFC 9457, with what is wrong and what to do."""

from __future__ import annotations

import http
import json
import logging
import traceback

from starlette.responses import Response

from quorate.campaigns import Refused, StoreError, StoreFull
from quorate.jobs import about

__all__ = ["LOG", "problem", "problem_of"]

LOG = logging.getLogger("quorate.serve")

#: Seconds after which a client tries again where this server has a problem that may pass.
_RETRY_S = 10


def problem(
    status: int, what: str, do: str, retry_after: int | None = None, more: dict[str, int] | None = None
) -> Response:
    """Returns an answer of type `application/problem+json`. The connection ends with it."""
    fields = {
        "title": http.HTTPStatus(status).phrase,
        "status": status,
        "detail": f"{what}: {do}",
        "what": what,
        "do": do,
    }
    headers = (
        {"Connection": "close"} if retry_after is None else {"Connection": "close", "Retry-After": str(retry_after)}
    )
    text = json.dumps({**fields, **(more or {})})
    return Response(text, status, headers, media_type="application/problem+json")


def problem_of(error: Exception, now: float) -> Response:
    """Returns the answer for an error. Errors that are this server's are logged, without values."""
    if isinstance(error, Refused):
        more = {"time": int(now)} if error.status == 401 else None
        return problem(error.status, error.what, error.do, error.retry_after, more)
    if isinstance(error, StoreFull):
        LOG.error("%s", error, extra=about("store.full"))
        return problem(
            507, "this server's disk is full, and nothing of the request is stored", "send it again later", _RETRY_S
        )
    if isinstance(error, StoreError):
        LOG.error("%s", error, extra=about("store.error"))
        return problem(503, "this server cannot use its store now", "send it again later", _RETRY_S)
    last = traceback.extract_tb(error.__traceback__)[-1]
    told = (type(error).__name__, last.filename, last.lineno)
    LOG.error("an error in this server, of type %s, at %s:%s", *told, extra=about("server.error"))
    return problem(500, "this server has an error", "send it again later, and tell its operator")
