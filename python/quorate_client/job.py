"""Jobs: the request for a run of an approved program, the signatures of calls, and the signed states of servers.

A request is signed once and goes to every server as the same bytes. The SHA-256 of a label and these bytes is the job's
id, so all servers name a job alike, and a second signature of a request is no second job.

JSON is canonical: keys sorted, no spaces, printable ASCII; in requests, integers within 2^53.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import re
import secrets
import struct
from collections.abc import Collection, Mapping
from typing import Any, TypeGuard

from quorate_client.deployment import Deployment
from quorate_client.errors import ValuesError, WireError
from quorate_client.keys import (
    POINT_BYTES,
    SIGNATURE_BYTES,
    ClientKey,
    ServiceKey,
    from_text,
    is_point,
    to_text,
    verify,
)
from quorate_client.statements import CLOCK_S, printable

__all__ = [
    "FINAL",
    "MOST_INTEGER",
    "MOST_REQUEST_BYTES",
    "MOST_RESULT_BYTES",
    "MOST_TEXT",
    "PHASES",
    "STATES",
    "WHY",
    "Call",
    "JobProgress",
    "JobRequest",
    "JobState",
    "canonical",
    "read_call",
    "sign_call",
]

#: Bytes of a request, the largest integer of a parameter, and characters of a text.
MOST_REQUEST_BYTES = 4 << 10
MOST_INTEGER = (1 << 53) - 1
MOST_TEXT = 256

#: Bytes of the results of a job, as JSON.
MOST_RESULT_BYTES = 512 << 10

#: Seconds between the time of a request and its end, at most: a week.
_MOST_LIFE_S = 7 * 86_400

#: The states of a job. Those that are final never change.
STATES = ("queued", "running", "done", "failed", "refused", "cancelled", "expired")
FINAL = STATES[2:]

#: Why a job ended without a result: all words that servers state, besides the names of `quorate.errors`.
WHY = {
    "ProgramError": "the program raised an error, which is in that server's log",
    "Ended": "the program's process ended without a report",
    "TimeLimit": "the program ran longer than that server's approval allows",
    "Restarted": "that server was started again while the program ran",
    "Stopped": "that server was stopped while the program ran",
    "Elsewhere": "another server refuses the job or has ended it",
    "TooLarge": "the results have more than 512 KiB",
    "NotCovered": "that server's approval of the program does not cover the job any more",
    "Revoked": "that server's operator revoked the program",
}

#: The phases of a run.
PHASES = ("offline", "online")

_MOST_WAITS = 200

_REQUEST = b"quorate/job/request/1\0"
_CALL = b"quorate/job/call/1\0"
_STATE = b"quorate/job/state/1\0"
_HASH_BYTES, _NONCE_BYTES = 32, 16
_MOST_TIME = 1 << 40

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_HEX = re.compile(r"[0-9a-f]{64}")
_PRINTABLE = re.compile(r"[ -~]*")
_WHY = re.compile(r"[A-Za-z]{0,40}")
_FIELDS = {"deployment", "nonce", "parameters", "program", "requester", "time", "until"}

Parameter = int | str


def canonical(fields: Any) -> bytes:
    """Returns canonical JSON.

    Raises:
        ValueError: a number is not finite.
    """
    return json.dumps(fields, separators=(",", ":"), sort_keys=True, allow_nan=False).encode()


def texts_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns fields with bytes as base64url."""
    return {name: to_text(value) if isinstance(value, bytes) else value for name, value in fields.items()}


def is_parameter(value: Any) -> bool:
    """Whether a value may be a parameter: an integer within 2^53, or a printable ASCII text of 1 to 256 characters."""
    if isinstance(value, str):
        return 1 <= len(value) <= MOST_TEXT and _PRINTABLE.fullmatch(value) is not None
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MOST_INTEGER


def is_time(value: Any) -> TypeGuard[int]:
    """Whether a value of JSON may be a time in seconds since 1970: an integer from 0 to 2^40 - 1."""
    return type(value) is int and 0 <= value < _MOST_TIME


