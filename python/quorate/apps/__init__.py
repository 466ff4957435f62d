"""Applications: programs over secret arrays that parties ask for by name.

They are written against arrays alone, so that they run under every protocol. docs/applications.md says what each of
them reveals and why nothing else can be learnt.
"""

from quorate.apps._nearest import nearest
from quorate.apps._powmod import powmod
from quorate.apps._psi import psi

__all__ = ["nearest", "powmod", "psi"]
