"""Clients of a campaign that fill in its form, each in a browser of its own, without a window.

    python form.py FOLDER 127.0.0.1:PORT CHROMIUM

Serves the form in FOLDER at the address, which is an origin of the campaign. Reads and answers lines of JSON as
clients.py does. A form in an installation is at an address of https, and its servers have certificates that browsers
trust. Those of this demonstration made their certificates themselves, so errors about them are ignored here: what the
form seals, and checks the signatures of, does not depend on certificates.
"""

import functools
import http.server
import json
import os
import sys
import threading

from playwright.sync_api import sync_playwright

WAIT_MS = 120_000


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files, and logs nothing."""

    def log_message(self, *_):
        """Logs nothing."""


def begun(browser, origin, invitation, values):
    """Opens the form with an invitation, fills in the values, and sends them; returns the page."""
    page = browser.new_context(ignore_https_errors=True).new_page()
    page.set_default_timeout(WAIT_MS)
    page.goto(f"{origin}/#{invitation}")
    page.get_by_role("button", name="Use this invitation").click()
    for name, value in values.items():
        page.get_by_label(name, exact=True).fill(str(value))
    page.get_by_role("button", name="Encrypt and send").click()
    return page


def result(page):
    """Returns what the program tells this client alone."""
    page.get_by_role("button", name="Ask for my result").click()
    return page.locator("#answer dd").text_content() == "Yes"


def main():
    """Gives all values, and then asks for the results."""
    folder, address, chromium = sys.argv[1:]
    host, _, port = address.rpartition(":")
    site = http.server.ThreadingHTTPServer((host, int(port)), functools.partial(Quiet, directory=folder))
    threading.Thread(target=site.serve_forever, daemon=True).start()
    told = json.loads(sys.stdin.readline())
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium does not start as root otherwise
        here = {**os.environ, "TMPDIR": "."}  # paths of its sockets are short, and gone with this folder
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments, env=here)
        pages = [begun(browser, f"http://{address}", one["invitation"], one["values"]) for one in told]
        for page in pages:
            page.locator("#state", has_text="Done").wait_for()
        print(json.dumps({"given": len(pages)}), flush=True)
        if sys.stdin.readline().strip() == '"results"':
            print(json.dumps({"results": [result(page) for page in pages]}), flush=True)
        browser.close()


if __name__ == "__main__":
    main()
