"""Requests for which the program does not wait: `run_async`, `reveal_async` and `await`."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as qr
from deploying import Deployment
from quorate._command._explain import Book, Explaining
from quorate._families import FAMILIES

#: A link on which a product takes at least half a second.
SLOW = qr.Network(rtt_ms=300, mbit=1000)


def power(x: Any, rounds: int) -> Any:
    """Builds a power of x by one product after another: a round for each."""
    y = x
    for _ in range(rounds):
        y = y * x
    return y


@pytest.mark.parametrize("check", [True, False])
def test_fifty_requests_of_one_thread(check: bool) -> None:
    with qr.local(check=check) as mpc:
        asked = []
        for i in range(50):
            x = mpc.input([i, -i], owner=i % 3)
            asked.append(mpc.run_async(x * x, x.sum(), to=None))
        for i, request in reversed(list(enumerate(asked))):
            square, total = request.result(60)
            assert (square.tolist(), total) == ([i * i, i * i], 0)
            assert request.done() and request.result() is request.result()
        assert mpc.stats().online.rounds > 0


@pytest.mark.parametrize("protocol", list(FAMILIES))
def test_coroutines_are_gathered(protocol: str) -> None:
    async def product(mpc: qr.Session, number: int) -> list[int]:
        x = mpc.input([number, -number], owner=0)
        y = mpc.input([7, 8], owner=1)
        less = await (x < y).reveal_async()
        await asyncio.sleep(0)
        found = await (x * y).reveal_async(units=True)
        return [*less.tolist(), *found.tolist()]

    async def main() -> list[Any]:
        with qr.local(protocol) as mpc:
            return await asyncio.gather(*(product(mpc, number) for number in range(10)))

    wanted = [[number < 7, True, 7 * number, -8 * number] for number in range(10)]
    assert asyncio.run(main()) == wanted


def test_a_request_can_be_gathered_and_awaited_by_several_tasks() -> None:
    async def value(request: qr.Request[Any]) -> Any:
        return await request

    async def main() -> None:
        with qr.local() as mpc:
            x = mpc.input([3], owner=0)
            shared = (x * x).reveal_async()
            found = await asyncio.gather(shared, value(shared), value(shared), (x + 1).reveal_async(to=1))
            assert [one.tolist() for one in found] == [[9], [9], [9], [4]]
            assert (await shared).tolist() == [9]

    asyncio.run(main())


def test_building_and_the_loop_go_on_meanwhile() -> None:
    async def main() -> None:
        with qr.local(network=SLOW, check=False) as mpc:
            x = mpc.input([2, 3], owner=0)
            asked = asyncio.ensure_future(_awaited(power(x, 20).reveal_async()))  # at least 3 s
            for _ in range(50):
                x = x + 1
                await asyncio.sleep(0)
            assert not asked.done()
            assert (await asked).tolist() == [2**21, 3**21]
            assert (await x.reveal_async()).tolist() == [52, 53]

    asyncio.run(main())


async def _awaited(request: qr.Request[Any]) -> Any:
    return await request


@pytest.mark.parametrize("how", ["task", "request", "dropped"])
def test_one_of_three_is_cancelled(how: str) -> None:
    async def main() -> None:
        with qr.local(network=SLOW, check=False, max_memory="4GB") as mpc:  # with a limit, they come one by one
            x = mpc.input([1, 2], owner=0)
            asked = [power(x, 2 + i).reveal_async() for i in range(3)]
            tasks = [asyncio.ensure_future(_awaited(request)) for request in asked]
            await asyncio.sleep(0.1)
            if how == "task":
                tasks[1].cancel()
                with pytest.raises(asyncio.CancelledError):
                    await tasks[1]
            elif how == "request":
                assert asked[1].cancel()
                with pytest.raises(qr.RunAborted, match="was cancelled"):
                    await tasks[1]
                assert not asked[1].cancel()
            else:
                dropped = (x + 3).reveal_async()
                with pytest.warns(RuntimeWarning, match="dropped before its run had ended"):
                    del dropped
                    gc.collect()
            assert (await tasks[0]).tolist() == [1, 8]
            assert (await tasks[2]).tolist() == [1, 32]
            if how == "dropped":
                assert (await tasks[1]).tolist() == [1, 16]
            else:
                with pytest.raises(qr.RunAborted):
                    asked[1].result()
            assert mpc.stats().online.rounds < 20
            assert (await (x + 1).reveal_async()).tolist() == [2, 3]

    asyncio.run(main())


def test_a_run_that_is_under_way_is_cancelled() -> None:
    with qr.local(network=SLOW, check=False) as mpc:
        x = mpc.input([1, 1], owner=0)
        long = power(x, 200).reveal_async()  # at least 30 s
        time.sleep(0.3)
        started = time.monotonic()
        assert long.cancel()
        with pytest.raises(qr.RunAborted, match="was cancelled"):
            long.result(30)
        assert time.monotonic() - started < 15
        assert (x + 1).reveal().tolist() == [2, 2]


def test_a_timeout_is_told_and_the_run_goes_on() -> None:
    async def main() -> None:
        with qr.local(network=SLOW, check=False) as mpc:
            x = mpc.input([3], owner=0)
            asked = (x * x).reveal_async()
            with pytest.raises(TimeoutError, match=r"has not ended within 0.05 s; it goes on \(at test_async"):
                asked.result(0.05)
            assert asked.result(30).tolist() == [9]
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(power(x, 20).reveal_async(), 0.2)  # which cancels it
            assert (await (x + 1).reveal_async()).tolist() == [4]

    asyncio.run(main())


def test_errors_are_raised_at_the_await_and_checks_before() -> None:
    async def main() -> None:
        with qr.local() as mpc:
            x = mpc.input([2**40], owner=0)
            with pytest.raises(qr.RangeError):
                (x * x).reveal_async()
            with pytest.raises(qr.DtypeError, match="run_async takes secret arrays, and here is a str"):
                mpc.run_async(x, "3", to=1)
        with qr.local(check=False, max_memory="1MB") as mpc:
            large = mpc.input(np.ones(10**5), owner=0)
            asked = (large * large).reveal_async()
            for _ in range(2):
                with pytest.raises(qr.ConfigError, match="max_memory"):
                    await asked

    asyncio.run(main())


def test_a_failure_that_nobody_hears_of_is_told() -> None:
    with qr.local(check=False, max_memory="1MB") as mpc:
        large = mpc.input(np.ones(10**5), owner=0)
        asked = (large * large).reveal_async()
        while not asked.done():
            time.sleep(0.01)
        with pytest.warns(RuntimeWarning, match="nothing has asked for its values: .*max_memory") as caught:
            del asked
            gc.collect()
        assert caught[0].filename == "test_async.py"


def test_results_after_close() -> None:
    with qr.local(network=SLOW, check=False) as mpc:
        x = mpc.input([3], owner=0)
        early, late = (x * x).reveal_async(), (x + 1).reveal_async()
        assert early.result().tolist() == [9]
        again = (x + 2).reveal_async()
    # `close` has waited for their runs.
    assert again.done() and early.result().tolist() == [9]
    assert (again.result().tolist(), late.result().tolist()) == ([5], [4])
    assert asyncio.run(_awaited(again)).tolist() == [5]
    with pytest.raises(qr.SessionClosed):
        x.reveal_async()


def test_an_exception_in_the_with_ends_requests() -> None:
    started = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ZeroDivisionError), qr.local(network=SLOW, check=False) as mpc:
            x = mpc.input([1], owner=0)
            first = (x + 1).reveal_async()
            first.result()
            asked = [power(x, 200).reveal_async() for _ in range(3)]  # at least 30 s
            time.sleep(0.2)
            1 / 0  # noqa: B018
        assert first.result().tolist() == [2]
        for request in asked:
            with pytest.raises(qr.SessionClosed):
                request.result(10)
        with pytest.raises(qr.SessionClosed):
            asyncio.run(_awaited(asked[0]))
        del asked, request
        gc.collect()
    assert time.monotonic() - started < 20


def test_a_task_that_waits_hears_of_the_end_of_the_session() -> None:
    async def main() -> None:
        mpc = qr.local(network=SLOW, check=False)
        x = mpc.input([3], owner=0)
        task = asyncio.ensure_future(_awaited(power(x, 30).reveal_async()))
        await asyncio.sleep(0.1)
        await asyncio.get_running_loop().run_in_executor(None, mpc.close, True)
        with pytest.raises(qr.SessionClosed):
            await task

    asyncio.run(main())


def test_loops_of_two_threads_share_a_session() -> None:
    found: dict[int, list[list[int]]] = {}

    async def main(mpc: qr.Session, number: int) -> None:
        x = mpc.input([number, -number], owner=0)
        results = await asyncio.gather(*((x * i + x * x).reveal_async() for i in range(20)))
        found[number] = [one.tolist() for one in results]

    with qr.local() as mpc:
        threads = [threading.Thread(target=lambda n=n: asyncio.run(main(mpc, n))) for n in (3, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert found == {n: [[n * n + n * i, n * n - n * i] for i in range(20)] for n in (3, 5)}


def test_a_request_is_awaited_in_two_loops_one_after_the_other() -> None:
    with qr.local(network=SLOW, check=False) as mpc:
        x = mpc.input([3], owner=0)
        asked = (x * x).reveal_async()

        async def briefly() -> None:
            await asyncio.wait([asyncio.ensure_future(asyncio.shield(_awaited(asked)))], timeout=0.05)

        loop = asyncio.new_event_loop()
        waiting = loop.create_task(_awaited(asked))
        loop.run_until_complete(asyncio.sleep(0.05))
        assert not waiting.done() and not asked.done()
        assert asyncio.run(_awaited(asked)).tolist() == [9]
        assert loop.run_until_complete(waiting).tolist() == [9]
        loop.close()


def test_a_loop_that_was_closed_is_no_concern_of_others() -> None:
    with qr.local(network=SLOW, check=False) as mpc:
        x = mpc.input([3], owner=0)
        asked = (x * x).reveal_async()
        loop = asyncio.new_event_loop()
        waiting = loop.create_task(_awaited(asked))
        loop.run_until_complete(asyncio.sleep(0.05))
        loop.close()  # the task waits for ever
        assert asyncio.run(_awaited(asked)).tolist() == [9]
        waiting._log_destroy_pending = False  # type: ignore[attr-defined]


def _heralds() -> int:
    tasks = Path("/proc/self/task")
    names = []
    for task in tasks.iterdir() if tasks.is_dir() else ():
        try:
            names.append((task / "comm").read_text().strip())
        except OSError:  # it has ended
            continue
    return names.count("herald")


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are not listed here")
def test_one_herald_serves_a_session_from_its_first_request_to_its_end() -> None:
    before = _heralds()
    with qr.local() as mpc:
        x = mpc.input([3], owner=0)
        x.reveal()
        assert _heralds() == before
        for _ in range(3):
            x.reveal_async().result()
        assert _heralds() == before + 1
    assert _heralds() == before
    mpc = qr.local()
    mpc.input([3], owner=0).reveal_async().result()
    del mpc
    gc.collect()
    deadline = time.monotonic() + 10
    while _heralds() > before and time.monotonic() < deadline:
        time.sleep(0.02)
    assert _heralds() == before


def test_sessions_whose_values_are_there_at_once() -> None:
    with qr.local(shadow=True) as mpc:
        x = mpc.input([3, -5], owner=0)
        asked = mpc.run_async(x * x, x.sum(), to=[0, 1])
        assert asked.done() and [one.tolist() for one in asked.result()] == [[9, 25], -2]
        assert not asked.cancel() and asyncio.run(_awaited(x.reveal_async())).tolist() == [3, -5]
    with qr.local() as local:
        mpc = Explaining(local, book := Book())
        x = mpc.input([3, -5], owner=0)
        assert mpc.run_async(x, x * x).done() and x.reveal_async().result().shape == (2,)
        assert len(book.plans) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_has_no_part_in_requests() -> None:
    program = """
        import asyncio, os, time, quorate as qr
        async def value(request):
            return await request
        with qr.local("rss", network=qr.Network(rtt_ms=300, mbit=1000), check=False) as mpc:
            x = mpc.input([1, 2], owner=0)
            asked = (x * x).reveal_async()
            child = os.fork()
            if not child:
                said = 0
                for ask in (asked.result, lambda: asyncio.run(value(asked)), x.reveal_async, mpc.close):
                    try:
                        ask()
                    except qr.errors.SessionClosed as error:
                        said += "forked" in str(error)
                said += asked.done() and not asked.cancel()
                del asked
                os._exit(said)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
            print(asked.result())
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "[1 4]\n"), done.stderr


