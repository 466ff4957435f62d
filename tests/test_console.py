"""The console by hand: who gets in, what strangers and pages of others may not do, and what forms are refused."""

from __future__ import annotations

import dataclasses
import io
import logging
import re
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

from consoling import Desk, desk
from quorate.auditing._chain import Chain, lines_of, linked
from quorate.campaigns import Store
from quorate.console import add_operator, operators, remove_operator
from quorate.console._app import HEADERS, MOST_FORM_BYTES
from quorate.console._operators import Operator
from quorate.console._sessions import IDLE_S, LIFE_S, MOST_FAILURES, MOST_OF_ONE, Failures, Sessions
from quorate.errors import ConfigError
from quorate.serve import _bodies
from serving import Answer, answer_of

PAGES = ("/", "/proposals", "/programs", "/campaigns", "/jobs", "/metrics", "/audit", "/acts")
NO_ONE = "0" * 64
ITEMS = tuple(f"/{kind}/{NO_ONE}" for kind in ("proposals", "programs", "campaigns", "jobs"))
ACTS = (
    f"/proposals/{NO_ONE}/approve",
    f"/proposals/{NO_ONE}/refuse",
    f"/proposals/{NO_ONE}/plan",
    f"/programs/{NO_ONE}/revoke",
    f"/campaigns/{NO_ONE}/close",
    f"/jobs/{NO_ONE}/plan",
    f"/jobs/{NO_ONE}/cancel",
    "/sign-out",
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with desk(tmp_path_factory.mktemp("desk"), ("one.localhost",)) as made:
        yield made


@pytest.fixture
def outside(shared: Desk) -> Desk:
    """The console for a browser that has not signed in."""
    return dataclasses.replace(shared, cookie="")


@pytest.fixture
def inside(outside: Desk) -> Desk:
    """The console for a browser that has."""
    outside.sign_in()
    return outside


def check_headers(answer: Answer) -> None:
    for name, value in HEADERS.items():
        assert answer.headers[name.lower()] == value
    assert "access-control-allow-origin" not in answer.headers
    assert "server" not in answer.headers


# ---- who gets in ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*PAGES, *ITEMS])
def test_pages_are_for_those_who_have_signed_in(path: str, outside: Desk) -> None:
    answer = outside.get(path)
    assert (answer.status, answer.headers["location"], answer.body) == (303, "/sign-in", b"")
    check_headers(answer)
    outside.sign_in()
    assert outside.get(path).status == (404 if path in ITEMS else 200)


@pytest.mark.parametrize("path", ACTS)
def test_acts_are_for_those_who_have_signed_in(path: str, outside: Desk) -> None:
    assert outside.post(path, {"csrf": "", "read": "yes", "shown": ""}).status == 403


def test_the_cookie_is_for_this_host_this_browser_and_no_script(outside: Desk) -> None:
    answer = outside.post("/sign-in", {"name": "ada", "token": outside.token})
    name, _, rest = answer.headers["set-cookie"].partition("=")
    value, *attributes = rest.split("; ")
    assert name.startswith("__Host-quorate-") and len(value) == 43
    assert {one.lower() for one in attributes} == {"httponly", "path=/", "samesite=strict", "secure"}
    assert answer.headers["location"] == "/"
    check_headers(answer)


@pytest.mark.parametrize("value", ["", "x", "a" * 43, '"', "%00", "é" * 43, "a" * 4000])
def test_forged_cookies_are_of_no_session(value: str, inside: Desk) -> None:
    name = inside.cookie.partition("=")[0]
    right = inside.cookie
    for cookie in (f"{name}={value}", f"quorate={right.partition('=')[2]}", f"{right}{value or 'x'}"):
        inside.cookie = cookie
        assert inside.get("/").status == 303
    inside.cookie = right
    assert inside.get("/").status == 200


def test_a_session_ends_with_sign_out(inside: Desk) -> None:
    csrf = inside.csrf()
    assert inside.post("/sign-out", {"csrf": "x"}).status == 403
    assert inside.get("/").status == 200
    answer = inside.post("/sign-out", {"csrf": csrf})
    assert (answer.status, answer.headers["location"]) == (303, "/sign-in") and "max-age=0" in answer.headers[
        "set-cookie"
    ].lower()
    assert inside.get("/").status == 303


def test_signing_in_again_ends_the_session_before(inside: Desk) -> None:
    before = inside.cookie
    inside.sign_in()
    assert inside.cookie != before
    assert inside.get("/").status == 200
    assert dataclasses.replace(inside, cookie=before).get("/").status == 303


def test_a_removed_operator_is_out_at_once(outside: Desk) -> None:
    with outside.store() as store:
        token = add_operator(store, "eve")
        outside.sign_in(token, "eve")
        csrf = outside.csrf()
        assert outside.get("/").status == 200
        remove_operator(store, "eve")
        assert outside.get("/").status == 303
        assert outside.post(f"/proposals/{NO_ONE}/refuse", {"csrf": csrf}).status == 403
        other = add_operator(store, "eve")  # another token: the session before stays ended
        assert outside.get("/").status == 303
        outside.cookie = ""
        assert outside.post("/sign-in", {"name": "eve", "token": token}).status == 403
        outside.sign_in(other, "eve")
        remove_operator(store, "eve")


def test_tokens_are_neither_kept_nor_logged(outside: Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    outside.sign_in()
    wrong = "qo_" + "A" * 43
    answer = outside.post("/sign-in", {"name": "ada", "token": wrong})
    assert answer.status == 403 and wrong.encode() not in answer.body
    folder = outside.net.servers[0].folder
    files = [file.read_bytes() for file in folder.rglob("*") if file.is_file()]
    assert len(files) > 5 and not any(outside.token.encode() in data or wrong.encode() in data for data in files)
    assert "operator ada signed in" in caplog.text and "sign-in at the console has failed" in caplog.text
    for secret in (outside.token, wrong, outside.cookie.partition("=")[2]):
        assert secret not in caplog.text


def test_failed_sign_ins_are_limited_by_address(tmp_path: Path) -> None:
    with desk(tmp_path) as own:
        for text in [
            "",
            "ada",
            "qo_",
            "qo_" + "x" * 43,
            "qo_" + "é" * 43,
            own.token[:-1],
            own.token + "x",
            " ",
            "'",
            "x",
        ]:
            answer = own.post("/sign-in", {"name": "ada", "token": text})
            assert answer.status == 403 and b"There is no operator of this name with this token" in answer.body
        assert own.post("/sign-in", {"name": "ada", "token": own.token}).status == 429
        body = urllib.parse.urlencode({"name": "ada", "token": own.token})
        head = (
            f"POST /sign-in HTTP/1.1\r\nHost: localhost\r\nOrigin: https://localhost\r\nConnection: close\r\n"
            f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        server = own.net.servers[0]
        port, server.port = server.port, own.console.port
        with server.connected("127.0.0.2") as connection:
            connection.sendall((head + body).encode())
            assert answer_of(connection).status == 303
        server.port = port


@pytest.mark.parametrize("name", ["", "bob", "ADA", "ada\0"])
def test_a_token_is_of_one_name(name: str, outside: Desk) -> None:
    with outside.store() as store:
        other = add_operator(store, "bob")
        assert other != outside.token
        assert outside.post("/sign-in", {"name": name, "token": outside.token}).status == 403
        remove_operator(store, "bob")


def test_failures_are_forgotten_after_a_minute() -> None:
    now = 0.0
    failures = Failures(lambda: now)
    for _ in range(MOST_FAILURES):
        assert failures.wait_s("a") == 0
        failures.count("a")
    assert failures.wait_s("a") == 60 and failures.wait_s("b") == 0
    now = 59.5
    assert failures.wait_s("a") == 1
    now = 60.0
    assert failures.wait_s("a") == 0


def test_sessions_end_without_requests_and_after_their_life() -> None:
    now = 0.0
    sessions, ada = Sessions(lambda: now), Operator("ada", bytes(32), 0)
    idle, used = sessions.open(ada), sessions.open(ada)
    while now <= LIFE_S - IDLE_S:
        now += IDLE_S
        assert sessions.find(used) is not None
    assert sessions.find(idle) is None
    now = LIFE_S + 0.1
    assert sessions.find(used) is None


def test_an_operator_has_few_sessions_and_takes_none_of_others() -> None:
    now = 0.0
    sessions, ada, bob = Sessions(lambda: now), Operator("ada", bytes(32), 0), Operator("bob", bytes(32), 0)
    of_bob, cookies = sessions.open(bob), []
    for now in range(1, MOST_OF_ONE + 3):  # noqa: B007 - the clock of the sessions
        cookies.append(sessions.open(ada))
    assert [sessions.find(one) is not None for one in cookies] == [False] * 2 + [True] * MOST_OF_ONE
    assert sessions.find(of_bob) is not None


# ---- pages of others -----------------------------------------------------------------------------------------------


def test_forms_of_other_sessions_are_refused(inside: Desk) -> None:
    other = dataclasses.replace(inside, cookie="")
    other.sign_in()
    for csrf in (other.csrf(), "", "x", "é", inside.csrf()[:-1]):
        answer = inside.post(f"/proposals/{NO_ONE}/refuse", {"csrf": csrf})
        assert answer.status == 403 and b"of another session" in answer.body
    assert inside.post(f"/proposals/{NO_ONE}/refuse", {"csrf": inside.csrf()}).status == 404


@pytest.mark.parametrize("path", ["/sign-in", *ACTS])
def test_forms_of_other_origins_are_refused(path: str, inside: Desk) -> None:
    fields = {"csrf": inside.csrf(), "name": "ada", "token": inside.token}
    port = inside.console.port
    others = (
        "http://localhost:{}",
        "https://127.0.0.1:{}",
        "https://localhost:{}.evil.example",
        "https://localhost:{}/",
    )
    listed = (None, "null", "https://evil.example", f"https://localhost:{port + 1}", "https://localhost")
    for origin in (*listed, *(other.format(port) for other in others)):
        answer = inside.post(path, fields, origin=origin)
        assert answer.status == 403 and b"not of a page of this console" in answer.body, origin
        assert "set-cookie" not in answer.headers
        check_headers(answer)
    for site in ("cross-site", "same-site", "none"):
        assert inside.post(path, fields, sec_fetch_site=site).status == 403
    twice = inside.post(path, fields, origin=f"{inside.origin}\r\norigin: https://evil.example")
    assert twice.status == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "localhost.evil.example", "127.0.0.1.evil.example", "",
             "localhost:x", "[::1", "localhost,evil.example", "evil.example\r\nhost: localhost"],
)  # fmt: skip
def test_other_names_of_the_host_are_refused(host: str, inside: Desk) -> None:
    """A page of another site may have its name lead to this address; its requests carry that name."""
    host = host.format(port=inside.console.port)
    for answer in (
        inside.get("/", host=host),
        inside.get("/sign-in", host=host),
        inside.post("/sign-in", {"name": "ada", "token": inside.token}, host=host, origin=f"https://{host}"),
    ):
        assert answer.status in (400, 421) and "set-cookie" not in answer.headers
        assert answer.status == 400 or b"not called so" in answer.body


def test_names_of_the_settings_are_taken_at_any_port(inside: Desk) -> None:
    for host in ("one.localhost", "ONE.localhost:1", "127.0.0.1:8000", "[::1]:8000", "localhost"):
        assert inside.get("/", host=host).status == 200
    answer = inside.post(
        "/sign-in", {"name": "ada", "token": inside.token}, host="one.localhost:1", origin="https://one.localhost:1"
    )
    assert answer.status == 303
    assert inside.get("/", host="two.localhost").status == 421


def test_the_console_is_not_at_the_address_of_clients(shared: Desk) -> None:
    server = shared.net.servers[0]
    for path in ("/sign-in", "/style.css", "/proposals"):
        assert server.ask("GET", path).status == 404
    assert server.ask("POST", "/sign-in", b"name=ada&token=" + shared.token.encode()).status == 404


# ---- requests that are no browser's --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["/nothing", "/style.css/", "/templates/base.html", "/../_app.py", "/%2e%2e/_app.py", "/proposals/x",
     "/jobs/" + "0" * 63, "/jobs/" + "G" * 64, "/jobs/" + "0" * 65, "/jobs/" + "\u0663" * 64,
     "/proposals/%0d%0aset-cookie:x=1", "/<script>alert(1)</script>"],
)  # fmt: skip
def test_unknown_paths_have_no_page(path: str, inside: Desk) -> None:
    path = urllib.parse.quote(path, safe="/%.:=")
    answer = inside.get(path)
    assert answer.status == 404 and b"no such page" in answer.body and b"<script" not in answer.body
    assert "set-cookie" not in answer.headers
    check_headers(answer)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "PROPFIND"])
