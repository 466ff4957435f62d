"""The web console of a server: pages for its operators, who sign in, look, and approve or refuse.

What listens is in `quorate.console._run`, which needs `pip install jinja2` beside what servers need.
"""

from __future__ import annotations

from quorate.console._operators import Operator, add_operator, operators, remove_operator
from quorate.console._plans import Plans
from quorate.console._proposals import Proposal, propose_campaign, propose_program
from quorate.console._source import seen

__all__ = [
    "Operator",
    "Plans",
    "Proposal",
    "add_operator",
    "operators",
    "propose_campaign",
    "propose_program",
    "remove_operator",
    "seen",
]
