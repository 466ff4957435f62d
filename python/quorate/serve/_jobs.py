"""The requests for jobs, once and standing, and of other servers. Without jobs, there are no such paths."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import Response

from quorate.campaigns import Refused
from quorate.jobs import Jobs
from quorate.serve._addresses import holder_of
from quorate.serve._bodies import Memory, length_up_to, read
from quorate.serve._openapi import DESCRIPTION
from quorate.serve._peers import PATH, Peers
from quorate_client.job import MOST_REQUEST_BYTES

__all__ = ["add_jobs", "refuse_jobs"]

_PATHS = (
    "/openapi.json",
    PATH,
    "/jobs",
    "/jobs/{rest:path}",
    "/makings/{rest:path}",
    "/standing",
    "/standing/{rest:path}",
    "/requesters/{rest:path}",
)


def _json(data: bytes, status: int = 200) -> Response:
    return Response(data, status, media_type="application/json")


def _signature(request: Request) -> str:
    return request.headers.get("quorate-signature", "")


def _path(request: Request) -> str:
    """Returns the path as it was sent, which is what callers sign.

    Raises:
        Refused: there is a query, which no signature covers.
    """
    if request.scope["query_string"]:
        raise Refused(400, "the request has a query", "send the path alone")
    raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    return raw.decode("latin-1")


async def _body(request: Request, memory: Memory) -> bytes:
    """Reads a request of a requester.

    Raises:
        Refused: it is too long or too slow, or there is no room for it.
    """
    _path(request)
    length = length_up_to(request, MOST_REQUEST_BYTES)
    with memory.held(holder_of(request.client.host if request.client else "")) as held:
        return bytes(await read(request, length, held))


def add_jobs(app: FastAPI, jobs: Jobs, peers: Peers, memory: Memory, pool: concurrent.futures.Executor) -> None:
    """Adds the paths of jobs to the application.

    Args:
        app: the application.
        jobs: the jobs.
        peers: the other servers.
        memory: counts the bytes of bodies.
        pool: threads for signatures and the store.
    """

    async def on_pool(function: Any, *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(pool, function, *arguments)

    @app.get("/openapi.json")
    async def description() -> Response:
        return _json(DESCRIPTION)

    @app.get(PATH)
    async def lives(request: Request) -> Response:
        _path(request)
        return _json(await on_pool(peers.answer, _signature(request)))

    @app.post("/jobs")
    async def asked(request: Request) -> Response:
        body = await _body(request, memory)
        checked, signature = await on_pool(jobs.check_request, body, _signature(request))
        job, is_new = await asyncio.wrap_future(jobs.submit(checked, signature))
        return _json(await on_pool(jobs.submitted, job, is_new), 201 if is_new else 200)

    @app.get("/jobs/{job}")
    async def shown(job: str, request: Request) -> Response:
        return _json(await on_pool(jobs.shown, job, _path(request), _signature(request)))

    @app.get("/requesters/{key}/jobs")
    async def listed(key: str, request: Request) -> Response:
        return _json(await on_pool(jobs.listed, key, _path(request), _signature(request)))

    @app.post("/jobs/{job}/cancel")
    async def cancelled(job: str, request: Request) -> Response:
        return _json(await on_pool(jobs.cancelled, job, _path(request), _signature(request)))

    @app.post("/jobs/{job}/ask")
    async def could_start(job: str, request: Request) -> Response:
        await on_pool(jobs.ask, job, _path(request), _signature(request))
        return _json(b'{"start":"now"}')

    @app.post("/jobs/{job}/start")
    async def started(job: str, request: Request) -> Response:
        await on_pool(jobs.start, job, _path(request), _signature(request))
        return _json(b'{"start":"now"}')

    @app.post("/makings/{entry}/{times}/{nonce}/ask")
    async def could_make(entry: str, times: str, nonce: str, request: Request) -> Response:
        await on_pool(jobs.ask_making, (entry, times, nonce), _path(request), _signature(request))
        return _json(b'{"start":"now"}')

    @app.post("/makings/{entry}/{times}/{nonce}/start")
    async def makes(entry: str, times: str, nonce: str, request: Request) -> Response:
        await on_pool(jobs.start_making, (entry, times, nonce), _path(request), _signature(request))
        return _json(b'{"start":"now"}')

    _add_standing(app, jobs, memory, on_pool)


def _add_standing(app: FastAPI, jobs: Jobs, memory: Memory, on_pool: Callable[..., Awaitable[Any]]) -> None:
    """Adds the paths of standing requests."""
    answers = jobs.standing

    @app.post("/standing")
    async def stands(request: Request) -> Response:
        body = await _body(request, memory)
        checked, signature = await on_pool(answers.check_request, body, _signature(request))
        taken, is_new = await asyncio.wrap_future(answers.submit(checked, signature))
        return _json(await on_pool(answers.state, taken), 201 if is_new else 200)

    @app.get("/standing/{standing}")
    async def shown(standing: str, request: Request) -> Response:
        return _json(await on_pool(answers.shown, standing, _path(request), _signature(request)))

    @app.get("/standing/{standing}/jobs")
    async def jobs_of(standing: str, request: Request) -> Response:
        return _json(await on_pool(answers.jobs, standing, _path(request), _signature(request)))

    @app.post("/standing/{standing}/cancel")
    async def cancelled(standing: str, request: Request) -> Response:
        return _json(await on_pool(answers.cancelled, standing, _path(request), _signature(request)))

    @app.get("/requesters/{key}/standing")
    async def listed(key: str, request: Request) -> Response:
        return _json(await on_pool(answers.listed, key, _path(request), _signature(request)))


def refuse_jobs(app: FastAPI) -> None:
    """Answers the paths of jobs at a server that runs none."""

    async def none() -> Response:
        raise Refused(404, "this server runs no jobs", "ask its operator for [jobs] in serve.toml")

    for path in _PATHS:
        app.add_api_route(path, none, methods=["GET", "POST"])