def test_other_methods_are_refused(method: str, inside: Desk) -> None:
    for path in ("/", "/sign-in", "/nothing"):
        answer = inside.ask(method, path)
        assert answer.status == 403
        check_headers(answer)
        assert inside.ask(method, path, b"").status in (404, 405)
    assert inside.post("/").status == 405
    assert inside.get(f"/programs/{NO_ONE}/revoke").status == 405


@pytest.mark.parametrize("path", ["/sign-in", ACTS[0]])
def test_forms_have_a_limit_and_one_kind(path: str, inside: Desk) -> None:
    long = b"token=" + b"x" * MOST_FORM_BYTES
    assert inside.ask("POST", path, long).status == 413
    assert inside.ask("POST", path, b"a=1", content_length=str(1 << 60)).status == 413
    assert inside.ask("POST", path, b"0\r\n\r\n", content_length=None, transfer_encoding="chunked").status == 411
    assert inside.ask("POST", path, b"{}", content_type="application/json").status == 415
    assert inside.ask("POST", path, b"token=1", content_type="text/plain").status == 415
    assert inside.ask("POST", path, b"x", content_type="multipart/form-data; boundary=x").status == 415
    for body in (b"csrf=a&csrf=b", b"csrf=\xff", b"csrf=%ff", b"&".join([b"a=1"] * 41), "csrf=é".encode()):
        answer = inside.ask("POST", path, body)
        assert answer.status == 400, body
        check_headers(answer)