@dataclasses.dataclass(frozen=True)
class JobRequest:
    """A request for a job.

    Attributes:
        deployment: the hash of the deployment that it is for.
        nonce: 16 random bytes, by which requests that are otherwise alike differ.
        parameters: the arguments of the program by name.
        program: the SHA-256 of the program's file, 64 hexadecimal digits.
        requester: the public key of the requester, 65 bytes.
        time: when it was made, in seconds since 1970.
        until: when it ends; a job that has not started by then never does.
    """

    deployment: bytes
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
        time: int,
        within_s: int,
    ) -> JobRequest:
        """Returns a new request.

        Raises:
            ValuesError: the program's hash, a parameter or the time is none; nothing was sent.
        """
        request = JobRequest(
            deployment.hash,
            secrets.token_bytes(_NONCE_BYTES),
            dict(parameters),
            program,
            requester,
            time,
            time + within_s,
        )
        try:
            return JobRequest.from_json(request.json)
        except WireError as error:
            raise ValuesError(str(error)) from None

    @functools.cached_property
    def json(self) -> bytes:
        """The bytes that are signed and sent."""
        return canonical(texts_of({name: getattr(self, name) for name in _FIELDS}))

    @functools.cached_property
    def id(self) -> bytes:
        """The id of the job, 32 bytes."""
        return hashlib.sha256(_REQUEST + self.json).digest()

    def sign(self, key: ClientKey) -> bytes:
        """Returns the signature of the requester, 64 bytes."""
        return key.sign(_REQUEST + self.json)

    def is_by(self, signature: bytes) -> bool:
        """Whether the requester signed it."""
        return verify(self.requester, _REQUEST + self.json, signature)

    @staticmethod
    def from_json(data: bytes) -> JobRequest:
        """Reads a request. Its signature and its times are not compared with anything: see `is_by`.

        Raises:
            WireError: it is too long, not canonical, or a field is missing, unknown or wrong.
        """
        asked = read_asked(data, _FIELDS, ("time", "until"))
        if not 0 < asked["until"] - asked["time"] <= _MOST_LIFE_S:
            raise WireError("until", f"until must be 1 to {_MOST_LIFE_S} s after time.")
        return JobRequest(**asked)


def read_asked(data: bytes, names: Collection[str], times: Collection[str]) -> dict[str, Any]:
    """Reads what a requester signs: canonical JSON with the fields that all requests have, and times.

    Arguments:
        data: the bytes.
        names: the names of all fields.
        times: the names of those that are times.

    Returns:
        The fields, with bytes in place of their texts; those that not all requests have are texts.

    Raises:
        WireError: it is too long, not canonical, or a field is missing, unknown or wrong.
    """
    if len(data) > MOST_REQUEST_BYTES:
        raise WireError("request", f"A request has at most {MOST_REQUEST_BYTES} bytes.")
    try:
        fields = json.loads(data.decode("ascii"))
    except (ValueError, RecursionError):
        raise WireError("request", "The request is not JSON in ASCII.") from None
    if not isinstance(fields, dict) or set(fields) != set(names):
        raise WireError("request", f"A request is an object of {', '.join(sorted(names))}.")
    _check_program(fields)
    for name in times:
        if not is_time(fields[name]):
            raise WireError(name, f"{name} must be an integer, in seconds since 1970.")
    sizes = {"requester": POINT_BYTES, "deployment": _HASH_BYTES, "nonce": _NONCE_BYTES}
    read = {name: _bytes(fields, name, size) for name, size in sizes.items()}
    if not is_point(read["requester"]):
        raise WireError("requester", "requester must be a point of P-256, uncompressed.")
    for name in set(names) - {*times, *sizes, "parameters", "program"}:
        if not isinstance(fields[name], str):
            raise WireError(name, f"{name} must be a text.")
    if canonical(fields) != data:
        raise WireError("request", "The request is not canonical JSON: keys sorted, no spaces, nothing twice.")
    return {**fields, **read}


