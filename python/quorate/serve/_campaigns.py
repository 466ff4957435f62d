"""Requests about campaigns: what they state, packets and their state, and results.

They come once or more for each client, so they are taken apart by hand here: a framework's layers would take as much
processor time as all checks of a packet (docs/decisions/0129-requests-of-clients-by-hand.md).
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from quorate.campaigns import Intake, Refused
from quorate.jobs import about
from quorate.serve._addresses import holder_of
from quorate.serve._bodies import Memory, length_of, read
from quorate.serve._problems import LOG
from quorate_client.statements import results_to_json

__all__ = ["CAMPAIGNS", "Campaigns", "json_of"]

#: How the paths of all requests here begin, behind the prefix of a server's address.
CAMPAIGNS = "/campaigns/"


def json_of(data: bytes, status: int = 200) -> Response:
    """Returns an answer of JSON."""
    return Response(data, status, media_type="application/json")


class _Route(NamedTuple):
    """A path in its general form, its only method, and what answers: for a campaign, a client or "", and a request."""

    path: str
    method: str
    answer: Callable[[Intake, str, Request], Awaitable[Response]]


class Campaigns:
    """Answers requests about campaigns.

    Args:
        memory: counts the bytes of bodies.
        pool: the threads for checks.
    """

    def __init__(self, memory: Memory, pool: concurrent.futures.Executor) -> None:
        self._memory, self._pool = memory, pool
        # By what follows the campaign's hash, and whether a client does.
        self._routes = {
            ("", False): _Route(CAMPAIGNS + "{campaign}", "GET", self._shown),
            ("hello", False): _Route(CAMPAIGNS + "{campaign}/hello", "GET", self._hello),
            ("packets", False): _Route(CAMPAIGNS + "{campaign}/packets", "POST", self._packets),
            ("packets", True): _Route(CAMPAIGNS + "{campaign}/packets/{client}", "GET", self._status),
            ("results", True): _Route(CAMPAIGNS + "{campaign}/results/{client}", "GET", self._results),
        }

    async def answer(
        self, intake: Intake, scope: MutableMapping[str, Any], receive: Callable[[], Awaitable[Any]]
    ) -> Response:
        """Answers a request; notes its route in `scope`.

        Raises:
            Refused: a rule does not allow it, or there is no such path or method.
        """
        _, *parts = scope["path"][len(CAMPAIGNS) :].split("/")
        what, client = (*parts, "", "")[:2]
        route = self._routes.get((what, bool(client)))
        if route is None or len(parts) != bool(what) + bool(client):
            raise Refused(404, "there is no such path", "use a client of Quorate, such as quorate_client")
        scope["route"] = route
        if scope["method"] != route.method:
            raise Refused(405, "this path takes other methods", "use a client of Quorate, such as quorate_client")
        return await route.answer(intake, client, Request(scope, receive))

    async def _shown(self, intake: Intake, _: str, __: Request) -> Response:
        return json_of(intake.campaign.json)

    async def _hello(self, intake: Intake, _: str, __: Request) -> Response:
        return json_of(intake.hello())

    async def _packets(self, intake: Intake, _: str, request: Request) -> Response:
        length = length_of(request, intake.lengths)
        with self._memory.held(holder_of(request.client.host if request.client else "")) as held:
            body = await read(request, length, held)
            try:
                return await self._stored(intake, body)
            except Refused as error:
                fields = about("packet.refused", f"{intake.campaign.hash.hex()[:16]}-", status=error.status)
                LOG.debug("a packet was refused: %s", error.what, extra=fields)
                raise

    async def _stored(self, intake: Intake, body: bytearray) -> Response:
        offer = await self._in_thread(intake.check, memoryview(body))
        stored_at = await asyncio.wrap_future(intake.store(offer))
        receipt = intake.receipt(offer, stored_at)  # a signature takes less time than a thread to make it
        header = offer.packet.header
        trace = f"{header.campaign.hex()[:16]}-{header.digest.hex()[:16]}"
        LOG.info("packet %s is stored", trace, extra=about("packet.stored", trace))
        return json_of(receipt.to_json(), 201)

    async def _status(self, intake: Intake, client: str, request: Request) -> Response:
        found = await self._in_thread(intake.status, client, request.headers.get("quorate-signature", ""))
        return json_of(found.to_json())

    async def _results(self, intake: Intake, client: str, request: Request) -> Response:
        found = await self._in_thread(intake.results, client, request.headers.get("quorate-signature", ""))
        return json_of(results_to_json(found))

    async def _in_thread(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)
