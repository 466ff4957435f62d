"""The form in Chromium among others who do not wish its user well: pages, links, campaigns, servers, changed files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from browser import browser
from forming import DONE, FORM, Person, Site, Survey, build, changed, fill, fresh, link, send, state, survey
from quorate_client import ServiceKey, wire
from quorate_client.keys import to_text

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

SALARY = {"name": "salary", "dtype": "int(32)", "low": "0", "high": "1000000"}
VECTORS = json.loads((FORM.parent.parent / "tests" / "client_vectors.json").read_text())
SECRET = "271828"
HTML = "<img src=x onerror=alert(1)><script>alert(1)</script>"


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
def person(chromium: Browser, made: Survey) -> Iterator[Person]:
    one = Person(chromium, made.campaign)
    yield one
    one.context.close()


def test_the_browser_computes_the_known_answers(made: Survey, person: Person) -> None:
    """Words, parts and headers for fixed coins are those of Python and of Node, in the files that the page loads."""
    page = person.opened(made.site.origin)
    unlike = page.evaluate(
        """async (vectors) => {
          const wire = await import("./packets.js"), number = (x) => typeof x === "string" ? BigInt(x) : x;
          const numbers = (x) => Array.isArray(x) ? x.map(numbers) : number(x), unlike = [];
          for (const [at, one] of vectors.entries()) {
            const campaign = await wire.readCampaign(one.campaign), slot = campaign.slots[1];
            const bytes = wire.fromText(one.header), view = new DataView(bytes.buffer);
            const header = { campaign: campaign.hash, client: bytes.subarray(36, 101), place: view.getUint32(101, true),
              slot: view.getUint16(105, true), item: view.getUint16(107, true),
              number: Number(view.getBigUint64(109, true)), base: Number(view.getBigUint64(117, true)),
              atLeast: view.getUint32(125, true), kind: bytes[129],
              receivers: [...Array(8).keys()].filter((i) => bytes[130] >> i & 1), nonce: bytes.subarray(131) };
            const context = wire.contextOf(header), values = Object.entries(one.values);
            const words = wire.encode(slot, Object.fromEntries(values.map(([name, x]) => [name, numbers(x)])));
            await wire.mask(slot, words, wire.fromText(one.mask), context);
            const given = wire.toText(words), seeds = one.seeds.map((seed) => wire.fromText(seed));
            const parts = await wire.split(slot, words, header.receivers, seeds, context);
            const told = campaign.servers.map((_, i) => wire.toText(parts.get(i) ?? new Uint8Array(0)));
            const all = [given, wire.toText(wire.packHeader(header)), wire.toText(campaign.hash), ...told];
            if (all.join() !== [one.words, one.header, one.hash, ...one.contents].join()) unlike.push(at);
          }
          return unlike;
        }""",
        VECTORS,
    )
    assert (len(VECTORS), unlike) == (14, [])


def test_values_are_in_no_address_store_or_console(made: Survey, person: Person) -> None:
    person.context.route("**/packets", lambda route: route.abort())  # so that the packet is kept
    page = person.opened(link(made))
    assert "#" not in page.url and made.invitation() not in page.url
    page.get_by_label("salary").fill(SECRET)
    page.get_by_label("salary").press("Enter")  # as a form without a script would send it
    state(page, "Not complete yet")
    kept = person.kept(page)
    assert "number: " in kept and "extractable=false private" in kept and "extractable=false secret" in kept
    secrets = made.invitation().split(".")[1:]
    for text in (SECRET, *secrets):
        assert text not in kept
        assert all(text not in address for address in person.asked)
        assert all(text not in told for told in person.told)
    assert page.locator(f"text={SECRET}").count() == 0
    assert page.evaluate("history.length") <= 2
    for _, body in person.sent:
        assert SECRET.encode() not in body and int(SECRET).to_bytes(4, "little") not in body


def test_texts_are_completed_checked_and_translated_by_nobody(tmp_path: Path, chromium: Browser) -> None:
    columns = (SALARY, {"name": "ages", "dtype": "uint(8)", "shape": [40]}, {"name": "owns", "dtype": "bit"})
    with survey(tmp_path, slots=slots(*columns)) as made:
        person = Person(chromium, made.campaign)
        page = person.opened(link(made))
        page.get_by_label("salary").wait_for()
        texts = page.locator("#values form > div input[type=text], #values textarea")
        assert texts.count() == 2
        for at in range(2):
            told = [texts.nth(at).get_attribute(name) for name in ("autocomplete", "spellcheck", "translate", "name")]
            assert told == ["off", "false", "no", None]
        unnamed = page.evaluate("""() => [...document.querySelectorAll("input, textarea, select")]
            .filter((one) => !one.labels.length || !one.labels[0].textContent).length""")
        assert unnamed == 0
        person.context.close()


def test_numbers_that_are_written_otherwise_are_not_sent(made: Survey, person: Person) -> None:
    page = person.opened(link(made))
    for text in ("52,000", "5e3", "0x10", "5 0", "\uff15\uff12", "", "-1", "1000001", "9007199254740993", "1.5", "007"):
        send(page, {"salary": text})
        page.locator("#values [role=alert]", has_text="Nothing was sent").wait_for()
        assert page.get_by_label("salary").get_attribute("aria-invalid") == "true"
        assert page.evaluate("document.activeElement.tagName") == "INPUT"
    assert person.sent == []
    assert all("/campaigns/" not in address for address in person.asked)


def test_integers_beyond_53_bits_are_exact(tmp_path: Path, chromium: Browser) -> None:
    columns = [{"name": "big", "dtype": "int(64)"}, {"name": "fine", "dtype": "fixed(64, 16)"}]
    with survey(tmp_path, slots=slots(*columns)) as made:
        person = Person(chromium, made.campaign)
        page = person.opened(link(made))
        fill(page, {"big": "-9223372036854775808", "fine": "140737488355327.1"})
        page.get_by_label("big").focus()
        page.get_by_text("This is given as 140737488355327.100006103515625, the nearest step.").wait_for()
        page.get_by_role("button", name="Encrypt and send").click()
        state(page, DONE)
        assert made.values(person.packets) == {"big": -(1 << 63), "fine": 140737488355327 * 65536 + 6554}
        person.context.close()


@pytest.mark.parametrize("name", ["//evil.example/x", "../campaign", "a/b", "campaign.json", "https:x", "", "%00", "A"])
def test_only_campaigns_beside_the_page_are_read(made: Survey, person: Person, name: str) -> None:
    page = person.opened(f"{made.site.origin}/?campaign={name}")
    page.get_by_text("names a survey in a wrong way").wait_for()
    assert not [address for address in person.asked if not address.startswith(made.site.origin)]
    assert not [address for address in person.asked if address.endswith(".json") and "?" not in address]


def test_another_campaign_beside_the_page_gets_nothing(made: Survey, person: Person) -> None:
    """A page that was built for a campaign may connect to its servers alone."""
    (made.site.folder / "other.json").write_bytes(
        made.campaign.json.replace(b"https://127.0.0.1", b"https://localhost")
    )
    page = person.opened(f"{made.site.origin}/?campaign=other#{made.invitation()}")
    send(page, {"salary": "5"})
    state(page, "Not complete yet")
    assert person.sent == [] and any("Content Security Policy" in told for told in person.told)


def test_after_the_campaign_is_read_the_page_reaches_its_servers_alone(tmp_path: Path, chromium: Browser) -> None:
    with survey(tmp_path, is_built=False, slots=slots(SALARY)) as made:
        person = Person(chromium, made.campaign)
        page = person.opened(link(made))
        page.get_by_label("salary").wait_for()
        ask = "(url) => fetch(url, { mode: 'no-cors' }).then(() => 'sent', () => 'refused')"
        assert page.evaluate(ask, made.campaign.servers[0].url + "/healthz") == "sent"
        for url in (made.site.origin, "https://localhost:1/", "https://evil.example/"):
            assert page.evaluate(ask, url) == "refused"
        send(page, {"salary": "5"})
        state(page, DONE)
        person.context.close()


def test_a_campaign_with_keys_of_somebody_else_is_sent_nothing(made: Survey, person: Person) -> None:
    """Whoever changes a key in the file changes its hash, and no server runs such a campaign."""
    table = json.loads(made.campaign.json)
    table["servers"][1]["seal"] = to_text(ServiceKey.generate().seal)
    (made.site.folder / "campaign.json").write_bytes(changed(made.campaign, servers=table["servers"]))
    page = person.opened(link(made))
    send(page, {"salary": "5"})
    page.get_by_text("Stopped.").filter(has_text="does not run this campaign").wait_for()
    assert person.sent == []


def test_a_key_that_is_no_point_is_named_before_anything_is_sent(made: Survey, person: Person) -> None:
    table = json.loads(made.campaign.json)
    for server in table["servers"]:  # whichever the client chooses
        server["seal"] = to_text(b"\x04" + bytes(64))
    (made.site.folder / "campaign.json").write_bytes(changed(made.campaign, servers=table["servers"]))
    page = person.opened(link(made))
    send(page, {"salary": "5"})
    page.locator("#values [role=alert]", has_text="Something went wrong").wait_for()
    assert page.get_by_label("salary").input_value() == "5"
    assert all("/campaigns/" not in address for address in person.asked)


def test_a_campaign_with_another_hash_is_sent_nothing(made: Survey, person: Person) -> None:
    (made.site.folder / "campaign.json").write_bytes(changed(made.campaign, at_least=2))
    page = person.opened(link(made))
    send(page, {"salary": "5"})
    page.get_by_text("Stopped.").filter(has_text="does not run this campaign").wait_for()
    assert person.sent == []


def test_texts_of_others_are_texts(made: Survey, person: Person) -> None:
    """Names that no tool would write: the page shows them, and nothing in them runs."""
    names = [HTML, "__proto__", "constructor", "\"'><svg onload=alert(1)>"]
    columns = [{"name": name, "dtype": "int(32)", "shape": []} for name in names]
    odd = [{"name": HTML, "per_client": 1, "columns": columns}]
    data = changed(made.campaign, name=HTML, closes=HTML, slots=odd)
    (made.site.folder / "campaign.json").write_bytes(data)
    page = person.opened(link(made))
    for name in names:
        page.get_by_label(name.replace("_", " "), exact=True).fill("1")
    page.get_by_role("button", name="Encrypt and send").click()
    page.get_by_text("Stopped.").wait_for()
    assert page.locator("h1").text_content() == HTML
    assert page.locator("main img, main svg, main script").count() == 0
    page.evaluate("""() => { try { document.body.innerHTML = "x"; } catch { window.refused = true; } }""")
    assert page.evaluate("window.refused") is True
    assert person.sent == []


def test_what_servers_say_is_text(made: Survey, person: Person) -> None:
    told = json.dumps({"what": HTML, "do": "\u202e\u0007" + HTML})
    person.context.route("**/packets", lambda route: route.fulfill(status=403, body=told, headers=_cors(made)))
    page = person.opened(link(made))
    send(page, {"salary": "5"})
    page.get_by_text("Not accepted.").filter(has_text=HTML).wait_for()
    text = page.locator("#refusal").text_content() or ""
    assert "\u202e" not in text and page.locator("main img").count() == 0


def _cors(made: Survey) -> dict[str, str]:
    return {"Access-Control-Allow-Origin": made.site.origin, "Content-Type": "application/json"}


@pytest.mark.parametrize("field", ["signature", "digest", "server", "time", "campaign", "none"])
def test_forged_receipts_confirm_nothing(made: Survey, person: Person, field: str) -> None:
    """A server, or who answers in its place, that signs for another packet, or not at all."""
    url = made.campaign.servers[1].url

    def forge(route: Route) -> None:
        table = route.fetch().json()
        if field in ("signature", "digest", "campaign"):
            table[field] = table[field][:-2] + ("AA" if not table[field].endswith("AA") else "BA")
        elif field == "none":
            table = {}
        else:
            table[field] += 1
        route.fulfill(status=201, body=json.dumps(table), headers=_cors(made))

    person.context.route(f"{url}/**/packets", forge)
    page = person.opened(link(made))
    send(page, {"salary": "5"})
    state(page, "Not complete yet: waiting for server 1.")
    page.get_by_text("answered without a valid receipt").wait_for()
    assert page.get_by_text("Your receipt").count() == 0


def test_a_frame_shows_no_form(made: Survey, person: Person) -> None:
    (made.site.folder / "frame.html").write_text(f'<!doctype html><iframe src="/#{made.invitation()}"></iframe>')
    page = person.opened(f"{made.site.origin}/frame.html")
    frame = page.frame_locator("iframe")
    frame.get_by_text("does not work inside another page").wait_for()
    assert frame.get_by_label("salary").count() == 0


def test_an_origin_that_the_campaign_does_not_name(tmp_path: Path, made: Survey, person: Person) -> None:
    """The page says so before anything is entered, and the servers' answers are not shown to other pages."""
    site = Site(tmp_path / "elsewhere")
    try:
        site.put(made.campaign.json)
        page = person.opened(f"{site.origin}/#{made.invitation()}")
        page.get_by_text(f"does not allow a page at {site.origin}").wait_for()
        assert page.get_by_label("salary").count() == 0
        (site.folder / "empty.html").write_text("<!doctype html>")
        page.goto(f"{site.origin}/empty.html")
        ask = """([url, method]) => fetch(url, { method, headers: method === "GET" ? {} : { "Content-Type":
            "application/octet-stream" } }).then((answer) => answer.status, () => "refused")"""
        path = f"{made.campaign.servers[0].url}{made.net.path}"
        assert page.evaluate(ask, [f"{path}/hello", "GET"]) == "refused"
        assert page.evaluate(ask, [f"{path}/packets", "POST"]) == "refused"
        page.goto(f"{made.site.origin}/form.css")
        assert page.evaluate(ask, [f"{path}/hello", "GET"]) == 200
    finally:
        site.close()