#: What each party of a deployment does, at its own pace.
TWENTY = """
import asyncio, random
random.seed(mpc.me)

async def rest():
    time.sleep(random.random() * 0.004)

async def main(turn):
    shared = mpc.input([turn] if mpc.me == 1 else None, owner=1, shape=1, dtype=qr.int(64))
    asked, wanted = [], []
    for i in range(20):
        x = mpc.input([i, -i] if mpc.me == 0 else None, owner=0, shape=2, dtype=qr.int(64))
        asked.append((x * x + shared).reveal_async(to=None if i % 4 else [0, 1, 2]))
        wanted.append([i * i + turn] * 2)
        await rest()
    if turn % 2:
        found = await asyncio.gather(*asked)
    else:
        found = []
        for request in asked:
            found.append(await request)
            await rest()
    assert [one.tolist() for one in found] == wanted, (found, wanted)
    assert (shared + 1).reveal().tolist() == [turn + 1]

for turn in range(5):
    asyncio.run(main(turn))
print("right", mpc.stats().online.rounds > 0)
"""


def test_coroutines_of_a_deployment_get_their_values(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path)
    try:
        for ended in deployment.run(deployment.script(TWENTY)):
            assert (ended.status, ended.out) == (0, "right True\n"), ended
    finally:
        deployment.stop()
