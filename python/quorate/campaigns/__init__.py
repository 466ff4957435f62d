"""Campaigns at a server: the packets of clients, the rules for them, and what a program gets of them.

Nothing here listens on a network: `quorate.serve` does. This package needs `pip install cryptography`, which is part of
the extra `serve`.
"""

from __future__ import annotations

from quorate.campaigns._agreed import (
    WORDS,
    History,
    agreed,
    clients_of,
    hash_of_list,
    looks_before,
    newest,
    present,
    settled,
)
from quorate.campaigns._approved import (
    Approved,
    approve,
    approve_within,
    approved,
    close,
    close_within,
    end,
    exported,
    find,
    find_hash,
    invitations,
)
from quorate.campaigns._attempts import check_attempts, resume, resume_within
from quorate.campaigns._counts import Counts, counts
from quorate.campaigns._errors import Lost, Refused, Spent, StoreError, StoreFull
from quorate.campaigns._freeze import Frozen, freeze
from quorate.campaigns._holders import Holder, holders, kept_by
from quorate.campaigns._intake import Intake
from quorate.campaigns._marks import Marks
from quorate.campaigns._proofs import Proofs, shown_bits, shown_words
from quorate.campaigns._results import expire
from quorate.campaigns._sealing import KeptKey
from quorate.campaigns._settings import (
    MOST_AT_ONCE,
    ConsoleSettings,
    Limits,
    Settings,
    certificate_hash,
    read_store_key,
    store_of,
)
from quorate.campaigns._store import KEPT, SERVE, Store, run_of
from quorate.campaigns._tagged import TaggedParts, TaggedRows

__all__ = [
    "KEPT",
    "MOST_AT_ONCE",
    "SERVE",
    "WORDS",
    "Approved",
    "ConsoleSettings",
    "Counts",
    "Frozen",
    "History",
    "Holder",
    "Intake",
    "KeptKey",
    "Limits",
    "Lost",
    "Marks",
    "Proofs",
    "Refused",
    "Settings",
    "Spent",
    "Store",
    "StoreError",
    "StoreFull",
    "TaggedParts",
    "TaggedRows",
    "agreed",
    "approve",
    "approve_within",
    "approved",
    "certificate_hash",
    "check_attempts",
    "clients_of",
    "close",
    "close_within",
    "counts",
    "end",
    "expire",
    "exported",
    "find",
    "find_hash",
    "freeze",
    "hash_of_list",
    "holders",
    "invitations",
    "kept_by",
    "looks_before",
    "newest",
    "present",
    "read_store_key",
    "resume",
    "resume_within",
    "run_of",
    "settled",
    "shown_bits",
    "shown_words",
    "store_of",
]
