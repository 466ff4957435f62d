"""What is signed for jobs: fixed bytes, and that nothing else passes for them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients import server_fields
from jobbing import listed_servers
from quorate_client import (
    CampaignError,
    ClientKey,
    Deployment,
    JobProgress,
    JobRequest,
    JobState,
    ServiceKey,
    ValuesError,
    WireError,
)
from quorate_client.job import MOST_REQUEST_BYTES, MOST_RESULT_BYTES, canonical, read_call, sign_call
from quorate_client.keys import to_text

KEY, SERVICES = ClientKey.generate(), [ServiceKey.generate() for _ in range(3)]
NOW = 1_800_000_000


def listed(folder: Path, protocol: str = "rss", **changed: str) -> Deployment:
    fields = [server_fields(index, key) for index, key in enumerate(SERVICES)]
    fields[1].update(changed)
    (folder / "servers.toml").write_text(listed_servers(protocol, fields))
    return Deployment.load(folder / "servers.toml")


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    return listed(tmp_path_factory.mktemp("servers"))


def request(deployment: Deployment, **fields: object) -> JobRequest:
    made = JobRequest.make(deployment, KEY.id, "ab" * 32, {"rows": 5, "region": "north"}, NOW, 3600)
    return dataclasses.replace(made, **fields)  # type: ignore[arg-type]


# ---- vectors -------------------------------------------------------------------------------------------------------


def test_bytes_that_are_signed_are_these(deployment: Deployment) -> None:
    """The vectors are written out here, so that another implementation can follow them."""
    servers = [
        {name: fields[name] for name in ("certificate", "seal", "sign", "url")}
        for fields in (server_fields(index, key) for index, key in enumerate(SERVICES))
    ]
    text = json.dumps({"protocol": "rss", "servers": servers}, separators=(",", ":"), sort_keys=True)
    assert deployment.hash == hashlib.sha256(b"quorate/job/deployment/1\0" + text.encode()).digest()
    made = request(deployment, nonce=bytes(16))
    text = (
        f'{{"deployment":"{to_text(deployment.hash)}","nonce":"{"A" * 22}","parameters":{{"region":"north","rows":5}},'
        f'"program":"{"ab" * 32}","requester":"{to_text(KEY.id)}","time":{NOW},"until":{NOW + 3600}}}'
    )
    assert made.json == text.encode()
    assert made.id == hashlib.sha256(b"quorate/job/request/1\0" + made.json).digest()
    assert made.is_by(KEY.sign(b"quorate/job/request/1\0" + made.json))
    path = hashlib.sha256(b"POST /jobs/x/ask").digest()
    message = b"quorate/job/call/1\0" + deployment.hash + b"\2" + path + struct.pack("<Q", NOW)
    header = f"{NOW}.{to_text(SERVICES[0].sign_message(message))}"
    assert read_call(deployment.hash, 2, "POST", "/jobs/x/ask", header, NOW).is_by(SERVICES[0].sign)
    result = b'{"x":18446744073709551615,"y":0.1}'
    text = (
        f'{{"attempts":1,"changed":{NOW},"progress":{{"left":null,"permille":0,"phase":"online","run":2,"seconds":1}},'
        f'"result":"{hashlib.sha256(result).hexdigest()}","state":"done","waits":"x","why":""}}'
    )
    digest = hashlib.sha256(text.encode()).digest()
    signed = b"quorate/job/state/1\0" + deployment.hash + b"\1" + made.id + digest
    told = result, JobProgress(2, "online", 0, 1, None), "x"
    state = JobState(made.id, 1, "done", "", 1, NOW, *told, SERVICES[1].sign_message(signed))
    assert state.is_by(SERVICES[1].sign, deployment.hash)
    assert JobState.from_json(state.to_json()) == state
    assert state.values == {"x": 2**64 - 1, "y": 0.1}


def test_a_second_signature_is_the_same_job(deployment: Deployment) -> None:
    made = request(deployment)
    first, second = made.sign(KEY), made.sign(KEY)
    assert first != second and made.is_by(first) and made.is_by(second)
    assert JobRequest.from_json(made.json).id == made.id


# ---- alterations ---------------------------------------------------------------------------------------------------


@given(st.data())
def test_no_flipped_byte_of_a_request_is_signed(deployment: Deployment, data: st.DataObject) -> None:
    made = request(deployment)
    signature, body = made.sign(KEY), bytearray(made.json)
    at = data.draw(st.integers(0, len(body) - 1))
    body[at] ^= data.draw(st.integers(1, 255))
    try:
        altered = JobRequest.from_json(bytes(body))
    except WireError:
        return
    assert altered.id != made.id and not altered.is_by(signature)


@given(st.binary(max_size=300) | st.text().map(str.encode))
def test_other_bytes_are_no_request_and_no_state(data: bytes) -> None:
    for read in (JobRequest.from_json, JobState.from_json):
        with pytest.raises(WireError):
            read(data)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"parameters": {"x": 1.5}}, "parameters"),
        ({"parameters": {"x": True}}, "parameters"),
        ({"parameters": {"x": None}}, "parameters"),
        ({"parameters": {"x": [1]}}, "parameters"),
        ({"parameters": {"x": 2**53}}, "parameters"),
        ({"parameters": {"x": ""}}, "parameters"),
        ({"parameters": {"x": "a" * 257}}, "parameters"),
        ({"parameters": {"x": "é"}}, "parameters"),
        ({"parameters": {"x": "a\n"}}, "parameters"),
        ({"parameters": {"1x": 1}}, "parameters"),
        ({"parameters": [1]}, "parameters"),
        ({"program": "AB" * 32}, "program"),
        ({"program": 5}, "program"),
        ({"time": -1}, "time"),
        ({"time": True}, "time"),
        ({"until": NOW}, "until"),
        ({"until": NOW + 7 * 86_400 + 1}, "until"),
        ({"requester": to_text(bytes(65))}, "requester"),
        ({"nonce": "AA"}, "nonce"),
        ({"deployment": 7}, "deployment"),
        ({"extra": 1}, "request"),
        ({"nonce": None}, "nonce"),
    ],
)
def test_each_wrong_field_is_named(deployment: Deployment, changed: dict[str, object], field: str) -> None:
    fields = {**json.loads(request(deployment).json), **changed}
    with pytest.raises(WireError) as error:
        JobRequest.from_json(canonical(fields))
    assert error.value.field == field


def test_requests_in_another_form_are_refused(deployment: Deployment) -> None:
    body = request(deployment).json
    longer = b'{"a":' + b"1" * MOST_REQUEST_BYTES + b"}"
    forms = [
        body.replace(b":5", b": 5"),
        body.replace(b":5", b":5.0"),
        body.replace(b":5", b":-0"),
        body.replace(b":5", b":NaN"),
        body.replace(b'"rows":5', b'"rows":4,"rows":5'),
        body.replace(b"north", b"n\\u006frth"),
        body + b"\n",
        b"[" * 4000,
        body.replace(b":5", b":" + b"9" * 3500),
        longer,
        b"[]",
        b"",
        "{}".encode("utf-16"),
    ]
    for form in forms:
        assert form != body
        with pytest.raises(WireError):
            JobRequest.from_json(form)
    with pytest.raises(ValuesError, match="parameter x must be an integer within"):
        JobRequest.make(deployment, KEY.id, "ab" * 32, {"x": 2**60}, NOW, 3600)
    with pytest.raises(ValuesError, match="at most 4096 bytes"):
        JobRequest.make(deployment, KEY.id, "ab" * 32, {f"x{i}": "a" * 256 for i in range(20)}, NOW, 3600)


def test_a_call_is_of_no_use_elsewhere(deployment: Deployment, tmp_path: Path) -> None:
    other = listed(tmp_path, protocol="pika")
    header = sign_call(KEY, deployment.hash, 1, "GET", "/jobs/x", NOW)

    def passes(where: bytes = deployment.hash, server: int = 1, method: str = "GET", path: str = "/jobs/x") -> bool:
        return read_call(where, server, method, path, header, NOW + 300).is_by(KEY.id)

    assert passes()
    assert not passes(other.hash) and not passes(server=0) and not passes(method="POST") and not passes(path="/jobs/y")
    assert not read_call(deployment.hash, 1, "GET", "/jobs/x", header, NOW).is_by(SERVICES[0].sign)
    for now in (NOW + 301, NOW - 301):
        with pytest.raises(WireError, match="more than 300 s off"):
            read_call(deployment.hash, 1, "GET", "/jobs/x", header, now)
    for text in ("", "x", f"{NOW}", f"{NOW}.!", f"-{header}", header.replace(".", ".." * 50), "٣.AA"):
        with pytest.raises(WireError, match=r"must be TIME\.SIGNATURE|off"):
            read_call(deployment.hash, 1, "GET", "/jobs/x", text, NOW)


@pytest.mark.parametrize(
    "name", ["state", "why", "attempts", "changed", "result", "server", "job", "progress", "waits"]
)
def test_each_field_of_a_state_is_signed(deployment: Deployment, name: str) -> None:
    state = JobState(bytes(32), 1, "done", "", 1, NOW, b'{"x":1}').by(SERVICES[1], deployment.hash)
    changed = {"state": "failed", "why": "Ended", "attempts": 2, "changed": NOW + 1, "server": 2, "job": b"\1" * 32}
    more = {"result": b'{"x": 1}', "progress": JobProgress(1, "online", 5, 1, 1), "waits": "x"}
    one = dataclasses.replace(state, **{name: {**changed, **more}[name]})
    assert state.is_by(SERVICES[1].sign, deployment.hash)
    assert not one.is_by(SERVICES[1].sign, deployment.hash)
    assert not state.is_by(SERVICES[1].sign, bytes(32)) and not state.is_by(SERVICES[0].sign, deployment.hash)


@pytest.mark.parametrize(
    "result", [b"[]", b'{"x":NaN}', b'{"x":Infinity}', b'{"x":[1e999]}', b"{", b'{"x":1}' + b" " * MOST_RESULT_BYTES]
)
def test_results_that_are_none_are_refused(result: bytes) -> None:
    data = JobState(bytes(32), 1, "done", "", 1, NOW, result, signature=bytes(64)).to_json()
    with pytest.raises(WireError, match="no state of a job"):
        JobState.from_json(data)


@pytest.mark.parametrize(
    "change",
    [
        {"run": -1},
        {"run": True},
        {"phase": "the salary is 90210"},
        {"permille": 1001},
        {"permille": 0.5},
        {"seconds": None},
        {"left": "1"},
        {"left": False},
        {"more": 1},
    ],
)
def test_progress_is_numbers_alone(change: dict[str, Any]) -> None:
    good = {"run": 1, "phase": "offline", "permille": 1000, "seconds": 3, "left": None}
    assert str(JobProgress.of(good)) == "run 1, offline, 100 %, 3 s"
    assert str(JobProgress.of({**good, "left": 0})).endswith("3 s, 0 s left")
    with pytest.raises((ValueError, KeyError, TypeError)):
        JobProgress.of({**good, **change})
    state = JobState(bytes(32), 1, "running", "", 1, NOW, signature=bytes(64))
    fields = {**json.loads(state.to_json()), "progress": {**good, **change}}
    with pytest.raises(WireError, match="no state of a job"):
        JobState.from_json(canonical(fields))
    for waits in ("x" * 201, "é", 5, None):
        with pytest.raises(WireError, match="no state of a job"):
            JobState.from_json(canonical({**fields, "progress": None, "waits": waits}))


# ---- lists of servers ----------------------------------------------------------------------------------------------


def test_every_change_of_a_list_of_servers_is_another_one(deployment: Deployment, tmp_path: Path) -> None:
    others = [
        listed(tmp_path, protocol="pika"),
        listed(tmp_path, url="https://other.example"),
        listed(tmp_path, certificate=to_text(b"\7" * 32)),
        listed(tmp_path, sign=to_text(KEY.id)),
    ]
    assert len({deployment.hash, *(other.hash for other in others)}) == 5


def test_lists_of_servers_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="has a path"):
        listed(tmp_path, url="https://other.example/path")
    with pytest.raises(CampaignError, match="two servers have the same url"):
        listed(tmp_path, url="https://server0.example")
    with pytest.raises(CampaignError, match="no such field"):
        listed(tmp_path, extra="1")
    (tmp_path / "one.toml").write_text(listed_servers("rss", [server_fields(0, SERVICES[0])]))
    with pytest.raises(CampaignError, match="list 2 to 255 servers, not 1"):
        Deployment.load(tmp_path / "one.toml")
    (tmp_path / "none.toml").write_text("=")
    with pytest.raises(CampaignError, match="is not TOML"):
        Deployment.load(tmp_path / "none.toml")
    with pytest.raises(CampaignError, match="cannot be read"):
        Deployment.load(tmp_path / "absent.toml")
