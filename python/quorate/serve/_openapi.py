"""The description of a server's requests and answers, as OpenAPI 3.1. It is served as it is: nothing is derived."""

from __future__ import annotations

import json
from typing import Any

from quorate_client.job import FINAL, MOST_REQUEST_BYTES, MOST_TEXT, PHASES, STATES
from quorate_client.schedule import STANDING_STATES

__all__ = ["DESCRIPTION"]

Fields = dict[str, Any]

_TEXT: Fields = {"type": "string"}
_COUNT: Fields = {"type": "integer", "minimum": 0}
_ANY: Fields = {"type": "object"}


def _base64url(size: int) -> Fields:
    length = -(-size * 4 // 3)
    return {"type": "string", "pattern": "^[A-Za-z0-9_-]*$", "minLength": length, "maxLength": length}


def _object(**properties: Fields) -> Fields:
    return {"type": "object", "properties": properties, "required": sorted(properties), "additionalProperties": False}


def _ref(name: str) -> Fields:
    return {"$ref": f"#/components/schemas/{name}"}


_ASKED: Fields = {
    "deployment": _base64url(32),
    "nonce": _base64url(16),
    "parameters": {
        "type": "object",
        "additionalProperties": {
            "oneOf": [{"type": "integer"}, {"type": "string", "minLength": 1, "maxLength": MOST_TEXT}]
        },
    },
    "program": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    "requester": _base64url(65),
    "time": _COUNT,
}
_CANONICAL = f"Canonical JSON of at most {MOST_REQUEST_BYTES} bytes: keys sorted, no spaces, ASCII."
_EVERY: Fields = {"type": "string", "examples": ["hour :15", "day 03:00", "week mon 03:00", "month 1 03:00"]}
_NEXT: Fields = {"type": ["integer", "null"], "minimum": 0, "description": "the next time, in seconds since 1970"}

_SCHEMAS: Fields = {
    "Problem": {
        "type": "object",
        "description": "RFC 9457. `what` is wrong, and `do` says what to do.",
        "properties": {
            "title": _TEXT,
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "detail": _TEXT,
            "what": _TEXT,
            "do": _TEXT,
            "time": {"type": "integer", "description": "with 401: this server's time, in seconds since 1970"},
        },
        "required": ["title", "status", "detail", "what", "do"],
    },
    "Request": {**_object(**_ASKED, until=_COUNT), "description": _CANONICAL},
    "StandingRequest": {
        **_object(**_ASKED, every=_EVERY, until=_COUNT, **{"from": _COUNT}),
        "description": f"{_CANONICAL} The times are in UTC.",
    },
    "State": {
        **_object(
            attempts=_COUNT,
            changed=_COUNT,
            job=_base64url(32),
            result={"type": ["string", "null"], "description": "JSON as base64url, in answers to GET alone"},
            progress={"oneOf": [{"type": "null"}, _ref("Progress")]},
            server=_COUNT,
            signature=_base64url(64),
            state={"enum": list(STATES)},
            waits={"type": "string", "description": "what a queued job waits for, in answers to GET alone"},
            why=_TEXT,
        ),
        "description": f"Signed by the server. These states are final: {', '.join(FINAL)}.",
    },
    "Progress": {
        **_object(
            run=_COUNT,
            phase={"enum": list(PHASES)},
            permille={"type": "integer", "minimum": 0, "maximum": 1000},
            seconds=_COUNT,
            left={"type": ["integer", "null"], "minimum": 0, "description": "seconds, as predicted"},
        ),
        "description": "How far a running job is, in answers to GET alone.",
    },
    "Peer": {
        **_object(
            deployment={"type": "string", "pattern": "^[0-9a-f]{64}$"},
            jobs={"enum": ["accepts", "halted", "ends"]},
            protocol=_TEXT,
            ready={"type": "boolean"},
            time_ms=_COUNT,
            version=_TEXT,
        ),
        "description": "What a server says of itself to the others of its list.",
    },
    "Listed": _object(
        jobs={
            "type": "array",
            "items": _object(
                job=_base64url(32), program=_TEXT, state={"enum": list(STATES)}, why=_TEXT, changed=_COUNT
            ),
        }
    ),
    "StandingState": {
        **_object(
            changed=_COUNT,
            next=_NEXT,
            server=_COUNT,
            signature=_base64url(64),
            standing=_base64url(32),
            state={"enum": list(STANDING_STATES)},
        ),
        "description": "Signed by the server.",
    },
    "Standing": _object(
        standing={
            "type": "array",
            "items": _object(
                standing=_base64url(32),
                program=_TEXT,
                every=_EVERY,
                until=_COUNT,
                state={"enum": list(STANDING_STATES)},
                next=_NEXT,
            ),
        }
    ),
    "Occurrences": _object(
        jobs={
            "type": "array",
            "items": _object(job=_base64url(32), at=_COUNT, state={"enum": list(STATES)}, why=_TEXT, changed=_COUNT),
        }
    ),
    "Start": _object(start={"const": "now"}),
    "Status": _object(status=_TEXT),
}


def _json(schema: Fields) -> Fields:
    return {"application/json": {"schema": schema}}


def _answer(text: str, schema: Fields) -> Fields:
    return {"description": text, "content": _json(schema)}


def _operation(
    text: str, answers: dict[int, Fields], problems: str, parameters: str = "", body: Fields | None = None
) -> Fields:
    """Returns an operation. `problems` are the statuses of its refusals, `parameters` those of its path."""
    refused = {
        status: {
            "description": "refused; the problem says what to do",
            "content": {"application/problem+json": {"schema": _ref("Problem")}},
        }
        for status in (*problems.split(), "500", "503", "507")
    }
    fields: Fields = {"summary": text, "responses": {**{str(k): v for k, v in answers.items()}, **refused}}
    named = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in parameters.split()
    ]
    if "401" in problems:
        named.append({"name": "Quorate-Signature", "in": "header", "schema": {"type": "string"}})
    if named:
        fields["parameters"] = named
    if body is not None:
        fields["requestBody"] = {"required": True, "content": body}
    return fields


