"""Parts of a campaign in the form: what its user asks for is done to the part that was shown, also when it waits."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser import browser
from forming import DONE, SOON_MS, Person, Survey, link, send, state, survey
from quorate_client import wire

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

CAR = {"name": "car", "per_client": 3, "columns": [{"name": "price", "dtype": "uint(32)"}]}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Survey]:
    with survey(tmp_path, slots=[CAR]) as started:
        yield started


@pytest.fixture
def person(chromium: Browser, made: Survey) -> Iterator[Person]:
    one = Person(chromium, made.campaign)
    yield one
    one.context.close()


def show(page: Page, entry: int) -> None:
    page.get_by_label("Entry, from 1 to 3").fill(str(entry))
    page.get_by_role("button", name="Show").click()


def refuse(route: Route) -> None:
    route.abort()


@contextlib.contextmanager
def slow(page: Page, person: Person) -> Iterator[None]:
    """Lets the page send what waits, to servers that answer after the block only."""
    held: list[Route] = []
    is_over = False

    def hold(route: Route) -> None:
        if is_over:
            route.fallback()
        else:
            held.append(route)

    person.context.unroute("**/packets", refuse)
    person.context.route("**/packets", hold)
    with person.context.expect_event("request", lambda request: request.method == "POST"):
        page.evaluate("dispatchEvent(new Event('online'))")
    yield
    is_over = True
    for route in held:
        route.continue_()


def packets(person: Person, item: int) -> dict[int, bytes]:
    """Returns the last packet of one item that was sent to each server."""
    return {server: body for server, body in person.sent if wire.Header.unpack(body).item == item}


def until(page: Page, holds: Callable[[], bool]) -> None:
    for _ in range(SOON_MS // 50):
        if holds():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it did not come to hold in time")


def test_answers_are_sent_as_the_part_that_they_were_given_for(made: Survey, person: Person) -> None:
    person.context.route("**/packets", refuse)
    page = person.opened(link(made))
    send(page, {"price": "11"})
    state(page, "Not complete yet")
    show(page, 2)
    state(page, "You have not given any answers.")
    page.get_by_label("price").fill("22")
    with slow(page, person):
        page.get_by_role("button", name="Encrypt and send").click()
        show(page, 3)
    until(page, lambda: len(packets(person, 1)) == 3)
    state(page, "You have not given any answers.")
    assert made.values(packets(person, 0)) == {"price": 11}
    assert made.values(packets(person, 1)) == {"price": 22}
    assert not packets(person, 2) and page.get_by_label("price").input_value() == ""
    show(page, 2)
    state(page, DONE)


def test_the_part_that_was_shown_is_withdrawn(made: Survey, person: Person) -> None:
    page = person.opened(link(made))
    send(page, {"price": "11"})
    state(page, DONE)
    show(page, 2)
    state(page, "You have not given any answers.")
    person.context.route("**/packets", refuse)
    send(page, {"price": "22"})
    state(page, "Not complete yet")
    show(page, 1)
    state(page, DONE)
    with slow(page, person):
        page.get_by_role("button", name="Withdraw my answers").click()
        show(page, 2)
    until(page, lambda: {wire.Header.unpack(body).kind for body in packets(person, 0).values()} == {wire.WITHDRAWN})
    until(page, lambda: len(packets(person, 1)) == 3)
    state(page, DONE)
    assert made.values(packets(person, 1)) == {"price": 22}
