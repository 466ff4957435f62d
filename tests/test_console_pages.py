"""The console in a browser: all of it by keyboard, at the width of a phone, in both colours, read by machine."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from browser import browser
from consoling import SUMS, Desk, desk
from jobbing import PARAMETERS, approval
from quorate.jobs import approve, approved, read_approval

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

CSS = (resources.files("quorate.console") / "templates" / "style.css").read_text(encoding="utf-8")

#: Rules of axe-core that hold for all pages: those of WCAG 2.2, levels A and AA, and its best practices.
AXE = Path(__file__).resolve().parent.parent / "target" / "axe" / "package" / "axe.min.js"


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as made:
        yield made


@pytest.fixture(scope="module")
def shared(chrome: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Desk, dict[str, str]]]:
    """A console with something on every page; and the paths of pages of one thing, by their kind."""
    folder = tmp_path_factory.mktemp("pages")
    audit = folder / "audit.jsonl"
    audit.write_text('{"time": "2026-03-02T09:12:44.031Z", "event": "revealed", "run": 1, "approved": true, "reveals": '
                     '[{"what": "sum of (4,) int(64)", "to": "all", "depends_on": [0, 1]}]}\n')  # fmt: skip
    with desk(folder, audit=audit) as own:
        program = read_approval(approval(folder, SUMS, own.net.key, more=PARAMETERS))
        with own.store() as store:
            approve(store, program)
        own.net.program = program.hash.hex()
        done, waits = own.net.queued(servers=(0,)), own.net.queued(servers=(0,))
        queue = own.net.jobs(0).queue
        queue.start(done)
        queue.ended(done, "done", measured=b'{"seconds": 2.5, "bytes": 4096, "rounds": 7, "predicted_seconds": 2}')
        _, path = own.program(folder, SUMS + "# again\n")
        _, campaign = own.campaign()
        own.sign_in()
        own.post(f"{campaign}/approve", {"csrf": own.csrf(), "read": "yes", "shown": own.shown(campaign)})
        hashes = re.findall(r'href="/campaigns/([0-9a-f]{64})"', own.get("/campaigns").body.decode())
        paths = {"proposal": path, "program": f"/programs/{program.hash.hex()}", "job": f"/jobs/{done.hex()}",
                 "waits": f"/jobs/{waits.hex()}", "campaign": f"/campaigns/{hashes[0]}"}  # fmt: skip
        yield own, paths


@contextlib.contextmanager
def context(chrome: Browser, own: Desk, **options: Any) -> Iterator[BrowserContext]:
    """A browser without cookies. It takes the console's certificate, which no authority signed."""
    made = chrome.new_context(ignore_https_errors=True, base_url=own.origin, **options)
    try:
        yield made
    finally:
        made.close()


@contextlib.contextmanager
def signed_in(chrome: Browser, own: Desk, **options: Any) -> Iterator[Page]:
    """A page of a browser that has signed in, and that fails on what its console reports."""
    with context(chrome, own, **options) as made:
        page = made.new_page()
        troubles: list[str] = []
        kinds = ("error", "warning")  # others are advice, as on forms of passwords without a name
        page.on("console", lambda message: troubles.append(message.text) if message.type in kinds else None)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto("/")
        page.get_by_label("Name").fill("ada")
        page.get_by_label("Token").fill(own.token)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Overview", level=1).wait_for()
        yield page
        assert not [text for text in troubles if "status of 404" not in text]


def every_page(paths: dict[str, str]) -> list[str]:
    return [
        "/",
        "/proposals",
        "/programs",
        "/campaigns",
        "/jobs",
        "/metrics",
        "/audit",
        "/acts",
        "/nothing",
        *paths.values(),
    ]


# ---- the work of an operator ---------------------------------------------------------------------------------------


def to(page: Page, text: str) -> None:
    """Presses Tab until what has the focus is called so."""
    name = "e => (e.labels && e.labels.length ? e.labels[0].innerText : e.innerText) || ''"
    for _ in range(80):
        page.keyboard.press("Tab")
        focused = page.locator(":focus")
        if focused.count() and text in focused.evaluate(name):
            outline = focused.evaluate("e => getComputedStyle(e).outlineStyle + getComputedStyle(e).outlineWidth")
            assert outline == "solid3px", "the focus is seen"
            return
    raise AssertionError(f"Tab does not lead to {text!r}")


def write(page: Page, label: str, text: str) -> None:
    to(page, label)
    page.keyboard.type(text)