@pytest.mark.parametrize("name", ["form.js", "words.js", "texts.js", "bytes.js"])
def test_changed_files_do_not_run(made: Survey, person: Person, name: str) -> None:
    with (made.site.folder / name).open("a") as file:
        file.write("\nglobalThis.changed = true;\n")
    page = person.opened(link(made), is_used=False)
    page.wait_for_timeout(1000)
    assert page.evaluate("globalThis.changed") is None
    assert page.locator("#about").is_hidden()


def test_links_do_not_change_a_page_that_is_open(made: Survey, person: Person) -> None:
    page = person.opened(link(made))
    page.get_by_label("salary").wait_for()
    page.evaluate("(text) => { location.hash = text; }", made.invitation(1))
    page.get_by_text("This browser has already an invitation").wait_for()
    assert "#" not in page.url
    send(page, {"salary": "5"})
    state(page, DONE)
    assert wire.Header.unpack(person.packets[0]).place == made.place


def test_an_invitation_in_a_link_is_asked_about(made: Survey, person: Person) -> None:
    """Whoever has a link opened does not get answers counted under a place of their own."""
    page = person.opened(link(made, 1), is_used=False)
    page.get_by_text("This invitation was in the link.").wait_for()
    assert page.get_by_label("salary").count() == 0 and "place" not in person.kept(page)
    page.goto("about:blank")
    page.goto(link(made))
    page.get_by_role("button", name="Use this invitation").click()
    send(page, {"salary": "5"})
    state(page, DONE)
    assert wire.Header.unpack(person.packets[0]).place == made.place


