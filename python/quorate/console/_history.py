"""Counts over time, from the store: packets, starts of programs, and how long jobs ran."""

from __future__ import annotations

import json
import time

from quorate.campaigns import Store
from quorate.console._plots import Plot, bars
from quorate.jobs import Job

__all__ = ["plots"]

_HOUR_S, _DAY_S = 3600, 86_400
_HOURS, _DAYS, _JOBS = 48, 30, 40

_PACKETS = "SELECT stored_at / 3600, count(*) FROM packets WHERE stored_at >= ? GROUP BY 1"
_STARTS = "SELECT at / 86400, count(*) FROM uses WHERE at >= ? GROUP BY 1"


def plots(store: Store, jobs: list[Job], now: float) -> list[Plot]:
    """Returns the plots of a store.

    Args:
        store: the store.
        jobs: its jobs, in the order of arrival.
        now: this server's clock, in seconds since 1970.
    """
    hour, day = int(now) // _HOUR_S, int(now) // _DAY_S
    packets = _counted(store, _PACKETS, (hour - _HOURS + 1) * _HOUR_S)
    starts = _counted(store, _STARTS, (day - _DAYS + 1) * _DAY_S)
    hours = [(_text("%d %b %Hh", one * _HOUR_S), packets.get(one, 0)) for one in range(hour - _HOURS + 1, hour + 1)]
    days = [(_text("%d %b", one * _DAY_S), starts.get(one, 0)) for one in range(day - _DAYS + 1, day + 1)]
    measured = [(job, json.loads(job.measured)) for job in jobs if job.measured is not None][-_JOBS:]
    took = [(job.id.hex()[:8], told.get("seconds", 0)) for job, told in measured]
    sent = [(job.id.hex()[:8], told.get("bytes", 0)) for job, told in measured]
    return [
        bars("packets", "Packets in the store by hour of arrival (UTC)", "packets", hours),
        bars("starts", "Starts of programs by day (UTC)", "starts", days),
        bars("seconds", f"Measured seconds of the last {_JOBS} jobs that are done", "seconds", took),
        bars("bytes", f"Bytes that this party sent in the last {_JOBS} jobs that are done", "bytes", sent),
    ]


def _counted(store: Store, query: str, since: int) -> dict[int, int]:
    return dict(store.read(lambda connection: connection.execute(query, (since,)).fetchall()))


def _text(form: str, at: int) -> str:
    return time.strftime(form, time.gmtime(at))