_STATE = _answer("the job's state", _ref("State"))
_STANDING = _answer("the state of the standing request", _ref("StandingState"))
_START = _answer("it starts now, or has started", _ref("Start"))
_BYTES: Fields = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_CALLS = "400 401 404 409 425"

_PATHS: Fields = {
    "/healthz": {"get": _operation("Whether the process lives", {200: _answer("it does", _ref("Status"))}, "")},
    "/readyz": {"get": _operation("Whether it takes requests", {200: _answer("it does", _ref("Status"))}, "")},
    "/openapi.json": {"get": _operation("This description", {200: _answer("it", _ANY)}, "")},
    "/campaigns/{campaign}": {
        "get": _operation("A campaign", {200: _answer("its canonical JSON", _ANY)}, "404", "campaign")
    },
    "/campaigns/{campaign}/hello": {
        "get": _operation("What the server states of a campaign", {200: _answer("signed", _ANY)}, "404", "campaign")
    },
    "/campaigns/{campaign}/packets": {
        "post": _operation(
            "Stores a client's packet",
            {201: _answer("the receipt", _ANY)},
            "400 403 404 408 409 410 411 413 429",
            "campaign",
            _BYTES,
        )
    },
    "/campaigns/{campaign}/packets/{client}": {
        "get": _operation(
            "What became of a client's packets", {200: _answer("their state", _ANY)}, "400 401 404", "campaign client"
        )
    },
    "/campaigns/{campaign}/results/{client}": {
        "get": _operation("A client's results", {200: _answer("signed results", {})}, "400 401 404", "campaign client")
    },
    "/peer": {
        "get": _operation("What this server is, to another server", {200: _answer("it", _ref("Peer"))}, "400 401")
    },
    "/jobs": {
        "post": _operation(
            "Asks for a job; the same request again is the same job",
            {200: _STATE, 201: _STATE},
            "400 401 403 408 409 411 413 429",
            body=_json(_ref("Request")),
        )
    },
    "/jobs/{job}": {"get": _operation("The state of a job, to its requester", {200: _STATE}, "400 401 404", "job")},
    "/jobs/{job}/cancel": {"post": _operation("Cancels a job, for its requester", {200: _STATE}, "400 401 404", "job")},
    "/jobs/{job}/ask": {"post": _operation("Whether a job could start now, to server 0", {200: _START}, _CALLS, "job")},
    "/jobs/{job}/start": {"post": _operation("Starts a job, for server 0", {200: _START}, _CALLS, "job")},
    "/makings/{entry}/{times}/{nonce}/ask": {
        "post": _operation(
            "Whether correlations could be made now, to server 0", {200: _START}, "400 401 404 409", "entry times nonce"
        )
    },
    "/makings/{entry}/{times}/{nonce}/start": {
        "post": _operation("Makes correlations, for server 0", {200: _START}, "400 401 404 409", "entry times nonce")
    },
    "/requesters/{key}/jobs": {
        "get": _operation("The last jobs of a key", {200: _answer("at most 100", _ref("Listed"))}, "400 401", "key")
    },
    "/standing": {
        "post": _operation(
            "Asks for jobs at fixed times; the same request again is the same standing request",
            {200: _STANDING, 201: _STANDING},
            "400 401 403 408 409 411 413 429",
            body=_json(_ref("StandingRequest")),
        )
    },
    "/standing/{standing}": {
        "get": _operation(
            "The state of a standing request, to its requester", {200: _STANDING}, "400 401 404", "standing"
        )
    },
    "/standing/{standing}/jobs": {
        "get": _operation(
            "The last jobs of a standing request, to its requester",
            {200: _answer("at most 100", _ref("Occurrences"))},
            "400 401 404",
            "standing",
        )
    },
    "/standing/{standing}/cancel": {
        "post": _operation(
            "Ends a standing request, for its requester; a job that runs goes on",
            {200: _STANDING},
            "400 401 404",
            "standing",
        )
    },
    "/requesters/{key}/standing": {
        "get": _operation(
            "The last standing requests of a key", {200: _answer("at most 100", _ref("Standing"))}, "400 401", "key"
        )
    },
}

DESCRIPTION = json.dumps(
    {
        "openapi": "3.1.0",
        "info": {"title": "Quorate: a server of campaigns and jobs", "version": "1"},
        "paths": _PATHS,
        "components": {"schemas": _SCHEMAS},
    }
).encode()
