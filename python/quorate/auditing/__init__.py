"""Logs of reveals and acts of operators: the chain of their lines, verified and put aside."""

from __future__ import annotations

from quorate.auditing._acts import Act, act_here, acts, acts_of, lines_of_acts, name_of_acts, record
from quorate.auditing._chain import Broken, Chain, Line
from quorate.auditing._checks import Check, Verdict, check_of_acts, check_of_log
from quorate.auditing._files import log_of, read, rotated

__all__ = [
    "Act",
    "Broken",
    "Chain",
    "Check",
    "Line",
    "Verdict",
    "act_here",
    "acts",
    "acts_of",
    "check_of_acts",
    "check_of_log",
    "lines_of_acts",
    "log_of",
    "name_of_acts",
    "read",
    "record",
    "rotated",
]
