"""Threads share a local session: their requests queue, and building does not wait for them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import quorate as qr
from quorate._command._explain import Book, Explaining
from quorate._families import FAMILIES
from quorate._session import _constraints, _signals
from quorate._session._settings import settings

#: A thread that takes longer counts as hung.
LIMIT_SECONDS = 120.0

#: A link on which a product takes at least half a second.
SLOW = qr.Network(rtt_ms=300, mbit=1000)


def power(x: Any, products: int) -> Any:
    """Builds a power of x by one product after another: a round for each."""
    y = x
    for _ in range(products):
        y = y * x
    return y


class Thread(threading.Thread):
    """A thread whose exception is that of `ended`."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._result: Any = None
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:
            self._error = error

    def ended(self) -> Any:
        """Returns the result of the thread, within a limit."""
        self.join(LIMIT_SECONDS)
        assert not self.is_alive(), "the thread hangs"
        if self._error is not None:
            raise self._error
        return self._result


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Sends Ctrl-C to the main thread once, and expects it."""
    timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        yield
    timer.join()


def requests(mpc: qr.Session, number: int, count: int) -> None:
    """Asks for values `count` times, and checks each."""
    random = np.random.default_rng(number)
    shared = mpc.input([number, -number], owner=0)
    for i in range(count):
        given = random.integers(-1000, 1000, 2)
        x = mpc.input(given, owner=i % mpc.parties)
        assert (x * x + shared).reveal().tolist() == (given * given + [number, -number]).tolist()
        if i % 10 == 0:
            assert (x < shared).reveal().tolist() == (given < [number, -number]).tolist()


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("protocol", list(FAMILIES))
def test_each_of_many_threads_gets_its_own_values(protocol: str, check: bool) -> None:
    with qr.local(protocol, check=check) as mpc:
        threads = [Thread(lambda number=number: requests(mpc, number, 30)) for number in range(1, 17)]
        for thread in threads:
            thread.ended()
        rounds = mpc.stats().online.rounds
    if protocol == "rss":
        with qr.local(protocol, check=check) as mpc:
            requests(mpc, 1, 30)
            assert rounds == 16 * mpc.stats().online.rounds, "each run is counted once"


@pytest.mark.parametrize("check", [True, False])
def test_building_and_statistics_do_not_wait(check: bool) -> None:
    with qr.local(network=SLOW, check=check) as mpc:
        x = mpc.input([1, 2], owner=0)
        first = Thread(power(x, 20).reveal)  # at least 3 s
        time.sleep(0.1)  # its request is under way
        second = Thread((x + 1).reveal)  # waits for its turn
        sums = x
        for i in range(100):
            sums = sums + x
            mpc.input([i], owner=1)
            assert mpc.stats().online.rounds == 0 and mpc.protocol == "rss"
        assert first.is_alive()
        assert first.ended().tolist() == [1, 2**21] and second.ended().tolist() == [2, 3]
        assert sums.reveal().tolist() == [101, 202]


def test_building_does_not_wait_for_values_that_a_check_opens() -> None:
    with qr.local(network=SLOW) as mpc:
        x = mpc.input([2000, -2000], owner=0)
        square = x * x
        assert square.reveal().tolist() == [4_000_000, 4_000_000]
        rounds = mpc.stats().online.rounds
        product = square * square * square * square  # 16 * 10^24 does not fit, which the values alone show
        refused = Thread(product.reveal)
        time.sleep(0.1)  # its request is under way
        sums = x + x + x
        assert refused.is_alive()
        with pytest.raises(qr.RangeError):
            refused.ended()
        assert mpc.stats().online.rounds == rounds, "what a check opens is not counted"
        assert sums.reveal().tolist() == [6000, -6000]


@pytest.mark.parametrize("check", [True, False])
def test_an_interrupt_ends_the_wait_of_the_main_thread_alone(check: bool) -> None:
    with qr.local(network=SLOW, check=check) as mpc:
        x = mpc.input([1, 2], owner=0)
        other = Thread(power(x, 20).reveal)  # at least 3 s
        time.sleep(0.1)  # its request is under way
        with interrupted_after(0.2):
            (x + 1).reveal()  # waits for the other thread's
        assert other.is_alive()
        assert other.ended().tolist() == [1, 2**21]
        main = power(x, 20) + 1
        with interrupted_after(0.4):
            thread = threading.Timer(0.1, lambda: waiting.append(Thread((x + 2).reveal)))
            waiting: list[Thread] = []
            thread.start()
            main.reveal()
        thread.join()
        assert waiting[0].ended().tolist() == [3, 4]
        assert (x + 1).reveal().tolist() == [2, 3]


@pytest.mark.parametrize("check", [True, False])
def test_explain_waits_for_a_run_and_can_be_interrupted(check: bool) -> None:
    with qr.local(network=SLOW, check=check) as mpc:
        x = mpc.input([1, 2], owner=0)
        other = Thread(power(x, 20).reveal)  # at least 3 s
        time.sleep(0.1)  # its request is under way
        with interrupted_after(0.2):
            mpc.explain(x * x)
        assert other.is_alive()
        assert mpc.explain(x * x).online.rounds > 0
        assert other.ended().tolist() == [1, 2**21]


@pytest.mark.parametrize("check", [True, False])
def test_close_waits_for_the_requests_of_other_threads(check: bool) -> None:
    mpc = qr.local(network=SLOW, check=check)
    x = mpc.input([1, 2], owner=0)
    product = x * x
    other = Thread(product.reveal)
    time.sleep(0.1)  # its request is under way
    mpc.close()
    assert other.ended().tolist() == [1, 4]
    with pytest.raises(qr.SessionClosed):
        product.reveal()


@pytest.mark.parametrize("check", [True, False])
def test_a_session_that_gives_up_ends_the_requests_of_other_threads(check: bool) -> None:
    started = time.monotonic()
    with pytest.raises(ZeroDivisionError), qr.local(network=SLOW, check=check) as mpc:
        x = mpc.input([1, -1], owner=0)
        long = power(x, 200)  # at least 30 s
        threads = [Thread(long.reveal) for _ in range(3)]
        time.sleep(0.1)  # its request is under way
        1 / 0  # noqa: B018
    for thread in threads:
        with pytest.raises(qr.SessionClosed):
            thread.ended()
    assert time.monotonic() - started < 20


def test_requests_of_a_shadowed_session_queue() -> None:
    with qr.local(shadow=True) as mpc:
        threads = [Thread(lambda number=number: requests(mpc, number, 5)) for number in range(1, 5)]
        for thread in threads:
            thread.ended()


def test_threads_share_a_models_parameters() -> None:
    with qr.local() as mpc:
        thing = np.arange(3).view(type("Model", (np.ndarray,), {}))
        threads = [Thread(lambda: mpc._object_cache.of(thing, 0)) for _ in range(32)]
        entries = [thread.ended() for thread in threads]
        assert all(entry is entries[0] for entry in entries) and len(mpc._object_cache) == 1


def test_sessions_of_several_families_stand_side_by_side() -> None:
    together, books = threading.Barrier(4), [Book(), Book()]

    def computing(mpc: qr.Session, number: int) -> None:
        with mpc:
            for _ in range(3):
                together.wait(LIMIT_SECONDS)
                requests(mpc, number, 3)
                with pytest.raises(qr.ConfigError, match="give its values"):
                    mpc.input(None, owner=0, shape=2, dtype=qr.int(64))

    def explaining(book: Book, rows: int) -> None:
        with Explaining(qr.local("spdz2k"), book) as mpc:
            for _ in range(3):
                together.wait(LIMIT_SECONDS)
                x = mpc.input(None, owner=0, shape=rows, dtype=qr.int(64))
                assert (x * x).reveal().shape == x.reveal().shape == (rows,)

    works: list[Callable[[], None]] = [
        lambda: computing(qr.local("rss", shadow=True), 1),
        lambda: computing(qr.local("aby"), 2),
        lambda: explaining(books[0], 3),
        lambda: explaining(books[1], 5),
    ]
    for thread in [Thread(work) for work in works]:
        thread.ended()
    assert [[plan.reveals[0].shape for plan in book.plans] for book in books] == [[(3,)] * 6, [(5,)] * 6]


def _hashes(book: Book) -> list[str]:
    return [plan.program for plan in book.plans]


def test_what_is_explained_is_the_first_session_of_its_own_script() -> None:
    def explained() -> list[str]:
        book = Book()
        for _ in range(2):
            with Explaining(qr.local("rss"), book) as mpc:
                mpc.input(None, owner=0, shape=2, dtype=qr.int(64)).reveal()
        return _hashes(book)

    alone = explained()
    assert len(set(alone)) == 2, "the second session of a script has other hashes"
    for thread in [Thread(explained) for _ in range(4)]:
        assert thread.ended() == alone


def test_statements_of_a_thread_hold_for_what_it_builds() -> None:
    """Neither are other threads' warnings silenced, nor may they omit values."""
    with qr.local() as mpc:
        x = mpc.input(np.array([12.5, -3.25, 8.0]), owner=0, dtype=qr.fixed(64, 16), bound=16)
        states, built = threading.Event(), threading.Event()

        def stating() -> Any:
            with mpc._errors_are_stated(), mpc._without_values():
                states.set()
                assert built.wait(LIMIT_SECONDS) and mpc._nothing_is_sent
                return x * 1e-7

        thread = Thread(stating)
        assert states.wait(LIMIT_SECONDS)
        mine = x * 1e-7
        assert not mpc._nothing_is_sent
        with pytest.raises(qr.ConfigError, match="give its values"):
            mpc.input(None, owner=0, shape=2, dtype=qr.int(64))
        built.set()
        theirs = thread.ended()
        stated = {
            step["node"]: step["error_is_stated"] for step in mpc._native.ancestors([mine._node, theirs._node], [])[0]
        }
        assert (stated[mine._node], stated[theirs._node]) == (False, True)
        with pytest.warns(qr.RangeWarning, match="where the exact result is"):
            mine.reveal()
        theirs.reveal()