def test_slow_forms_are_given_up(inside: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_bodies, "_PATIENCE_S", 0.3)
    begun = time.monotonic()
    answer = inside.ask("POST", "/sign-in", b"token=", content_length="100")
    assert answer.status == 408 and time.monotonic() - begun < 5


def test_errors_show_nothing_of_the_inside(
    inside: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: object) -> None:
        raise ZeroDivisionError("a secret text")

    monkeypatch.setattr("quorate.console._pages.waiting", broken)
    answer = inside.get("/proposals")
    assert answer.status == 500 and b"the console has an error" in answer.body
    assert b"secret" not in answer.body and b"ZeroDivision" not in answer.body
    assert "of type ZeroDivisionError" in caplog.text and "secret" not in caplog.text
    check_headers(answer)


def test_a_session_at_one_connection_is_none_at_another(inside: Desk) -> None:
    """Answers are not mixed up between requests of one connection."""
    host = inside.origin.partition("//")[2]
    first = f"GET / HTTP/1.1\r\nHost: {host}\r\nCookie: {inside.cookie}\r\n\r\n"
    second = f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    answer = inside.send((first + second).encode())
    text = answer.body.decode("utf-8", "replace")
    assert answer.status == 200 and text.count("HTTP/1.1 303") == 1


def test_things_that_are_not_there(inside: Desk) -> None:
    for path in ITEMS:
        assert inside.get(path).status == 404


