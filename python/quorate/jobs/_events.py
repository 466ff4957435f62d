"""Events of a server's log: each line has a name, and what it is about, for those who read logs by machine."""

from __future__ import annotations

from typing import Any

__all__ = ["EVENT", "FIELDS", "about"]

#: Attributes of log records that hold the event's name and its fields.
EVENT, FIELDS = "quorate_event", "quorate_fields"


def about(event: str, trace: str = "", **fields: str | int | float) -> dict[str, Any]:
    """Returns what a call of a logger takes as `extra`.

    Args:
        event: the event's name, of lower-case words joined by points and underscores.
        trace: what joins the lines of all servers about one thing; a job's id, for example.
        fields: what else there is to say: no value, key or name of a client.

    >>> about("job.ended", trace="ab12", seconds=3.5)["quorate_fields"]
    {'trace': 'ab12', 'seconds': 3.5}
    """
    return {EVENT: event, FIELDS: {**({"trace": trace} if trace else {}), **fields}}
