"""The form in Chromium, against real servers: from an invitation to stored packets, and what goes wrong in between."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import clients
from browser import browser
from forming import DONE, FORM, Person, Survey, fresh, link, send, state, survey
from quorate.campaigns import close
from quorate_client import ClientKey, WireError, check_receipt, wire
from quorate_client.keys import from_text
from quorate_client.statements import Receipt

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SALARY = {"name": "salary", "dtype": "int(32)", "low": "0", "high": "1000000"}
COLUMNS = [
    SALARY,
    {"name": "rate", "dtype": "fixed(32, 8)", "low": "-1.5", "high": "1.5"},
    {"name": "owns", "dtype": "bit"},
    {"name": "ages", "dtype": "uint(8)", "shape": [2]},
    {"name": "hours", "dtype": "int(16)", "shape": [20]},
]
GIVEN = {
    "salary": "52000", "rate": "-0.25", "owns": "Yes", "ages, number 1": "31", "ages, number 2": "44",
    "hours": "\n".join(str(i - 10) for i in range(20)),
}  # fmt: skip
MEANT = {"salary": 52000, "rate": -64, "owns": 1, "ages": [31, 44], "hours": [i - 10 for i in range(20)]}
CLIENTS = FORM.parent.parent / "docs" / "clients.md"
WAITS = "Not complete yet: waiting for "


def slots(*columns: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    return [{"name": "person", "per_client": 1, "columns": [dict(column) for column in columns], **more}]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Survey]:
    with survey(tmp_path_factory.mktemp("survey"), slots=slots(SALARY), clients=100) as started:
        yield started


@pytest.fixture
def made(shared: Survey) -> Survey:
    return fresh(shared)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Survey]:
    """A survey whose servers a test stops, or which it closes."""
    with survey(tmp_path, slots=slots(SALARY)) as started:
        yield started


@pytest.fixture
def person(chromium: Browser, request: pytest.FixtureRequest) -> Iterator[Person]:
    name = "own" if "own" in request.fixturenames else "made"
    one = Person(chromium, request.getfixturevalue(name).campaign)
    yield one
    one.context.close()


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
def test_its_own_tests_pass() -> None:
    run = subprocess.run(["node", "--test"], cwd=FORM, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0 and "# fail 0" in run.stdout, run.stdout[-4000:]
    assert int(run.stdout.partition("# pass ")[2].split()[0]) > 40


@pytest.mark.parametrize(("protocol", "parties", "options"), clients.ALL)
def test_answers_reach_the_servers_of_each_family(
    tmp_path: Path, chromium: Browser, protocol: str, parties: int, options: dict[str, str]
) -> None:
    columns = COLUMNS[:1] if options.get("mac") == "32" else COLUMNS  # it is for narrow elements
    names = {column["name"] for column in columns}
    fields = {"protocol": protocol, "parties": parties, "options": options, "slots": slots(*columns)}
    with survey(tmp_path, **fields) as made:
        person = Person(chromium, made.campaign)
        page = person.opened(link(made))
        send(page, {label: text for label, text in GIVEN.items() if label.partition(",")[0] in names})
        state(page, DONE)
        assert made.values(person.packets) == {name: value for name, value in MEANT.items() if name in names}
        assert person.told == []
        person.context.close()


def test_a_listed_client_gives_the_file_of_its_key(tmp_path: Path, chromium: Browser) -> None:
    with survey(tmp_path, invited=False, slots=slots(SALARY)) as made:
        person = Person(chromium, made.campaign)
        page = person.opened(made.site.origin)
        for name, key in (("other", ClientKey.generate()), ("own", made.net.keys[0])):
            key.save(tmp_path / f"{name}.key")
        page.get_by_label("Key file").set_input_files(tmp_path / "other.key")
        page.get_by_role("button", name="Use this key").click()
        page.get_by_text("The campaign does not list this key").wait_for()
        page.get_by_label("Key file").set_input_files(tmp_path / "own.key")
        page.get_by_role("button", name="Use this key").click()
        send(page, {"salary": "7"})
        state(page, DONE)
        assert wire.Header.unpack(person.packets[0]).client == made.net.keys[0].id
        assert "extractable=true private" not in person.kept(page)
        person.context.close()


def test_answers_are_replaced_and_withdrawn(made: Survey, person: Person) -> None:
    page = person.opened(link(made))
    send(page, {"salary": "52000"})
    state(page, DONE)
    first = wire.Header.unpack(person.packets[1])
    page.get_by_role("button", name="Replace my answers").click()
    assert page.get_by_label("salary").input_value() == ""
    send(page, {"salary": "1000000"})
    page.locator("#values").wait_for(state="hidden")
    state(page, DONE)
    second = wire.Header.unpack(person.packets[1])
    assert made.values(person.packets) == {"salary": 1_000_000}
    assert first.number == second.base < second.number
    page.get_by_role("button", name="Withdraw my answers").click()
    state(page, "Done: your answers are withdrawn")
    assert wire.Header.unpack(person.packets[2]).kind == wire.WITHDRAWN
    page.get_by_text("your answers were withdrawn").nth(2).wait_for()
    assert page.get_by_role("button", name="Withdraw my answers").count() == 0


def test_a_server_that_is_down_is_waited_for(own: Survey, person: Person) -> None:
    own.net.servers[1].stop()
    page = person.opened(link(own))
    send(page, {"salary": "52000"})
    state(page, f"{WAITS}server 1.")
    state(page, "nothing of yours counts")
    assert person.sent == []
    own.net.servers[1].start()
    state(page, DONE)  # by itself
    assert own.values(person.packets) == {"salary": 52000}


def test_a_closed_tab_continues_with_the_same_bytes(made: Survey, person: Person) -> None:
    """The packet of a number is made once, whenever the page ends; no other text of it is ever sent."""
    refuse = made.campaign.servers[2].url + "/**/packets"
    person.context.route(refuse, lambda route: route.abort())
    page = person.opened(link(made))
    send(page, {"salary": "52000"})
    state(page, f"{WAITS}server 2.")
    tried = [body for server, body in person.sent if server == 2]
    page.close()
    page = person.opened(made.site.origin)  # without the invitation
    state(page, f"{WAITS}server 2.")
    person.context.unroute(refuse)
    state(page, DONE)
    assert len({body for server, body in person.sent if server == 2}) == 1 == len(set(tried))
    assert [server for server, _ in person.sent].count(0) == 1
    assert made.values(person.packets) == {"salary": 52000}


def test_a_page_that_ends_before_anything_is_sent_sends_the_same_packet_later(own: Survey, person: Person) -> None:
    own.net.servers[0].stop()
    page = person.opened(link(own))
    send(page, {"salary": "52000"})
    state(page, f"{WAITS}server 0.")
    kept = person.kept(page)
    page.close()
    own.net.servers[0].start()
    page = person.opened(own.site.origin)
    state(page, DONE)
    for body in person.packets.values():
        assert " ".join(map(str, body)) in kept


def test_answers_are_replaced_while_a_server_is_down(own: Survey, person: Person) -> None:
    page = person.opened(link(own))
    send(page, {"salary": "1"})
    state(page, DONE)
    base = wire.Header.unpack(person.packets[0]).number
    own.net.servers[2].stop()
    for salary in ("2", "3"):
        page.get_by_role("button", name="Replace my answers").click()
        send(page, {"salary": salary})
        page.locator("#values").wait_for(state="hidden")
        state(page, f"{WAITS}server 2.")
        state(page, "your answers from before count")
    own.net.servers[2].start()
    page.get_by_role("button", name="Try again now").click()
    state(page, DONE)
    assert own.values(person.packets) == {"salary": 3}
    assert wire.Header.unpack(person.packets[0]).base == base


def test_one_tab_works_at_a_time(made: Survey, person: Person) -> None:
    first = person.opened(link(made))
    first.get_by_label("salary").wait_for()
    second = person.opened(made.site.origin)
    second.get_by_text("open in another tab").wait_for()
    assert second.get_by_label("salary").count() == 0
    send(first, {"salary": "5"})
    state(first, DONE)
    first.close()
    state(second, DONE)
    assert second.get_by_text("open in another tab").count() == 0
    assert len(person.sent) == 3


def test_a_browser_without_a_network(made: Survey, person: Person) -> None:
    page = person.opened(link(made))
    page.get_by_label("salary").wait_for()
    person.context.set_offline(True)
    send(page, {"salary": "52000"})
    state(page, f"{WAITS}server 0 and server 1 and server 2.")
    person.context.set_offline(False)
    state(page, DONE)


def test_an_invitation_that_another_browser_used(chromium: Browser, made: Survey, person: Person) -> None:
    page = person.opened(link(made))
    send(page, {"salary": "5"})
    state(page, DONE)
    other = Person(chromium, made.campaign)
    page = other.opened(link(made))
    send(page, {"salary": "6"})
    page.get_by_text("Not accepted.").filter(has_text="the invitation was used with another key").wait_for()
    state(page, "You have not given any answers.")
    other.context.close()


def test_another_invitation_does_not_take_the_place_of_the_first(made: Survey, person: Person) -> None:
    page = person.opened(link(made))
    send(page, {"salary": "5"})
    state(page, DONE)
    page.close()
    page = person.opened(link(made))  # the link of a letter, once more
    state(page, DONE)
    assert page.locator("#notice").is_hidden()
    page.close()
    page = person.opened(link(made, 1))
    page.get_by_text("This browser has already an invitation").wait_for()
    state(page, DONE)
    page.get_by_role("button", name="Replace my answers").click()
    send(page, {"salary": "6"})
    page.locator("#values").wait_for(state="hidden")
    assert {wire.Header.unpack(body).place for _, body in person.sent} == {made.place}


def test_invitations_are_pasted(made: Survey, person: Person) -> None:
    page = person.opened(made.site.origin + "/#nonsense")
    page.get_by_text("This is no invitation for this survey").wait_for()
    for text in ("", "0.AAAA", made.invitation().rpartition(".")[0], "9" + made.invitation()):
        page.get_by_label("Invitation").fill(text)
        page.get_by_role("button", name="Use this invitation").click()
        page.locator("#invitation").get_by_text("This is no invitation for this survey").wait_for()
    page.get_by_label("Invitation").fill(f"  {made.invitation()}\n")
    page.get_by_role("button", name="Use this invitation").click()
    send(page, {"salary": "5"})
    state(page, DONE)


def test_closed_while_somebody_writes(own: Survey, person: Person) -> None:
    page = person.opened(link(own))
    page.get_by_label("salary").fill("5")
    for server in own.net.servers[:2]:
        with contextlib.closing(server.store()) as store:
            close(store, own.campaign.hash)
    send(page, {})
    page.get_by_text("Not accepted.").filter(has_text="the campaign is closed").wait_for()
    assert page.get_by_role("button", name="Withdraw my answers").count() == 0


def test_closed_after_answers_were_given(own: Survey, person: Person) -> None:
    page = person.opened(link(own))
    send(page, {"salary": "5"})
    state(page, DONE)
    page.get_by_role("button", name="Replace my answers").click()
    page.get_by_label("salary").fill("6")
    for at, server in enumerate(own.net.servers):
        with contextlib.closing(server.store()) as store:
            close(store, own.campaign.hash)
        page.get_by_role("button", name="Ask the servers").click()
        page.get_by_text("has your answers; closed").nth(at).wait_for()
        assert page.get_by_label("salary").input_value() == "6", "what somebody writes stays"
        if at == 0:  # one server alone does not decide
            assert page.get_by_role("button", name="Withdraw my answers").count() == 1
    state(page, "The survey is closed.")
    assert page.get_by_role("button", name="Replace my answers").count() == 0
    page.get_by_role("button", name="Cancel").click()
    assert page.get_by_label("salary").count() == 0


def test_a_clock_that_is_ahead_keeps_nobody_from_answering(made: Survey, person: Person) -> None:
    person.context.add_init_script("{ const now = Date.now; Date.now = () => now() + 1e14; }")
    page = person.opened(link(made))
    state(page, "By the clock of this device")
    send(page, {"salary": "5"})
    state(page, DONE)
    page.get_by_text("has your answers").nth(2).wait_for()
    assert "clock" not in (page.locator("#state").text_content() or "")
    assert page.get_by_role("button", name="Replace my answers").count() == 1


def test_what_became_of_answers(own: Survey, person: Person) -> None:
    """After a run each server states it; the page shows it as the servers do, also where they differ."""
    page = person.opened(link(own))
    send(page, {"salary": "5"})
    state(page, DONE)
    row = "INSERT OR REPLACE INTO outcomes VALUES (?, 0, 0, 0, ?, ?, ?)"
    number = wire.Header.unpack(person.packets[0]).number
    outcomes = [("in", ""), ("refused", ""), ("absent", "it asks for more clients")]
    for server, (outcome, why) in zip(own.net.servers, outcomes, strict=True):
        with contextlib.closing(server.store()) as store:
            close(store, own.campaign.hash)
            values = (own.campaign.hash, number, outcome, why)
            store.write(lambda c, values=values: c.execute(row, values)).result()
    page.get_by_role("button", name="Ask the servers").click()
    state(page, "The survey is closed.")
    for text in (
        "used; closed",
        "outside the limits and not used; closed",
        "not used (it asks for more clients); closed",
    ):
        page.locator("#servers li", has_text=f"your answers were {text}").wait_for()


def test_a_time_that_is_over_is_said_at_once_and_servers_decide(tmp_path: Path, chromium: Browser) -> None:
    with survey(tmp_path, slots=slots(SALARY), closes="2026-01-01T00:00:00Z") as made:
        person = Person(chromium, made.campaign)
        page = person.opened(link(made))
        state(page, "By the clock of this device, the time for answers is over.")
        send(page, {"salary": "5"})
        page.get_by_text("Not accepted.").filter(has_text="closed").wait_for()
        person.context.close()


def test_receipts_are_checked_by_others(tmp_path: Path, made: Survey, person: Person) -> None:
    page = person.opened(link(made))
    send(page, {"salary": "5"})
    state(page, DONE)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the receipt").click()
    assert download.value.suggested_filename == "receipt-salaries.json"
    download.value.save_as(tmp_path / "receipt.json")
    table = json.loads((tmp_path / "receipt.json").read_text())
    assert from_text(table["campaign"]) == made.campaign.hash
    (tmp_path / "wages.json").write_bytes(made.campaign.json)
    documented = re.search(r"```python\n(from pathlib[^`]*?check_receipt.*?)```", CLIENTS.read_text(), re.DOTALL)
    assert documented is not None
    names: dict[str, Any] = {}
    exec(documented[1], names)
    assert names["checked"](tmp_path / "wages.json", tmp_path / "receipt.json").kind == wire.VALUES
    for server in (0, 2):
        forged = json.loads(json.dumps(table))
        forged["receipts"][server]["time"] += 1
        (tmp_path / "forged.json").write_text(json.dumps(forged))
        with pytest.raises(WireError, match=f"Server {server} has not signed"):
            names["checked"](tmp_path / "wages.json", tmp_path / "forged.json")
    for wrong in (b"{}", b"[]", b"x", json.dumps({**table, "receipts": table["receipts"][:2]}).encode()):
        with pytest.raises(WireError):
            check_receipt(made.campaign, wrong)
    swapped = {**table, "receipts": [table["receipts"][at] for at in (1, 0, 2)]}
    with pytest.raises(WireError, match="Server 0 has not signed"):
        check_receipt(made.campaign, json.dumps(swapped).encode())
    header = from_text(table["header"])
    assert wire.Header.unpack(header).kind == wire.VALUES
    for server, fields in enumerate(table["receipts"]):
        receipt = Receipt.from_json(json.dumps(fields).encode())
        assert receipt.is_by(made.campaign.servers[server].sign)
        assert not receipt.is_by(made.campaign.servers[server - 1].sign)
        assert receipt.digest == hashlib.sha256(header).digest()
        assert (receipt.server, receipt.campaign) == (server, made.campaign.hash)
        packet = wire.Packet.of(server, person.packets[server])
        assert receipt.confirms(packet, made.campaign.servers[server].sign)


def test_several_slots_and_items(tmp_path: Path, chromium: Browser) -> None:
    both = [*slots(SALARY), {"name": "car", "per_client": 2, "columns": [{"name": "price", "dtype": "uint(32)"}]}]
    with survey(tmp_path, slots=both) as made:
        person = Person(chromium, made.campaign)
        page = person.opened(link(made))
        send(page, {"salary": "5"})
        state(page, DONE)
        page.get_by_label("Questions").select_option("car")
        page.get_by_label("Entry, from 1 to 2").fill("3")
        page.get_by_role("button", name="Show").click()
        assert page.get_by_label("Entry, from 1 to 2").get_attribute("aria-invalid") == "true"
        page.get_by_label("Entry, from 1 to 2").fill("2")
        page.get_by_role("button", name="Show").click()
        state(page, "You have not given any answers.")
        send(page, {"price": "4294967295"})
        state(page, DONE)
        header = wire.Header.unpack(person.packets[0])
        assert (header.slot, header.item) == (1, 1)
        assert made.values(person.packets) == {"price": 4294967295}
        person.context.close()


def test_thousands_of_rows_do_not_stop_the_page(tmp_path: Path, chromium: Browser) -> None:
    rows = 6000
    column = {"name": "visits", "dtype": "int(64)", "shape": [rows, 2]}
    with survey(tmp_path, slots=slots(column)) as made:
        person = Person(chromium, made.campaign)
        page = person.opened(link(made))
        (tmp_path / "visits.csv").write_text("".join(f"{i};{-i}\n" for i in range(rows)))
        page.get_by_label("or take the lines from a file:").set_input_files(tmp_path / "visits.csv")
        page.evaluate("""() => { let last = performance.now(); window.longest = 0;
            setInterval(() => { const now = performance.now();
                window.longest = Math.max(window.longest, now - last); last = now; }, 5); }""")
        page.get_by_role("button", name="Encrypt and send").click()
        state(page, DONE)
        assert page.evaluate("window.longest") < 1500
        assert made.values(person.packets)["visits"] == [x for i in range(rows) for x in (i, -i)]
        person.context.close()


def test_a_demand_for_more_participants(made: Survey, person: Person) -> None:
    page = person.opened(link(made))
    page.get_by_label("salary").fill("5")
    page.get_by_text("More options").click()
    page.get_by_label("Compute only if at least this many take part").fill("101")
    page.get_by_role("button", name="Encrypt and send").click()
    page.get_by_role("alert").filter(has_text="From 1 to 100.").wait_for()
    page.get_by_label("Compute only if at least this many take part").fill("2")
    page.get_by_role("button", name="Encrypt and send").click()
    state(page, DONE)
    assert wire.Header.unpack(person.packets[0]).at_least == 2


def test_what_is_kept_is_removed(made: Survey, person: Person) -> None:
    page = person.opened(link(made))
    send(page, {"salary": "5"})
    state(page, DONE)
    page.get_by_role("button", name="Remove all of this from this browser").click()
    page.get_by_label("Invitation").wait_for()
    assert "CryptoKey" not in person.kept(page) and "bytes" not in person.kept(page)
