"""A server's answers to requesters about their standing requests."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Future

from quorate.campaigns import Refused
from quorate.jobs._calls import Calls, id_of
from quorate.jobs._schedules import Schedules, Standing
from quorate_client import ServiceKey, StandingRequest, StandingState
from quorate_client.keys import to_text

__all__ = ["StandingAnswers"]


class StandingAnswers:
    """What one server answers about standing requests.

    Args:
        schedules: the standing requests.
        calls: reads what is sent.
        service_key: this server's keys.
        clock: its clock, in seconds since 1970.
    """

    def __init__(self, schedules: Schedules, calls: Calls, service_key: ServiceKey, clock: Callable[[], float]) -> None:
        self._schedules, self._calls, self._key, self._clock = schedules, calls, service_key, clock

    def check_request(self, body: bytes, signature: str) -> tuple[StandingRequest, bytes]:
        """Reads a standing request and checks the signature of its requester.

        Raises:
            Refused: it is malformed, for other servers, or not signed by its requester.
        """
        return self._calls.request(StandingRequest.from_json, body, signature)

    def submit(self, request: StandingRequest, signature: bytes) -> Future[tuple[Standing, bool]]:
        """Keeps a checked request: see `Schedules.submit`."""
        return self._schedules.submit(request, signature)

    def shown(self, standing: str, path: str, signature: str) -> bytes:
        """Returns the state of a standing request to its requester, as signed JSON.

        Raises:
            Refused: there is none, or it is another requester's; or the call is not signed.
        """
        return self.state(self._of_requester(standing, "GET", path, signature))

    def cancelled(self, standing: str, path: str, signature: str) -> bytes:
        """Cancels a standing request for its requester, unless it has ended; returns its state, as signed JSON.

        Raises:
            Refused: as for `shown`.
        """
        found = self._of_requester(standing, "POST", path, signature)
        return self.state(self._schedules.cancel(found.id) or found)

    def jobs(self, standing: str, path: str, signature: str) -> bytes:
        """Returns the last jobs of a standing request to its requester, as JSON without results.

        Raises:
            Refused: as for `shown`.
        """
        found = self._of_requester(standing, "GET", path, signature)
        jobs = [
            {"job": to_text(job.id), "at": job.at, "state": job.state, "why": job.why, "changed": job.changed_at}
            for job in self._schedules.jobs(found.id)
        ]
        return json.dumps({"jobs": jobs}).encode()

    def listed(self, requester: str, path: str, signature: str) -> bytes:
        """Returns the last standing requests of a requester, as JSON.

        Raises:
            Refused: the call is not signed by that key.
        """
        now = self._clock()
        standing = [
            {
                "standing": to_text(one.id),
                "program": one.program.hex(),
                "every": one.asked.every,
                "until": one.until,
                "state": one.state(now),
                "next": one.next(now),
            }
            for one in self._schedules.of(self._calls.of_key(requester, path, signature))
        ]
        return json.dumps({"standing": standing}).encode()

    def _of_requester(self, standing: str, method: str, path: str, signature: str) -> Standing:
        called = self._calls.called(method, path, signature)
        found = self._schedules.standing(id_of(standing, _unknown()))
        if found is None or not called.is_by(found.requester):
            raise _unknown()
        return found

    def state(self, standing: Standing) -> bytes:
        """Returns the state of a standing request, as signed JSON.

        Jobs are not in it: the request is signed for all servers alike, so another server could send it here.
        """
        now = self._clock()
        changed = standing.taken_at if standing.cancelled_at is None else standing.cancelled_at
        state = standing.state(now)
        made = StandingState(standing.id, self._calls.me, state, standing.next(now), changed)
        return made.by(self._key, self._calls.deployment).to_json()


def _unknown() -> Refused:
    return Refused(404, "this server does not have this standing request", "send the request to this server")