def test_a_session_has_the_settings_with_which_it_was_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    files = [tmp_path / f"{number}.csv" for number in (3, 4)]
    for file in files:
        file.write_text(f"a\n{file.stem}\n")
    monkeypatch.setattr(settings, "inputs", {0: str(files[0])})
    with qr.session() as first:
        monkeypatch.setattr(settings, "inputs", {0: str(files[1])})
        with qr.session() as second:
            assert [mpc.input_file(owner=0).reveal().tolist() for mpc in (first, second)] == [[[3]], [[4]]]
            settings.inputs.clear()
            assert second.input_file(owner=0).reveal().tolist() == [[4]]


def test_sessions_that_are_opened_together_have_places_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """An approval is for one session of a process: no two may count as the first."""
    monkeypatch.setattr(_constraints, "_taken", set())
    together, places = threading.Barrier(20), []

    def opened(fails: bool) -> None:
        with _constraints.constraints("name", True) as held:
            together.wait(LIMIT_SECONDS)
            if fails:
                raise ZeroDivisionError
            places.append(held["sessions_before"])

    threads = [Thread(lambda fails=fails: opened(fails)) for fails in [True] * 5 + [False] * 15]
    for thread in threads[:5]:
        with pytest.raises(ZeroDivisionError):
            thread.ended()
    for thread in threads[5:]:
        thread.ended()
    assert len(set(places)) == 15
    for _ in range(5):  # those that were not opened left theirs
        with _constraints.constraints("name", True) as held:
            places.append(held["sessions_before"])
    assert sorted(places) == list(range(20))


