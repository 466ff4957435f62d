"""Arrays that share a node: its value lives as long as any of them, in any order of deletion."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import quorate as qr


@pytest.fixture
def restless() -> Iterator[None]:
    """Runs the collector and switches threads all the time."""
    threshold, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(1)
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        gc.set_threshold(*threshold)
        sys.setswitchinterval(interval)


def in_a_cycle(x: qr.SecretArray) -> None:
    """Makes an array that the collector frees at some later point."""
    ring: list[object] = [x]
    ring.append(ring)


def test_threads_and_the_collector_let_go(restless: None) -> None:
    values = np.arange(5)
    with qr.local("rss") as mpc:
        x = mpc.input(values, owner=0)
        failures: list[BaseException] = []

        def churn() -> None:
            try:
                for _ in range(1500):
                    in_a_cycle(qr.SecretArray(mpc, mpc._native.array(x._node)))
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=churn) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gc.collect()
        assert failures == []
        for _ in range(2):  # values freed by a run are missing in the next
            np.testing.assert_array_equal(x.reveal(), values)
            np.testing.assert_array_equal((x + 1).reveal(), values + 1)


def test_the_last_array_takes_the_value_with_it() -> None:
    with qr.local("rss") as mpc:
        x = mpc.input([1, 2], owner=0)
        y = x.reshape(2)
        assert y._node == x._node
        z = x * x
        z.reveal()
        del x
        z.reveal()  # a run takes freed nodes over
        np.testing.assert_array_equal(y.reveal(), [1, 2])
        node = y._node
        del y
        z.reveal()
        with pytest.raises(qr.QuorateError, match="values of an own input are missing"):
            qr.SecretArray(mpc, mpc._native.array(node)).reveal()  # no program can do this
