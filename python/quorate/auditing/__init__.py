"""Logs of reveals: the chain of their lines, verified and put aside."""

from __future__ import annotations

from quorate.auditing._chain import Broken, Chain, Line
from quorate.auditing._files import log_of, read, rotated
from quorate.auditing._summary import Verdict, summary

__all__ = ["Broken", "Chain", "Line", "Verdict", "log_of", "read", "rotated", "summary"]
