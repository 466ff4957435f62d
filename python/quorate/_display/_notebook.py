"""Settings of IPython that let it complete the names of arguments of secret arrays' methods."""

from __future__ import annotations

import importlib
import sys
from typing import Any

__all__ = ["let_complete"]

_OURS = {("quorate", "SecretArray"), ("quorate.tables._secret", "Frame")}


def let_complete() -> None:
    """Lets a running IPython read attributes of secret arrays and frames while it completes a line.

    By default it reads no attributes of objects that define `__getattr__`, which might compute. Ours only raises an
    error with a hint. Without IPython, or if it keeps its list elsewhere, nothing happens.
    """
    shell: Any = sys.modules.get("IPython")
    if getattr(shell, "get_ipython", lambda: None)() is None:
        return
    try:
        policies = importlib.import_module("IPython.core.guarded_eval").EVALUATION_POLICIES
        policies["limited"].allowed_getattr_external |= _OURS
    except (ImportError, AttributeError, KeyError, TypeError):
        return
