"""Rows of the table of `quorate bench` for what is measured in sessions, in the format of the native workloads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate.session import Session

__all__ = ["filled", "phases", "summary"]


def filled(
    name: str,
    mpc: Session,
    sizes: tuple[int, int],
    link: str,
    skipped: str | None,
    measured: dict[str, Any] | None,
    peers: list[dict[str, Any]],
) -> dict[str, Any]:
    """Returns a row.

    Args:
        name: the workload.
        mpc: a session of its family and parties.
        sizes: bits, and the batch.
        link: the name of the links.
        skipped: why nothing was measured, or None.
        measured: what `summary` returned, or None.
        peers: published figures of other systems.
    """
    names = ("runs", "seconds", "offline", "online", "bytes_per_party", "rounds")
    figures = dict.fromkeys(names) if measured is None else measured
    return {
        "workload": name,
        "protocol": mpc.protocol,
        "k": sizes[0],
        "parties": mpc.parties,
        "batch": sizes[1],
        "link": link,
        "threads_per_party": 1,
        "input_timed": True,
        "reveal_timed": True,
        "skipped": skipped,
        **figures,
        "results_per_second": None if measured is None else sizes[1] / measured["seconds"]["median"],
        "processor_seconds": None,
        "chain": None,
        "target": None,
        "target_reached": None,
        "peers": peers,
    }


def summary(taken: Sequence[np.ndarray], walls: Sequence[float]) -> dict[str, Any]:
    """Returns the figures of some runs of the same work.

    Args:
        taken: what each run added to `phases`.
        walls: the seconds of each run. They are not the sum of its phases: one party may be online while another is
            still offline.
    """
    figures = np.array(taken)
    each = {}
    for place, phase in enumerate(("offline", "online")):
        seconds, sent, wire, rounds = figures[:, place].T
        each[phase] = {
            "seconds": _seconds(seconds),
            "rounds": int(rounds[-1]),
            "bytes_per_party": float(sent[-1]),
            "wire_bytes_per_party": float(wire[-1]),
        }
    both = figures.sum(axis=1)
    return {
        "runs": len(walls),
        "seconds": _seconds(np.array(walls)),
        **each,
        "bytes_per_party": float(both[-1, 1]),
        "rounds": int(both[-1, 3]),
    }


def _seconds(values: np.ndarray) -> dict[str, float]:
    return {"median": float(np.median(values)), "min": float(values.min())}


def phases(mpc: Session) -> np.ndarray:
    """Returns seconds, an average party's bytes and wire bytes, and rounds so far, of offline and online."""
    stats = mpc.stats()

    def average(values: Sequence[int | None]) -> float:
        return sum(value or 0 for value in values) / len(values)

    return np.array(
        [
            (phase.seconds, average(phase.bytes_sent), average(phase.wire_bytes), phase.rounds)
            for phase in (stats.offline, stats.online)
        ]
    )
