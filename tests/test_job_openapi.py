"""The description of requests and answers, and what generated requests get."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from jobserving import Network, job_network
from quorate.serve._openapi import DESCRIPTION
from quorate_client.job import sign_call
from quorate_client.keys import to_text
from test_job_schedules_serve import send as send_standing
from test_job_schedules_serve import standing

FIELDS = json.loads(DESCRIPTION)


def test_every_path_is_described_and_there_is_no_other(tmp_path: Path) -> None:
    with job_network(tmp_path, started=(1,)) as net:
        serving = net.servers[1].serving
        assert serving is not None
        routes = {
            (route.path, method.lower())
            for route in serving._app._app.routes
            for method in route.methods  # type: ignore[attr-defined]
            if method != "HEAD"
        }
        routes |= {(route.path, route.method.lower()) for route in serving._app._campaigns._routes.values()}
        assert json.loads(net.servers[1].ask("GET", "/openapi.json").body) == FIELDS
    described = {(path, method) for path, methods in FIELDS["paths"].items() for method in methods}
    assert described == routes and len(routes) >= 17


def test_references_lead_to_schemas() -> None:
    text = DESCRIPTION.decode()
    names = {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert names == set(FIELDS["components"]["schemas"]) and len(names) >= 10


def test_generated_requests_get_described_answers(tmp_path: Path) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    with job_network(tmp_path, started=(1,), times=10**6, per_day=10**6) as net:
        serving = net.servers[1].serving
        assert serving is not None
        schema = schemathesis.openapi.from_asgi("/openapi.json", serving._app)
        statuses = run(schema, net)
    assert len({path for path, _ in statuses}) >= 17
    served = {path for path, status in statuses if 200 <= status < 300}
    assert served >= {"/jobs", "/jobs/{job}", "/standing", "/standing/{standing}", "/standing/{standing}/jobs"}
    assert served >= {"/standing/{standing}/cancel", "/requesters/{key}/jobs", "/requesters/{key}/standing"}
    assert not any(status >= 500 for _, status in statuses if status != 503)


def run(schema: Any, net: Network) -> set[tuple[str, int]]:
    """Sends generated requests to each operation, half of them signed; returns paths with statuses."""
    from hypothesis import HealthCheck, given, settings
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    checks = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]
    chance, found = random.Random(7), set[tuple[str, int]]()
    job, asked = to_text(net.queued(servers=(1,))), standing(net)
    assert send_standing(net, 1, asked).status == 201

    def sign(case: Any) -> None:
        """Fits a generated request to a job that is there, and signs it."""
        if case.path in ("/jobs", "/standing"):
            request = net.request() if case.path == "/jobs" else standing(net)
            case.body, case.media_type = request.json, "application/json"  # bytes are sent as they are
            case.headers["Quorate-Signature"] = to_text(request.sign(net.key))
            return
        for name, value in (("job", job), ("standing", to_text(asked.id)), ("key", to_text(net.key.id))):
            if name in (case.path_parameters or {}):
                case.path_parameters[name] = value
        path = case.formatted_path
        by = net.servers[0].key if path.endswith(("/ask", "/start")) else net.key
        case.headers["Quorate-Signature"] = sign_call(by, net.deployment.hash, 1, case.method, path, int(time.time()))

    for result in schema.get_all_operations():
        operation = result.ok()

        @given(case=operation.as_strategy())
        @settings(max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        def send(case: Any) -> None:
            case.headers = dict(case.headers or {})
            if chance.random() < 0.5:
                sign(case)
            response = case.call()
            found.add((case.path, response.status_code))
            case.validate_response(response, checks=checks)

        send()
    return found
