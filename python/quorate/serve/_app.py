"""The application: what is known of all requests, and who answers them. Each answer that refuses says what to do."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from quorate.campaigns import Intake, Refused
from quorate.errors import QuorateError
from quorate.jobs import Jobs
from quorate.serve._bodies import Memory
from quorate.serve._campaigns import CAMPAIGNS, Campaigns, json_of
from quorate.serve._jobs import add_jobs, refuse_jobs
from quorate.serve._peers import Peers
from quorate.serve._problems import problem, problem_of
from quorate.serve._registry import Registry

__all__ = ["Guarded", "make_app"]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_ANY_ORIGIN = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "Retry-After"}


#: Called after an answer: the request's method, the route in its general form, the status, and the seconds.
Answered = Callable[[str, str, int, float], None]


def make_app(
    registry: Registry,
    memory_bytes: int,
    ready: Callable[[], bool],
    jobs: tuple[Jobs, Peers] | None = None,
    answered: Answered | None = None,
) -> Guarded:
    """Returns the application.

    Args:
        registry: the campaigns.
        memory_bytes: bytes of bodies that may be held at the same time.
        ready: whether requests should be sent to this server.
        jobs: the jobs, if this server runs any, and the other servers.
        answered: called after each answer.
    """
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    # Checks are arithmetic of the processor; more threads than cores only wait for each other.
    pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1, "quorate packet")
    app.state.pool = pool
    memory = Memory(memory_bytes)
    if jobs is None:
        refuse_jobs(app)
    else:
        add_jobs(app, *jobs, memory, pool)

    @app.get("/healthz")
    async def healthz() -> Response:
        return json_of(b'{"status":"ok"}')

    @app.get("/readyz")
    async def readyz() -> Response:
        if not ready():
            return problem(503, "this server does not take packets now", "send them later", 10)
        return json_of(b'{"status":"ready"}')

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> Response:
        what = "there is no such path" if error.status_code == 404 else "this path takes other methods"
        return problem(error.status_code, what, "use a client of Quorate, such as quorate_client")

    @app.exception_handler(Exception)
    @app.exception_handler(QuorateError)
    async def failed(_: Request, error: Exception) -> Response:
        return problem_of(error, registry.clock())

    return Guarded(app, registry, Campaigns(memory, pool), answered)


class Guarded:
    """The application behind what holds for every request: prefixes, origins of browsers, and errors without traces.

    Args:
        app: the application.
        registry: the campaigns, which state their prefixes and origins.
        campaigns: answers requests about campaigns.
        answered: called after each answer.
    """

    def __init__(
        self, app: FastAPI, registry: Registry, campaigns: Campaigns, answered: Answered | None = None
    ) -> None:
        self._app, self._registry, self._campaigns, self._answered = app, registry, campaigns, answered

    def close(self) -> None:
        """Gives up checks that wait for a thread."""
        self._app.state.pool.shutdown(wait=False, cancel_futures=True)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handles an ASGI event."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(_HEADERS)
        sent: list[str] = []
        status, begun = 0, time.monotonic()

        async def told(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                extra = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
                message = {**message, "headers": [*message.get("headers", ()), *extra]}
            await send(message)
            sent.append("end" if message["type"] == "http.response.body" and not message.get("more_body") else "part")

        try:
            if CAMPAIGNS in scope["path"]:
                headers.update(_ANY_ORIGIN)  # a page may read why it is refused, also if the campaign is unknown
            intake = await self._intake(scope)
            allowed = {} if intake is None else _allowed(intake, scope)
            for name in _ANY_ORIGIN:
                headers.pop(name, None)
            headers.update(allowed)
            if scope["method"] == "OPTIONS":
                await _preflight(allowed, dict(scope["headers"]))(scope, receive, told)
            elif intake is None:
                await self._app(scope, receive, told)
            else:
                answer = await self._campaigns.answer(intake, scope, receive)
                await answer(scope, receive, told)
        except Exception as error:
            if not sent:
                await problem_of(error, self._registry.clock())(scope, receive, told)
            elif sent[-1] != "end":
                raise _CutOff from None  # its cause may hold values, and uvicorn prints causes
        finally:
            if self._answered is not None and status:
                route = getattr(scope.get("route"), "path", "none")
                self._answered(scope["method"], route, status, time.monotonic() - begun)

    async def _intake(self, scope: Message) -> Intake | None:
        """Removes the prefix from the path, and returns the campaign that it names; None if it names none.

        Raises:
            Refused: there is no such campaign, or the path has another prefix than this server's address in it.
        """
        path: str = scope["path"]
        before, found, after = path.partition(CAMPAIGNS)
        if not found:
            return None
        campaign = after.partition("/")[0]
        intake = self._registry.held(campaign)
        if intake is None:
            intake = await asyncio.get_running_loop().run_in_executor(None, self._registry.intake, campaign)
        if before != self._registry.prefix(intake):
            raise Refused(404, "there is no such path", "send requests to this server's address in the campaign")
        scope["path"] = found + after
        scope["raw_path"] = scope["path"].encode()
        return intake


def _allowed(intake: Intake, scope: Message) -> dict[str, str]:
    """Returns the headers for the origin of a browser's page."""
    origin = dict(scope["headers"]).get(b"origin", b"").decode("latin-1")
    if origin not in intake.campaign.origins:
        return {"Vary": "Origin"}
    return {**_ANY_ORIGIN, "Vary": "Origin", "Access-Control-Allow-Origin": origin}


class _CutOff(Exception):
    """An answer that could not be completed."""


def _preflight(allowed: dict[str, str], asked: dict[bytes, bytes]) -> Response:
    """Answers a browser that asks whether a page may send a request, also from a public page to a private network."""
    if "Access-Control-Allow-Origin" not in allowed:
        return problem(403, "no campaign names this origin here", "ask its operators to name it")
    headers = {
        "Access-Control-Allow-Methods": "GET, POST",
        "Access-Control-Allow-Headers": "Content-Type, Quorate-Signature",
        "Access-Control-Max-Age": "600",
    }
    if asked.get(b"access-control-request-private-network") == b"true":
        headers["Access-Control-Allow-Private-Network"] = "true"
    return Response(status_code=204, headers=headers)