def _check_program(fields: Mapping[str, Any]) -> None:
    """Checks the form of a program's hash and of its parameters.

    Raises:
        WireError: it is another one.
    """
    parameters, program = fields["parameters"], fields["program"]
    if not isinstance(parameters, dict) or not all(_NAME.fullmatch(name) for name in parameters):
        raise WireError("parameters", "parameters must be an object, whose names are those of a function's arguments.")
    for name, value in parameters.items():
        if not is_parameter(value):
            wanted = f"an integer within 2^53 or a printable ASCII text of 1 to {MOST_TEXT} characters"
            raise WireError("parameters", f"parameter {name} must be {wanted}.")
    if not isinstance(program, str) or not _HEX.fullmatch(program):
        raise WireError("program", "program must be the SHA-256 of the program's file, 64 hexadecimal digits.")


def _bytes(fields: Mapping[str, Any], name: str, size: int) -> bytes:
    value = fields[name]
    try:
        data = from_text(value) if isinstance(value, str) else b""
    except ValueError:
        data = b""
    if len(data) != size:
        raise WireError(name, f"{name} must be {size} bytes as base64url without padding.")
    return data


@dataclasses.dataclass(frozen=True)
class JobProgress:
    """How far a job is that runs. There are numbers of steps and seconds in it, which are public, and no values.

    Attributes:
        run: the number of the program's run, from 1: each result that it asks for is one.
        phase: "offline" or "online".
        permille: thousandths of the run's work in this phase that are done.
        seconds: how long the run has taken.
        left: seconds that are left of this phase, as predicted; None while nothing is done.
    """

    run: int
    phase: str
    permille: int
    seconds: int
    left: int | None

    @staticmethod
    def of(fields: Any) -> JobProgress:
        """Reads the fields of progress.

        Raises:
            ValueError, KeyError, TypeError: they are none.
        """
        found = JobProgress(*(fields[field.name] for field in dataclasses.fields(JobProgress)))
        left = 0 if found.left is None else found.left
        if not all(map(is_time, (found.run, found.permille, found.seconds, left))):
            raise ValueError("the numbers of progress are positive integers")
        if found.phase not in PHASES or found.permille > 1000 or len(fields) != len(dataclasses.fields(JobProgress)):
            raise ValueError("this is no progress")
        return found

    def __str__(self) -> str:
        left = "" if self.left is None else f", {self.left} s left"
        return f"run {self.run}, {self.phase}, {self.permille // 10} %, {self.seconds} s{left}"


