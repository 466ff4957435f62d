"""Jobs at a server: approved programs, requests for them, their order and their runs."""

from __future__ import annotations

from quorate.jobs._events import EVENT, FIELDS, about
from quorate.jobs._folders import Folder
from quorate.jobs._health import PeerState, waits_for
from quorate.jobs._pools import Level, Pools
from quorate.jobs._programs import Approved, approve, approve_within, approved, code_of, load, revoke, revoke_within
from quorate.jobs._queue import Job, Queue, Started, resume_within
from quorate.jobs._runner import isolated
from quorate.jobs._schedules import Schedules, Standing
from quorate.jobs._service import Jobs, check_deployment
from quorate.jobs._terms import Limit, Program, Terms, read_approval

__all__ = [
    "EVENT",
    "FIELDS",
    "Approved",
    "Folder",
    "Job",
    "Jobs",
    "Level",
    "Limit",
    "PeerState",
    "Pools",
    "Program",
    "Queue",
    "Schedules",
    "Standing",
    "Started",
    "Terms",
    "about",
    "approve",
    "approve_within",
    "approved",
    "check_deployment",
    "code_of",
    "isolated",
    "load",
    "read_approval",
    "resume_within",
    "revoke",
    "revoke_within",
    "waits_for",
]
