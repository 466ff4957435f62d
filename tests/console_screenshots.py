"""Makes the pictures of docs/console.md: `python tests/console_screenshots.py`, with the environment of the tests.

They show a server with one program that waits, one that ran, and a campaign.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from browser import browser
from consoling import Desk, desk
from jobbing import approval
from quorate.jobs import approve, read_approval

if TYPE_CHECKING:
    from playwright.sync_api import Browser

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"

WAGES = """import quorate as qr


def program(mpc, rows):
    own = range(rows)
    wages = [mpc.input(own if mpc.me == i else None, shape=(rows,), dtype=qr.int(32), bound=100_000, owner=i)
             for i in range(3)]
    everyone = wages[0] + wages[1] + wages[2]
    return {"sum": everyone.sum().reveal(), "highest": wages[0].max().reveal(to=0)}
"""

ROWS = '[parameters.rows]\ntype = "integer"\nlow = 1\nhigh = 1000\n'


def fill(own: Desk, folder: Path) -> str:
    """Fills a server, and returns the path of the page of what waits."""
    program = read_approval(approval(folder, WAGES + "# monthly\n", own.net.key, "monthly", ROWS))
    with own.store() as store:
        approve(store, program)
    own.net.program = program.hash.hex()
    queue = own.net.jobs(0).queue
    for number in range(12):
        job = own.net.queued(own.net.request(rows=20 + number), (0,))
        queue.start(job)
        seconds = 1.2 + 0.2 * (number * 7 % 5)
        told = {"seconds": seconds, "bytes": 40_000 + 3000 * number, "rounds": 61, "predicted_seconds": 1.3,
                "predicted_bytes": 40_000 + 3000 * number, "predicted_rounds": 61}  # fmt: skip
        queue.ended(job, "done", measured=json.dumps(told).encode())
    _, campaign = own.campaign(name="wages", id="D" * 21 + "A")
    own.sign_in()
    own.post(f"{campaign}/approve", {"csrf": own.csrf(), "read": "yes", "shown": own.shown(campaign)})
    return own.program(folder, WAGES, ROWS)[1]


def take(chrome: Browser, own: Desk, path: str, name: str, plan: bool = False, **options: Any) -> None:
    """Takes the picture of a page."""
    context = chrome.new_context(ignore_https_errors=True, base_url=own.origin, **options)
    page = context.new_page()
    page.goto("/")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Token").fill(own.token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Overview", level=1).wait_for()
    page.goto(path)
    if plan:
        page.get_by_label("rows").fill("100")
        page.get_by_label("I have read the code").check()
        page.get_by_label("Your token, to show the plan").fill(own.token)
        page.get_by_role("button", name="Show the plan").click()
        page.get_by_role("table", name="What run 1 reveals, to whom, of whose data").wait_for()
        page.locator("#plan").scroll_into_view_if_needed()
        page.evaluate("document.querySelector('#plan').scrollIntoView()")
    page.screenshot(path=IMAGES / f"console-{name}.png")
    context.close()


def main() -> int:
    with tempfile.TemporaryDirectory() as folder, browser() as chrome, desk(Path(folder)) as own:
        path = fill(own, Path(folder))
        wide = {"viewport": {"width": 1000, "height": 760}}
        take(chrome, own, path, "proposal", plan=True, color_scheme="light", **wide)
        take(chrome, own, "/metrics", "metrics", color_scheme="dark", **wide)
        take(chrome, own, "/jobs", "jobs", color_scheme="dark", **wide)
        take(chrome, own, path, "phone", color_scheme="light", viewport={"width": 360, "height": 720})
    large = [file.name for file in IMAGES.glob("console-*.png") if file.stat().st_size > 150_000]
    print(f"too large: {large}" if large else "made docs/images/console-*.png")
    return 1 if large else 0


if __name__ == "__main__":
    sys.exit(main())
