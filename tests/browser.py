"""Chromium without a window, for tests of pages."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

#: Where this is "1", as in CI, a test that finds no browser fails.
_REQUIRED = "QUORATE_REQUIRE_BROWSER"

_COMMANDS = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str:
    """Returns the path of the browser. Without a browser or playwright the test is skipped, or fails in CI."""
    if importlib.util.find_spec("playwright") is None:
        _missing("playwright is not installed: pip install -r requirements/dev.txt")
    for command in _COMMANDS:
        path = shutil.which(command)
        if path is not None:
            return path
    _missing("Chromium is not installed; Debian, Ubuntu: sudo apt install chromium")


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """Starts a browser, and ends it after the block. Its contexts ignore no error of a certificate by themselves."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    # The sandbox of Chromium does not start as root, as containers of CI are.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=arguments)
        try:
            yield started
        finally:
            started.close()


def _missing(what: str) -> NoReturn:
    if os.environ.get(_REQUIRED) == "1":
        pytest.fail(what)
    pytest.skip(what)
