"""Applications: complete programs over secret arrays, such as private set intersection.

They use secret arrays alone, so they run under every protocol. docs/applications.md states what each of them reveals,
and why parties learn nothing else.
"""

from quorate.apps._nearest import nearest
from quorate.apps._powmod import powmod
from quorate.apps._psi import psi

__all__ = ["nearest", "powmod", "psi"]