# ---- operators -----------------------------------------------------------------------------------------------------


def test_names_of_operators_are_plain_and_taken_once(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.db", bytes(32), None)
    tokens = {add_operator(store, name) for name in ("ada", "bob@example.org", "c")}
    assert len(tokens) == 3 and all(len(token) == 46 and token.startswith("qo_") for token in tokens)
    for name in ("", "ada lovelace", "<b>", "-x", "x" * 65, "é", "ada\n", "a/b"):
        with pytest.raises(ConfigError, match="is no name of an operator"):
            add_operator(store, name)
    with pytest.raises(ConfigError, match="there is an operator ada already: remove that one first"):
        add_operator(store, "ada")
    remove_operator(store, "ada")
    with pytest.raises(ConfigError, match="`quorate operator list` lists those that are"):
        remove_operator(store, "ada")
    assert [one.name for one in operators(store)] == ["bob@example.org", "c"]
    assert add_operator(store, "ada") not in tokens
    store.close()


def test_the_overview_shows_the_other_servers_and_the_log_its_chain(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    log.write_text('{"event": "begun"}\n')
    with desk(tmp_path, audit=log) as own:
        own.sign_in()
        overview = own.get("/").body.decode()
        assert "<h2>Peers</h2>" in overview
        for server in (1, 2):
            assert re.search(rf'<th scope="row">{server}</th><td>(unknown|unreachable)</td>', overview), overview
        assert "nothing was verified" in own.get("/audit").body.decode()
        first = linked('{"event": "begun"', Chain())
        log.write_bytes(first + linked('{"event": "revealed"', _after(first)))
        page = own.get("/audit").body.decode()
        assert "2 lines, each of which follows the one before it" in page and 'role="alert"' not in page
        log.write_bytes(first.replace(b"begun", b"ended") + linked('{"event": "revealed"', _after(first)))
        assert '<p class="note bad" role="alert">the chain is broken: line 2 of' in own.get("/audit").body.decode()


def _after(line: bytes) -> Chain:
    chain = Chain()
    for one in lines_of(io.BytesIO(line), len(line)):
        chain.add(one, Path("log"))
    return chain