def test_an_operator_approves_by_keyboard_alone(
    chrome: Browser, shared: tuple[Desk, dict[str, str]], tmp_path: Path
) -> None:
    own = shared[0]
    program, path = own.program(tmp_path, SUMS + "# by keyboard\n")

    with context(chrome, own) as made:
        page = made.new_page()
        page.goto("/")
        write(page, "Name", "ada")
        write(page, "Token", own.token)
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Overview", level=1).wait_for()
        page.goto(path)
        to(page, "Skip to the content")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        to(page, "rows")
        page.keyboard.type("5")
        to(page, "region")
        page.keyboard.press("ArrowDown")
        to(page, "I have read the code")
        page.keyboard.press("Space")
        write(page, "Your token, to show the plan", own.token)
        to(page, "Show the plan")
        page.keyboard.press("Enter")
        table = page.get_by_role("table", name="What run 1 reveals, to whom, of whose data")
        table.wait_for()
        assert table.get_by_role("cell", name="all parties").count() == 1
        assert table.get_by_role("cell", name="parties 0, 1, 2").count() == 1
        assert page.get_by_label("region").input_value() == "south"
        to(page, "I have read all of it")
        page.keyboard.press("Space")
        write(page, "Your token, to approve it", own.token)
        to(page, "Approve sums.py")
        page.keyboard.press("Enter")
        page.wait_for_url("**/proposals")
        page.goto("/acts")
        assert "approved" in page.get_by_role("row").nth(1).inner_text()
    with own.store() as store:
        assert program.hash in {one.hash for one in approved(store)}


def test_ticks_are_required_before_a_form_is_sent(chrome: Browser, shared: tuple[Desk, dict[str, str]]) -> None:
    own, paths = shared
    with signed_in(chrome, own) as page:
        page.goto(paths["proposal"])
        for button in ("Approve sums.py", "Show the plan"):
            page.get_by_role("button", name=button).click()
            assert page.url.endswith(paths["proposal"]), "the browser asks for the tick"
        page.goto(paths["campaign"])
        page.get_by_role("button", name="Close salaries").click()
        assert page.get_by_text("open", exact=True).count() == 1


def test_signing_out_leaves_nothing_behind(chrome: Browser, shared: tuple[Desk, dict[str, str]]) -> None:
    with signed_in(chrome, shared[0]) as page:
        page.goto("/jobs")
        (cookie,) = page.context.cookies()
        assert cookie["httpOnly"] and cookie["secure"] and cookie["sameSite"] == "Strict" and cookie["expires"] == -1
        assert page.evaluate("document.cookie") == ""
        page.get_by_role("button", name="Sign out").click()
        page.get_by_role("heading", name="Sign in", level=1).wait_for()
        assert not page.context.cookies()
        page.go_back()
        page.get_by_label("Token").wait_for()  # the page before is not kept


# ---- pages of others -----------------------------------------------------------------------------------------------


def test_pages_of_others_can_neither_frame_nor_post(chrome: Browser, shared: tuple[Desk, dict[str, str]]) -> None:
    """A page of another port of this host is of the same site for a browser, so that the cookie goes along."""
    own, paths = shared
    with signed_in(chrome, own) as page:
        csrf, shown, path = own.csrf(), own.shown(paths["proposal"]), paths["proposal"]
        csrf = page.locator("input[name=csrf]").first.get_attribute("value") or ""
        other = f"https://localhost:{own.net.servers[0].port}/healthz"
        forged = f"""<form method="post" action="{own.origin}{path}/approve">
            <input name="csrf" value="{csrf}"><input name="shown" value="{shown}"><input name="read" value="yes">
            <button>win</button></form><iframe src="{own.origin}/" title="x"></iframe>"""
        evil = page.context.new_page()
        for address in (other, "https://evil.example/"):
            evil.route(address, lambda route: route.fulfill(body=forged, content_type="text/html"))
            evil.goto(address)
            evil.wait_for_timeout(300)
            assert not any("Overview" in frame.content() for frame in evil.frames[1:]), "it is not framed"
            with contextlib.suppress(Exception):
                read = evil.evaluate(f"fetch('{own.origin}/', {{credentials: 'include'}}).then(r => r.text())")
                raise AssertionError(f"another page has read {read!r}")
            evil.get_by_role("button", name="win").click()
            evil.wait_for_load_state()
            assert "not of a page of this console" in evil.content() or "you are not signed in" in evil.content()
        evil.close()
        page.goto(path)
        assert page.get_by_role("heading", name="Proposal: program sums.py").count() == 1


