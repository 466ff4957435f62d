"""Measures the links of a session with two small programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from quorate.dtypes import int as int_dtype

if TYPE_CHECKING:
    from quorate.session import Session

__all__ = ["measured"]

_RUNS = 3
_CHAIN = 20
_BURST = 1 << 17
_WORD = int_dtype(64)
# The range to which measured bandwidths are limited.
_LEAST_MBIT, _MOST_MBIT = 1e-3, 1e6


def measured(mpc: Session) -> tuple[float, float]:
    """Returns round-trip time in ms and bandwidth in Mbit/s of the parties' links, as this party measures them."""

    def chain() -> None:
        # Products of values that no party knows: each takes a round, in which all wait. Zeros do not overflow.
        x, y = (mpc.input(lambda: np.zeros(1, np.int64), owner=i, shape=1, dtype=_WORD).to("A") for i in range(2))
        x = x + y
        for _ in range(_CHAIN):
            x = x * x
        x.reveal()

    # The first run computes the value, which the session keeps; the other runs only open it.
    held = mpc.input(lambda: np.zeros(_BURST, np.int64), owner=0, shape=_BURST, dtype=_WORD).to("A")

    def burst() -> None:
        held.reveal()

    seconds, rounds, _ = _median(mpc, chain)
    round_seconds = seconds / rounds
    rtt = 2 * round_seconds
    seconds, rounds, sent = _median(mpc, burst)
    peers = _receivers(mpc)
    rate = sent / peers * 8 / max(seconds - rounds * round_seconds, 1e-9) / 1e6
    return rtt * 1e3, min(max(rate, _LEAST_MBIT), _MOST_MBIT)


def _receivers(mpc: Session) -> int:
    """Returns the number of peers to which a party sends its share of an opening: t of 2t + 1, or the other of two."""
    return max(1, (mpc.parties - 1) // 2)


def _median(mpc: Session, run: Callable[[], None]) -> tuple[float, float, float]:
    """Returns medians of online phases, after one run to warm up: seconds, rounds, bytes of the busiest known party."""
    rows = []
    for _ in range(_RUNS + 1):
        before = mpc.stats().online
        run()
        after = mpc.stats().online
        took, rounds = after.seconds - before.seconds, after.rounds - before.rounds
        sent = [now - then for now, then in zip(after.bytes_sent, before.bytes_sent, strict=True)
                if now is not None and then is not None]  # fmt: skip
        rows.append((took, float(rounds), float(max(sent, default=8 * _BURST * _receivers(mpc)))))
    return tuple(float(np.median(column)) for column in zip(*rows[1:], strict=True))  # type: ignore[return-value]
