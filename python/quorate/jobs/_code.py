"""Executes the bytes of an approved program, without a file."""

from __future__ import annotations

import linecache
import sys
import types
from collections.abc import Callable
from typing import Any

__all__ = ["function_of"]


def function_of(name: str, code: bytes, compiled: types.CodeType) -> Callable[..., Any]:
    """Executes the bytes of a program, and returns their function `program`. Messages show the lines of the file.

    Args:
        name: the name of the file.
        code: its bytes.
        compiled: what they were compiled to.

    Raises:
        Exception: what the program raises.
    """
    module = types.ModuleType("program")
    module.__file__ = name
    sys.modules[module.__name__] = module
    linecache.cache[name] = (len(code), None, code.decode("utf-8", "replace").splitlines(keepends=True), name)
    exec(compiled, module.__dict__)  # noqa: S102 - the operator approved exactly these bytes
    program: Callable[..., Any] = module.__dict__["program"]
    return program
