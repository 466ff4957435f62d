"""The form for browsers, built and served from the loopback, and people who fill it in."""

from __future__ import annotations

import contextlib
import functools
import http.server
import importlib.util
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

import clients
import serving
from quorate.campaigns import invitations
from quorate_client import Campaign, wire
from quorate_client.invitation import Invitation

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Request

FORM = Path(__file__).resolve().parent.parent / "clients" / "form"
DONE, SOON_MS = "Done: all servers have stored your answers", 60_000


def build() -> ModuleType:
    """Returns the module that puts the form into a folder."""
    spec = importlib.util.spec_from_file_location("form_build", FORM / "build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


class Site:
    """A web server for a folder, at an origin that browsers take as secure."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        handler = functools.partial(_Quiet, directory=str(folder))
        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.origin = f"http://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def put(self, campaign: bytes | None = None) -> None:
        """Puts the form into the folder."""
        module = build()
        module.write(self.folder, module.files(campaign, (FORM / "texts.js").read_bytes()))

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


class Survey:
    """The servers of one campaign, and a site with its form.

    Attributes:
        place: the invitation that a test uses.
    """

    def __init__(self, net: serving.Network, site: Site) -> None:
        self.net, self.site, self.campaign = net, site, net.campaign
        self.place = 0

    def invitation(self, further: int = 0) -> str:
        """Returns the text of the invitation `place`, or of one behind it."""
        place = self.place + further
        return Invitation(place, tuple(secrets[place] for secrets in self._secrets)).to_text()

    @functools.cached_property
    def _secrets(self) -> list[list[bytes]]:
        found = []
        for server in self.net.servers:
            with contextlib.closing(server.store()) as store:
                found.append(list(invitations(store, self.campaign)))
        return found

    def values(self, packets: dict[int, bytes]) -> dict[str, Any]:
        """Opens the packets of all servers, and returns their values by column, in units of the last bit."""
        total: list[Any] = []
        for server in self.net.servers:
            secret = (lambda place, i=server.me: self._secrets[i][place]) if self.campaign.invitations else None
            packet = wire.unpack(self.campaign, server.me, packets[server.me], secret)
            content = wire.open_part(server.key, packet)
            if packet.sealed:
                wire.check_content(self.campaign, packet, content)
                parts = clients.elements(self.campaign, packet, content)
                total = [_add(one, part) for one, part in zip(total, parts, strict=True)] if total else parts
        slot = self.campaign.slots[packet.header.slot]
        found = {}
        for column, part in zip(slot.columns, total, strict=False):
            bits = column.dtype.bits
            units = [int(word) % (1 << bits) for word in np.ravel(part)]
            low = column.dtype.lowest
            signed = [unit - (1 << bits) if low < 0 and unit >> (bits - 1) else unit for unit in units]
            found[column.name] = signed if column.shape else signed[0]
        return found


def _add(one: Any, other: Any) -> Any:
    return one ^ other if one.dtype == bool else one + other


@contextlib.contextmanager
def survey(folder: Path, *, is_built: bool = True, invited: bool = True, **fields: Any) -> Iterator[Survey]:
    """Starts servers, and a site with the form of their campaign; without `is_built`, the campaign is beside it."""
    site = Site(folder / "site")
    try:
        with serving.network(folder, origins=[site.origin], invited=invited, **fields) as net:
            site.put(net.campaign.json if is_built else None)
            (site.folder / "campaign.json").write_bytes(net.campaign.json)
            yield Survey(net, site)
    finally:
        site.close()


class Person:
    """A browser of one person, with what it has kept; all requests with a packet are recorded.

    Attributes:
        sent: server and body of each packet that was sent.
        told: what went to the console, and errors of scripts.
    """

    def __init__(self, browser: Browser, campaign: Campaign, **options: Any) -> None:
        self.campaign = campaign
        self.context: BrowserContext = browser.new_context(ignore_https_errors=True, **options)
        self.context.set_default_timeout(SOON_MS)
        self.sent: list[tuple[int, bytes]] = []
        self.told: list[str] = []
        self.asked: list[str] = []
        self.context.on("request", self._record)
        self.context.on("console", lambda message: self.told.append(message.text))
        self.context.on("weberror", lambda error: self.told.append(str(error.error)))

    def _record(self, request: Request) -> None:
        self.asked.append(request.url)
        if request.method == "POST" and request.post_data_buffer is not None:
            index = [request.url.startswith(server.url + "/") for server in self.campaign.servers].index(True)
            self.sent.append((index, request.post_data_buffer))

    def opened(self, url: str, *, is_used: bool = True) -> Page:
        """Opens a page. With `is_used`, an invitation that the page found in the address and asks about is used."""
        page = self.context.new_page()
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(url)
        if "#" in url and is_used:
            page.locator("#notice, #status, #invitation").filter(visible=True).first.wait_for()
            field = page.locator("#invitation input")
            if field.count() and field.input_value():
                page.get_by_role("button", name="Use this invitation").click()
        return page

    @property
    def packets(self) -> dict[int, bytes]:
        """The last packet that was sent to each server."""
        return dict(self.sent)

    def kept(self, page: Page) -> str:
        """Returns all that the browser keeps for the page, as text; keys that cannot be read are named."""
        found: str = page.evaluate(_KEPT)
        return found


_KEPT = """async () => {
  const told = [JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.cookie];
  const shown = (one) => {
    if (one instanceof CryptoKey) return `key extractable=${one.extractable} ${one.type}`;
    if (one instanceof Uint8Array) return `bytes ${Array.from(one).join(" ")}`;
    if (Array.isArray(one)) return one.map(shown).join("\\n");
    if (one && typeof one === "object") return Object.entries(one).map(([k, v]) => `${k}: ${shown(v)}`).join("\\n");
    return String(one);
  };
  for (const { name } of await indexedDB.databases()) {
    const opened = await new Promise((resolve) => {
      const request = indexedDB.open(name);
      request.onsuccess = () => resolve(request.result);
    });
    const items = opened.transaction("items").objectStore("items");
    const all = await new Promise((resolve) => {
      const request = items.getAll();
      request.onsuccess = () => resolve(request.result);
    });
    opened.close();
    told.push(...all.map(shown));
  }
  return told.join("\\n");
}"""


def state(page: Page, text: str, timeout_ms: int = SOON_MS) -> None:
    """Waits until the page says a text about where the answers are."""
    page.locator("#state", has_text=text).wait_for(timeout=timeout_ms)


def fill(page: Page, values: dict[str, str]) -> None:
    """Fills in fields by their labels: texts, or "Yes" and "No"."""
    for label, value in values.items():
        if value in ("Yes", "No"):
            page.get_by_role("group", name=label, exact=True).get_by_label(value).check()
        else:
            page.get_by_label(label, exact=True).fill(value)


def send(page: Page, values: dict[str, str]) -> None:
    """Fills in fields, and sends them."""
    fill(page, values)
    page.get_by_role("button", name="Encrypt and send").click()


def link(survey_: Survey, further: int = 0) -> str:
    """Returns the address of the form with an invitation, as `Survey.invitation` does."""
    return f"{survey_.site.origin}/#{survey_.invitation(further)}"


def fresh(made: Survey) -> Survey:
    """Returns a survey for the next test, with two invitations that no test has used, and the files as they were."""
    made.place += 2
    for path in made.site.folder.iterdir():
        path.unlink()
    made.site.put(made.campaign.json)
    return made


def changed(campaign: Campaign, **fields: Any) -> bytes:
    """Returns a campaign's JSON with other fields, which nobody has checked."""
    table = {**json.loads(campaign.json), **fields}
    return json.dumps(table, sort_keys=True, separators=(",", ":")).encode()
