"""Values that outlive a session: every party keeps a part of them, and later sessions compute on them.

A kept value is the sum of uniform parts, so a program enters it as it enters what clients gave. Nothing that parties
exchange differs from other inputs and reveals. **Model**: parties follow the protocol. Parts are at rest in the store
of `quorate serve`. This package needs `pip install cryptography`.
"""

from __future__ import annotations

from quorate.kept._keeping import Keeping
from quorate.kept._memory import Memory

__all__ = ["Keeping", "Memory"]
