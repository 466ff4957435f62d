"""Standing requests: a request for a program at fixed times, signed once, and the times themselves.

Each server derives the times on its own clock. The job of a time is called an occurrence. Its id is the SHA-256 of a
label, the id of the standing request and the time, so all servers name it alike without a word between them.

All times are in UTC, so no day has 23 hours. JSON is canonical, as in `job`.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import hashlib
import json
import re
import secrets
import struct
from collections.abc import Mapping
from typing import Any

from quorate_client.deployment import Deployment
from quorate_client.errors import ValuesError, WireError
from quorate_client.job import Parameter, canonical, is_time, read_asked, texts_of
from quorate_client.keys import SIGNATURE_BYTES, ClientKey, ServiceKey, from_text, verify

__all__ = ["MOST_AHEAD_S", "STANDING_STATES", "Every", "StandingRequest", "StandingState", "occurrence_id"]

#: Seconds from `time` to `from`, and from `from` to `until`, at most.
MOST_AHEAD_S = 366 * 86_400

#: The states of a standing request. It is active until it ends or is cancelled.
STANDING_STATES = ("active", "cancelled", "ended")

_STANDING = b"quorate/job/standing/1\0"
_OCCURRENCE = b"quorate/job/occurrence/1\0"
_STATE = b"quorate/job/standing-state/1\0"
_HASH_BYTES, _NONCE_BYTES = 32, 16
_MOST_TIME = 1 << 37  # in the year 6325; datetime ends with the year 9999

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_CLOCK = "([01][0-9]|2[0-3]):([0-5][0-9])"
_FORMS = {
    "hour": re.compile("hour :()([0-5][0-9])"),
    "day": re.compile(f"day {_CLOCK}"),
    "week": re.compile(f"week (?:{'|'.join(_DAYS)}) {_CLOCK}"),
    "month": re.compile(f"month (?:[1-9]|[12][0-9]|3[01]) {_CLOCK}"),
}
_FIELDS = {"deployment", "every", "from", "nonce", "parameters", "program", "requester", "time", "until"}


@dataclasses.dataclass(frozen=True)
class Every:
    """Times that repeat each hour, day, week or month, in UTC.

    Attributes:
        unit: "hour", "day", "week" or "month".
        day: the day of the week, 0 for Monday, or that of the month, 1 to 28; 0 for other units.
        hour: the hour; 0 for "hour".
        minute: the minute.
    """

    unit: str
    day: int
    hour: int
    minute: int

    @staticmethod
    def parse(text: str) -> Every:
        """Reads "hour :15", "day 03:00", "week mon 03:00" or "month 1 03:00".

        Raises:
            ValueError: it is none of these; the message says what to write.
        """
        unit = text.partition(" ")[0]
        found = _FORMS[unit].fullmatch(text) if unit in _FORMS else None
        if found is None:
            raise ValueError('write "hour :15", "day 03:00", "week mon 03:00" or "month 1 03:00", in UTC')
        day = text.split(" ")[1]
        number = _DAYS.index(day) if unit == "week" else int(day) if unit == "month" else 0
        if number > 28:
            raise ValueError(f"not each month has a day {number}: write a day from 1 to 28")
        return Every(unit, number, int(found[1] or 0), int(found[2]))

    def at_or_before(self, time: float) -> int:
        """Returns the last time that is not after `time`; both are in seconds since 1970."""
        now = datetime.datetime.fromtimestamp(int(time), datetime.timezone.utc)
        at = now.replace(minute=self.minute, second=0)
        if self.unit != "hour":
            at = at.replace(hour=self.hour)
        if self.unit == "week":
            at += datetime.timedelta(days=self.day - at.weekday())
        if self.unit == "month":
            at = at.replace(day=self.day)
        return int((at if at <= now else self._before(at)).timestamp())

    def after(self, time: float) -> int:
        """Returns the first time that is after `time`; both are in seconds since 1970."""
        last = datetime.datetime.fromtimestamp(self.at_or_before(time), datetime.timezone.utc)
        if self.unit == "month":
            next_month = last.replace(day=28) + datetime.timedelta(days=4)
            return int(next_month.replace(day=self.day).timestamp())
        return int((last + self._step()).timestamp())

    def _before(self, at: datetime.datetime) -> datetime.datetime:
        if self.unit == "month":
            return (at.replace(day=1) - datetime.timedelta(days=1)).replace(day=self.day)
        return at - self._step()

    def _step(self) -> datetime.timedelta:
        return {
            "hour": datetime.timedelta(hours=1),
            "day": datetime.timedelta(days=1),
            "week": datetime.timedelta(days=7),
        }[self.unit]


def occurrence_id(standing: bytes, at: int) -> bytes:
    """Returns the id of the job of one time, 32 bytes.

    Arguments:
        standing: the id of the standing request.
        at: the time, in seconds since 1970.
    """
    return hashlib.sha256(_OCCURRENCE + standing + struct.pack("<Q", at)).digest()


@dataclasses.dataclass(frozen=True)
class StandingRequest:
    """A request for a program at fixed times.

    Attributes:
        deployment: the hash of the deployment that it is for.
        every: the times, as `Every.parse` reads them.
        since: no occurrence is before this; "from" in JSON.
        nonce: 16 random bytes, by which requests that are otherwise alike differ.
        parameters: the arguments of the program by name.
        program: the SHA-256 of the program's file, 64 hexadecimal digits.
        requester: the public key of the requester, 65 bytes.
        time: when it was made, in seconds since 1970.
        until: when it ends; nothing starts from then on.
    """

    deployment: bytes
    every: str
    since: int
    nonce: bytes
    parameters: Mapping[str, Parameter]
    program: str
    requester: bytes
    time: int
    until: int

    @staticmethod
    def make(
        deployment: Deployment,
        requester: bytes,
        program: str,
        parameters: Mapping[str, Parameter],
        *,
        every: str,
        time: int,
        since: int,
        until: int,
    ) -> StandingRequest:
        """Returns a new standing request.

        Raises:
            ValuesError: the program's hash, a parameter, `every` or a time is none; nothing was sent.
        """
        nonce = secrets.token_bytes(_NONCE_BYTES)
        fields = (deployment.hash, every, since, nonce, dict(parameters), program, requester, time, until)
        try:
            return StandingRequest.from_json(StandingRequest(*fields).json)
        except WireError as error:
            raise ValuesError(str(error)) from None

    @functools.cached_property
    def json(self) -> bytes:
        """The bytes that are signed and sent."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return canonical(texts_of({"from" if name == "since" else name: value for name, value in fields.items()}))

    @functools.cached_property
    def id(self) -> bytes:
        """The id of the standing request, 32 bytes."""
        return hashlib.sha256(_STANDING + self.json).digest()

    def sign(self, key: ClientKey) -> bytes:
        """Returns the signature of the requester, 64 bytes."""
        return key.sign(_STANDING + self.json)

    def is_by(self, signature: bytes) -> bool:
        """Whether the requester signed it."""
        return verify(self.requester, _STANDING + self.json, signature)

    @functools.cached_property
    def times(self) -> Every:
        """The times."""
        return Every.parse(self.every)

    def next(self, now: float) -> int | None:
        """Returns the time of the next occurrence, or None if there is none any more."""
        at = self.times.after(max(now, self.since - 1))
        return at if at < self.until else None

    @property
    def most_per_day(self) -> int:
        """The number of occurrences within 24 hours, at most."""
        hours = -(-(self.until - self.since) // 3600)
        return min(24, hours) if self.times.unit == "hour" else 1

    @staticmethod
    def from_json(data: bytes) -> StandingRequest:
        """Reads a standing request. Its signature and its times are not compared with anything: see `is_by`.

        Raises:
            WireError: it is too long, not canonical, or a field is missing, unknown or wrong.
        """
        fields = read_asked(data, _FIELDS, ("time", "from", "until"))
        request = StandingRequest(**{"since" if name == "from" else name: value for name, value in fields.items()})
        try:
            Every.parse(request.every)
        except ValueError as error:
            raise WireError("every", f"every: {error}.") from None
        if not 0 <= request.since - request.time <= MOST_AHEAD_S:
            raise WireError("from", "from must be the time of the request or later, by at most 366 days.")
        if not 0 < request.until - request.since <= MOST_AHEAD_S or request.until >= _MOST_TIME:
            raise WireError("until", "until must be after from, by at most 366 days.")
        if request.next(request.since - 1) is None:
            raise WireError("until", f'until: there is no time "{request.every}" from `from` to `until`.')
        return request


@dataclasses.dataclass(frozen=True)
class StandingState:
    """What a server states of a standing request.

    Attributes:
        standing: its id, 32 bytes.
        server: the server's index.
        state: one of `STANDING_STATES`.
        next: the time of the next occurrence, or None if there is none any more.
        changed: when it was taken or cancelled, in seconds since 1970.
        signature: the server's signature, 64 bytes.
    """

    standing: bytes
    server: int
    state: str
    next: int | None
    changed: int
    signature: bytes = dataclasses.field(default=b"", repr=False)

    def _signed(self, deployment: bytes) -> bytes:
        fields = {name: getattr(self, name) for name in ("changed", "next", "state")}
        digest = hashlib.sha256(canonical(fields)).digest()
        return b"".join((_STATE, deployment, bytes([self.server]), self.standing, digest))

    def by(self, key: ServiceKey, deployment: bytes) -> StandingState:
        """Returns the state with its server's signature."""
        return dataclasses.replace(self, signature=key.sign_message(self._signed(deployment)))

    def is_by(self, point: bytes, deployment: bytes) -> bool:
        """Whether the server of this public key signed it."""
        return verify(point, self._signed(deployment), self.signature)

    def to_json(self) -> bytes:
        """Returns canonical JSON."""
        return canonical(texts_of({field.name: getattr(self, field.name) for field in dataclasses.fields(self)}))

    @staticmethod
    def from_json(data: bytes) -> StandingState:
        """Reads a state. Its signature is not checked: see `is_by`.

        Raises:
            WireError: the bytes are no state.
        """
        try:
            return _state(json.loads(data.decode("ascii")))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise WireError("state", "The server's answer is no state of a standing request.") from None


def _state(fields: dict[str, Any]) -> StandingState:
    server, state, next_, changed = (fields[name] for name in ("server", "state", "next", "changed"))
    standing, signature = from_text(fields["standing"]), from_text(fields["signature"])
    if not is_time(server) or server > 255 or not is_time(changed) or state not in STANDING_STATES:
        raise ValueError
    if not (next_ is None or is_time(next_)) or (len(standing), len(signature)) != (_HASH_BYTES, SIGNATURE_BYTES):
        raise ValueError
    return StandingState(standing, server, state, next_, changed, signature)
