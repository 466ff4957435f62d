"""Comparison of a plan's predictions with the bytes and rounds of its run."""

from __future__ import annotations

import numpy as np

import quorate as qr


def ran(mpc: qr.Session, *arrays: qr.SecretArray) -> tuple[list[np.ndarray], qr.Plan]:
    """Reveals arrays, and checks that the run costs what the plan predicted."""
    before = mpc.stats()
    plan = mpc.explain(*arrays)
    results = mpc.reveal_all(*arrays)
    after = mpc.stats()
    for phase in ("offline", "online"):
        planned, now, earlier = (getattr(costs, phase) for costs in (plan, after, before))
        sent = [x - y for x, y in zip(now.bytes_sent, earlier.bytes_sent or [0, 0], strict=True)]
        assert (planned.rounds, list(planned.bytes_sent)) == (now.rounds - earlier.rounds, sent), phase
    return [np.asarray(result) for result in results], plan