def test_sigterm_unwinds_while_any_session_watches() -> None:
    before = signal.getsignal(signal.SIGTERM)
    assert before is signal.SIG_DFL
    first, second = _signals.watch(), _signals.watch()
    _signals.unwatch(first)
    _signals.unwatch(first)  # a second close changes nothing
    assert signal.getsignal(signal.SIGTERM) is not before
    dropped = _signals.watch()
    del dropped  # a session that is dropped without being closed
    _signals.unwatch(second)
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("options", ["", "shadow=True"], ids=["plain", "shadow"])
def test_a_fork_does_not_stand_in_line(options: str) -> None:
    program = f"""
        import os, threading, time, quorate as qr
        with qr.local("rss", network=qr.Network(rtt_ms=300, mbit=1000), {options}) as mpc:
            x = mpc.input([1, 2], owner=0)
            other = threading.Thread(target=(x * x).reveal)
            other.start()
            time.sleep(0.2)
            child = os.fork()
            if not child:
                said = 0
                for ask in (x.reveal, mpc.close):
                    try:
                        ask()
                    except qr.errors.SessionClosed as error:
                        said += "forked" in str(error)
                os._exit(said)
            other.join()
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
            print(x.reveal().tolist())
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "[1, 2]\n"), done.stderr


def test_a_signal_handler_may_ask_for_values_while_its_thread_waits() -> None:
    found: list[Any] = []
    with qr.local(network=qr.Network(rtt_ms=100, mbit=1000)) as mpc:
        x = mpc.input([3], owner=0)
        power = x * x * x * x
        before = signal.signal(signal.SIGALRM, lambda *_: found.append((x + 1).reveal().tolist()))
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            assert power.reveal().tolist() == [81]
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    assert found == [[4]]
