"""Secure multi-party computation over secret arrays.

Example:
    >>> import numpy as np, quorate as qr
    >>> with qr.local("rss", parties=3) as mpc:
    ...     x = mpc.input([3, -5, 7], owner=0)
    ...     y = mpc.input(np.array([2, 9, 7]), owner=1)
    ...     z = mpc.where(x < y, x * y, x + 1)
    ...     print(z.reveal())
    [  4 -45   8]
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from quorate import errors
from quorate._command._script import session
from quorate._display._name_hints import no_name as _no_name
from quorate._display._notebook import let_complete as _let_complete
from quorate._quorate import __version__
from quorate._session._requests import Request
from quorate.array import SecretArray
from quorate.circuits import Circuit
from quorate.clients import client
from quorate.dtypes import Dtype, bit, fixed, int, real, uint
from quorate.errors import (
    CheatingDetected,
    CircuitError,
    ConfigError,
    CostWarning,
    DtypeError,
    InputWarning,
    KeptError,
    ModelError,
    ModelWarning,
    NotApproved,
    PeerLost,
    PeerTimeout,
    PoolExhausted,
    ProgramMismatch,
    QuorateError,
    RangeError,
    RangeWarning,
    ResourceError,
    RunAborted,
    SessionBusy,
    SessionClosed,
    ShadowError,
    ShapeError,
    SubmissionError,
)
from quorate.functions import exp, gelu, log, reciprocal, relu, rsqrt, sigmoid, softmax, sqrt, tanh
from quorate.lookups import lookup
from quorate.plan import Plan
from quorate.session import Network, Session, connect, local
from quorate.stats import Stats
from quorate.tables import Table, output, read, write
from quorate.tables._secret import Frame, days

if TYPE_CHECKING:
    from quorate import apps, learn, models, nn

__all__ = [
    "CheatingDetected",
    "Circuit",
    "CircuitError",
    "ConfigError",
    "CostWarning",
    "Dtype",
    "DtypeError",
    "Frame",
    "InputWarning",
    "KeptError",
    "ModelError",
    "ModelWarning",
    "Network",
    "NotApproved",
    "PeerLost",
    "PeerTimeout",
    "Plan",
    "PoolExhausted",
    "ProgramMismatch",
    "QuorateError",
    "RangeError",
    "RangeWarning",
    "Request",
    "ResourceError",
    "RunAborted",
    "SecretArray",
    "Session",
    "SessionBusy",
    "SessionClosed",
    "ShadowError",
    "ShapeError",
    "Stats",
    "SubmissionError",
    "Table",
    "__version__",
    "apps",
    "bit",
    "client",
    "connect",
    "days",
    "errors",
    "exp",
    "fixed",
    "gelu",
    "int",
    "learn",
    "local",
    "log",
    "lookup",
    "models",
    "nn",
    "output",
    "read",
    "real",
    "reciprocal",
    "relu",
    "rsqrt",
    "session",
    "sigmoid",
    "softmax",
    "sqrt",
    "tanh",
    "uint",
    "write",
]

_let_complete()

# Importing the submodule sets `quorate.array`; users would mistake it for numpy's function `array`.
globals().pop("array", None)


#: Modules that are imported on first use: they take half of the package's import time.
_LATER = ("apps", "learn", "models", "nn")


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return _import_module(f"quorate.{name}")
    raise _no_name(name, __all__, dir(Session))


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