def test_a_browser_that_keeps_nothing_says_so(made: Survey, person: Person) -> None:
    refuse = """IDBObjectStore.prototype.put = () => { throw new DOMException("No space.", "QuotaExceededError"); };"""
    person.context.add_init_script(refuse)
    page = person.opened(link(made))
    page.get_by_text("This browser cannot keep the invitation or the key.").filter(has_text="No space.").wait_for()
    assert page.get_by_text("This is no invitation").count() == 0


def test_the_sums_of_a_build(tmp_path: Path, made: Survey, capsys: pytest.CaptureFixture[str]) -> None:
    module = build()
    files = module.files(made.campaign.json, (FORM / "texts.js").read_bytes())
    assert module.files(made.campaign.json, (FORM / "texts.js").read_bytes()) == files
    scripts = {name for name in files if name.endswith(".js")}
    page = files["index.html"].decode()
    assert len(scripts) >= 16 and all(f'="{name}" integrity="sha384-' in page for name in scripts)
    assert {path.name for path in FORM.glob("*.js")} - {"numbers.test.js"} <= scripts
    assert all(server.url.encode() in files["index.html"] for server in made.campaign.servers)
    assert "https:;" not in page and "unsafe" not in page and "<script>" not in page and "style=" not in page
    lines = module.sums(files).splitlines()
    assert [line.split("  ")[1] for line in lines] == sorted(files)