@dataclasses.dataclass(frozen=True)
class JobState:
    """What a server states of a job.

    Attributes:
        job: the job's id, 32 bytes.
        server: the server's index.
        state: one of `STATES`.
        why: why it ended without a result: one of `WHY`, or the name of an error of Quorate; else empty.
        attempts: how often the servers failed to connect to each other.
        changed: when the state last changed, in seconds since 1970.
        result: the results, if it is done and was asked for: JSON as the program's process wrote it.
        progress: how far it is, if it runs and more is known.
        waits: what it waits for, if it is queued and a server is not there; else empty.
        signature: the server's signature, 64 bytes.
    """

    job: bytes
    server: int
    state: str
    why: str
    attempts: int
    changed: int
    result: bytes | None = dataclasses.field(default=None, repr=False)
    progress: JobProgress | None = None
    waits: str = ""
    signature: bytes = dataclasses.field(default=b"", repr=False)

    def _signed(self, deployment: bytes) -> bytes:
        fields = {name: getattr(self, name) for name in ("attempts", "changed", "state", "waits", "why")}
        fields["progress"] = None if self.progress is None else dataclasses.asdict(self.progress)
        fields["result"] = None if self.result is None else hashlib.sha256(self.result).hexdigest()
        digest = hashlib.sha256(canonical(fields)).digest()
        return b"".join((_STATE, deployment, bytes([self.server]), self.job, digest))

    def by(self, key: ServiceKey, deployment: bytes) -> JobState:
        """Returns the state with its server's signature."""
        return dataclasses.replace(self, signature=key.sign_message(self._signed(deployment)))

    def is_by(self, point: bytes, deployment: bytes) -> bool:
        """Whether the server of this public key signed it."""
        return verify(point, self._signed(deployment), self.signature)

    @property
    def values(self) -> dict[str, Any]:
        """The results by name; empty without a result."""
        return {} if self.result is None else _values(self.result)

    def to_json(self) -> bytes:
        """Returns canonical JSON."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        fields["progress"] = None if self.progress is None else dataclasses.asdict(self.progress)
        return canonical(texts_of(fields))

    @staticmethod
    def from_json(data: bytes) -> JobState:
        """Reads a state. Its signature is not checked: see `is_by`.

        Raises:
            WireError: the bytes are no state.
        """
        try:
            fields = json.loads(data.decode("ascii"))
            return _state(fields)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise WireError("state", "The server's answer is no state of a job.") from None


def _state(fields: dict[str, Any]) -> JobState:
    numbers = [fields[name] for name in ("server", "attempts", "changed")]
    if not all(map(is_time, numbers)) or numbers[0] > 255:
        raise ValueError
    state, why = fields["state"], fields["why"]
    result = None if fields["result"] is None else from_text(fields["result"])
    if state not in STATES or not _WHY.fullmatch(why):
        raise ValueError
    if result is not None:
        _values(result)
    server, attempts, changed = numbers
    job, signature = _bytes(fields, "job", _HASH_BYTES), _bytes(fields, "signature", SIGNATURE_BYTES)
    progress = None if fields["progress"] is None else JobProgress.of(fields["progress"])
    waits = fields["waits"]
    if printable(waits, _MOST_WAITS) != waits:
        raise ValueError
    return JobState(job, server, state, why, attempts, changed, result, progress, waits, signature)


def _values(result: bytes) -> dict[str, Any]:
    """Returns the results of a JSON text.

    Raises:
        ValueError: it is none, is too long, or has a number that is not finite.
    """
    found = json.loads(result.decode("ascii"), parse_constant=_no_number) if len(result) <= MOST_RESULT_BYTES else None
    if not isinstance(found, dict):
        raise ValueError("this is no object of JSON")
    canonical(found)  # as it is compared with those of other servers; 1e999 is read as infinity
    return found


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number")


def _call(deployment: bytes, server: int, method: str, path: str, time: int) -> bytes:
    digest = hashlib.sha256(f"{method} {path}".encode()).digest()
    return b"".join((_CALL, deployment, bytes([server]), digest, struct.pack("<Q", time)))


def sign_call(key: ClientKey | ServiceKey, deployment: bytes, server: int, method: str, path: str, time: int) -> str:
    """Returns the header `Quorate-Signature` of a call: TIME.SIGNATURE.

    Arguments:
        key: the caller's key.
        deployment: the deployment's hash.
        server: the index of the server that is called; the signature is of no use at another one.
        method: "GET" or "POST".
        path: the whole path.
        time: seconds since 1970.
    """
    message = _call(deployment, server, method, path, time)
    signature = key.sign_message(message) if isinstance(key, ServiceKey) else key.sign(message)
    return f"{time}.{to_text(signature)}"


@dataclasses.dataclass(frozen=True)
class Call:
    """A call to a server, whose time is right and whose signature is not checked yet.

    Attributes:
        deployment: the deployment's hash.
        server: the index of the server.
        method, path: what is called.
        time: its time, in seconds since 1970.
        signature: its signature.
    """

    deployment: bytes
    server: int
    method: str
    path: str
    time: int
    signature: bytes

    def is_by(self, point: bytes) -> bool:
        """Whether the owner of this public key signed it."""
        return verify(point, _call(self.deployment, self.server, self.method, self.path, self.time), self.signature)


def read_call(deployment: bytes, server: int, method: str, path: str, text: str, now: float) -> Call:
    """Reads the header `Quorate-Signature` of a call to this server.

    Raises:
        WireError: another form, or a time more than 300 s off.
    """
    time, _, signature = text.partition(".")
    if not (time.isascii() and time.isdigit() and len(time) <= 12) or len(signature) > 100:
        raise WireError("call", "The header Quorate-Signature must be TIME.SIGNATURE.")
    if abs(int(time) - now) > CLOCK_S:
        raise WireError("time", f"The call's time is more than {CLOCK_S} s off. Set the clock.")
    try:
        raw = from_text(signature)
    except ValueError:
        raw = b""
    if len(raw) != SIGNATURE_BYTES:
        raise WireError("call", "The header Quorate-Signature must be TIME.SIGNATURE.")
    return Call(deployment, server, method, path, int(time), raw)
