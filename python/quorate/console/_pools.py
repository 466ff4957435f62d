"""The page of the pool: the level of each program, its marks, and the last makings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quorate.jobs import Job, Jobs, Level

__all__ = ["pool_fields"]

#: Makings that the page lists.
_MOST_MAKINGS = 50


def pool_fields(jobs: Jobs | None, names: Mapping[bytes, str]) -> dict[str, Any]:
    """Returns what the page shows.

    Args:
        jobs: the server's jobs, if it runs any.
        names: the names of programs, by hash.
    """
    if jobs is None:
        return {"state": None, "levels": [], "makings": []}
    held, makings = jobs.pools.held(), jobs.pools.makings()[:_MOST_MAKINGS]
    return {
        "state": None if held is None else held.state,
        "levels": [_level(level, names) for level in jobs.pools.levels()],
        "makings": [_making(job, names) for job in makings],
    }


def _level(level: Level, names: Mapping[bytes, str]) -> dict[str, Any]:
    return {
        "name": names.get(bytes.fromhex(level.marks.program), ""),
        "parameters": level.marks.parameters,
        "starts": level.starts,
        "low": level.marks.low,
        "high": level.marks.high,
        "is_low": level.starts is None or level.starts < level.marks.low,
        "last": level.last,
    }


def _making(job: Job, names: Mapping[bytes, str]) -> dict[str, Any]:
    return {"job": job, "id": job.id.hex(), "name": names.get(job.program, ""), "parameters": job.asked.parameters}