def test_no_script_runs_on_a_page(chrome: Browser, shared: tuple[Desk, dict[str, str]]) -> None:
    with context(chrome, shared[0]) as made:
        page, refused = made.new_page(), []
        page.on("console", lambda message: refused.append(message.text))
        page.goto("/sign-in")
        page.evaluate("""() => {
            for (const [name, text] of [['script', 'window.ran = 1'], ['style', 'body { color: red }']]) {
                const added = document.createElement(name);
                added.textContent = text;
                document.body.append(added);
            }
            const image = document.createElement('img');
            image.src = 'https://evil.example/x.png';
            document.body.append(image);
        }""")
        page.wait_for_timeout(300)
        assert page.evaluate("window.ran") is None
        assert page.evaluate("getComputedStyle(document.body).color") != "rgb(255, 0, 0)"
        assert len([text for text in refused if "Content Security Policy" in text]) == 3, refused


# ---- everyone can read it ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(scheme: Any, chrome: Browser, shared: tuple[Desk, dict[str, str]]) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not there: `make ready-for-tests` fetches it, where there is npm")
    own, paths = shared
    with signed_in(chrome, own, color_scheme=scheme, bypass_csp=True) as page:
        page.add_init_script(path=AXE)
        for path in every_page(paths):
            page.goto(path)
            for details in page.locator("details").all():
                details.evaluate("e => e.open = true")
            found = page.evaluate("axe.run()" if scheme == "light" else "axe.run({runOnly: ['color-contrast']})")
            assert len(found["passes"]) > 15 if scheme == "light" else found["passes"]
            assert [(one["id"], [n["html"] for n in one["nodes"]]) for one in found["violations"]] == [], path


def test_pages_have_one_order_of_headings_and_landmarks(chrome: Browser, shared: tuple[Desk, dict[str, str]]) -> None:
    own, paths = shared
    with signed_in(chrome, own) as page:
        titles = set()
        for path in every_page(paths):
            page.goto(path)
            titles.add(page.title())
            assert page.locator("html").get_attribute("lang") == "en"
            for role in ("banner", "navigation", "main"):
                assert page.get_by_role(role).count() == 1, (path, role)
            levels = [int(tag[1]) for tag in page.eval_on_selector_all("h1,h2,h3,h4", "all => all.map(e => e.tagName)")]
            assert levels[0] == 1 and levels.count(1) == 1
            assert all(after <= before + 1 for before, after in itertools.pairwise(levels)), (path, levels)
            unnamed = """all => all.filter(e => !(e.labels && e.labels.length) && !(e.innerText || '').trim()).length"""
            assert page.eval_on_selector_all("input:not([type=hidden]),select,button,a", unnamed) == 0, path
            for table in page.locator("main table").all():
                assert table.locator("thead th:not([scope=col])").count() == 0
                assert table.locator("tbody tr").count() == table.locator("tbody th[scope=row]").count()
            assert page.locator("nav [aria-current=page]").count() == (0 if path == "/nothing" else 1)
            for svg in page.locator("svg").all():
                assert svg.get_attribute("role") == "img"
                bars = svg.locator("rect").count()
                figure = svg.locator("xpath=ancestor::figure")
                assert figure.locator("details tbody tr").count() == bars > 0, "a table has the same numbers"
        assert len(titles) >= 11


@pytest.mark.parametrize("width", [320, 1280])
def test_pages_fit_their_width(width: int, chrome: Browser, shared: tuple[Desk, dict[str, str]]) -> None:
    own, paths = shared
    with signed_in(chrome, own, viewport={"width": width, "height": 700}) as page:
        for path in every_page(paths):
            page.goto(path)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
            for button in page.get_by_role("button").all():
                box = button.bounding_box()
                assert box is not None and box["height"] >= 24 and box["x"] + box["width"] <= width, path


def test_colours_have_contrast() -> None:
    """Text has 4.5 to 1 at least, and what else has a meaning 3 to 1: WCAG 2.2, 1.4.3 and 1.4.11."""

    def light(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    day, night = re.findall(r":root \{(.*?)\n *\}", CSS, re.DOTALL)
    schemes = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", text)) for text in (day, night)]
    assert schemes[0].keys() == schemes[1].keys() and len(schemes[0]) == 13
    used = set(re.findall(r"var\(--([\w-]+)\)", CSS))
    assert used == set(schemes[0])
    assert not re.search(r"#[0-9a-f]{3,8}\b|\brgb|\bhsl", CSS.replace(day, "").replace(night, "").replace("#main", ""))
    pairs = [(text, on, 4.5) for text in ("text", "quiet", "link", "good", "bad") for on in ("ground", "panel")]
    pairs += [("on-button", "button", 4.5), ("on-danger", "danger", 4.5)]
    pairs += [(what, on, 3.0) for what in ("edge", "button", "danger", "bar", "link") for on in ("ground", "panel")]
    for colours in schemes:
        for one, other, least in pairs:
            dark, bright = sorted((light(colours[one]), light(colours[other])))
            assert (bright + 0.05) / (dark + 0.05) >= least, (one, other)
