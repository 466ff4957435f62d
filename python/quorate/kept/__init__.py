"""Values that outlive a session: every party keeps a part of them, and later sessions compute on them.

A kept value is the sum of uniform parts, so a program enters it as it enters what clients gave. Nothing that parties
exchange differs from other inputs and reveals. **Model**: parties follow the protocol. Parts are at rest in the store
of `quorate serve`, so this package needs `pip install cryptography`.
"""

from __future__ import annotations

from quorate.kept._agreement import Agreed, PartyStores
from quorate.kept._at_rest import Kept, Version, listed, newest_form, party_of
from quorate.kept._form import ArrayForm, Form, Known, check_name
from quorate.kept._versions import Versions
from quorate.kept._words import bounds_of, drawn, negated, wipe

__all__ = [
    "Agreed",
    "ArrayForm",
    "Form",
    "Kept",
    "Known",
    "PartyStores",
    "Version",
    "Versions",
    "bounds_of",
    "check_name",
    "drawn",
    "listed",
    "negated",
    "newest_form",
    "party_of",
    "wipe",
]
