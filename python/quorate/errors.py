"""Exceptions. Each derives from `QuorateError` and from the nearest built-in, and says what, where and what to do."""

from __future__ import annotations

__all__ = [
    "CheatingDetected",
    "CircuitError",
    "ConfigError",
    "CostWarning",
    "DtypeError",
    "InputWarning",
    "ModelError",
    "ModelWarning",
    "NotApproved",
    "PeerLost",
    "PeerTimeout",
    "PoolExhausted",
    "ProgramMismatch",
    "QuorateError",
    "RangeError",
    "RangeWarning",
    "ResourceError",
    "RunAborted",
    "SessionBusy",
    "SessionClosed",
    "ShadowError",
    "ShapeError",
]


class QuorateError(Exception):
    """Whatever Quorate raises on purpose.

    >>> issubclass(ShapeError, (QuorateError, ValueError))
    True
    """


class ShapeError(QuorateError, ValueError):
    """Shapes that do not fit, an axis that does not exist, a ragged list."""


class DtypeError(QuorateError, TypeError):
    """An operation that a dtype does not have, or dtypes that do not go together."""


class RangeError(QuorateError, ValueError):
    """A value that does not fit its dtype or its stated bound, NaN, or infinity."""


class ModelError(QuorateError, ValueError):
    """A model that cannot be imported, or used in the place where it is."""


class ModelWarning(UserWarning):
    """Predictions of an imported model may differ from the estimator's, by more than anybody would overlook.

    State `bounds=` or `sample=` when the model is imported, and the warning goes, or the margin that it names shrinks.
    """


class CircuitError(QuorateError, ValueError):
    """A circuit file that cannot be read, or values that do not fit the circuit's inputs."""


class RangeWarning(UserWarning):
    """A result may leave its dtype and wrap, given the bounds that were stated. Under `strict=True` a `RangeError`.

    State a smaller `bound=`, or use a wider dtype, and the warning goes.
    """


class InputWarning(UserWarning):
    """Something else is used than what was given may mean.

    In a deployment, values that a party gives for an input of another one: only the owner's are used. A matrix in
    `mpc.take` without `axis=`: positions count in the flattened array.
    """


class CostWarning(UserWarning):
    """A run that is about to start is predicted to send more than 100 GB from one party."""


class ConfigError(QuorateError, ValueError):
    """A configuration, party, network or key that cannot work; found before anything is sent."""


class NotApproved(ConfigError):
    """A run whose plan nobody has approved, where somebody asks for that; refused before anything of it is sent.

    >>> issubclass(NotApproved, (QuorateError, ConfigError, ValueError))
    True
    """


class ProgramMismatch(QuorateError, RuntimeError):
    """The parties are not running the same program; names the first operation that differs."""


class PeerLost(QuorateError, ConnectionError):
    """A party's connection closed; names the party, the phase and the program step."""


class PeerTimeout(QuorateError, TimeoutError):
    """A party was silent for too long, or did not connect in time."""


class CheatingDetected(QuorateError, RuntimeError):
    """A consistency check failed. Nothing was revealed and the session is over."""


class PoolExhausted(QuorateError, RuntimeError):
    """A step drew correlations that the plan of its run did not count: a defect of Quorate. Nothing was revealed."""


class ResourceError(QuorateError, MemoryError):
    """A run that needs more memory than there is, refused before anything is sent; or one that got no more in its
    midst, which ends the session at every party.

    >>> issubclass(ResourceError, (QuorateError, MemoryError))
    True
    """


class RunAborted(QuorateError, RuntimeError):
    """Another party stopped the run: it was interrupted, or it refused its own input. The session can be used again."""


class ShadowError(QuorateError, ArithmeticError):
    """Under `shadow=True`: an operation gave another result than numpy.

    Attributes:
        line: file and line of the operation.
        index: of the first element that differs.
        protocol, numpy: the two values, as text.
    """

    def __init__(self, message: str, line: tuple[str, int], index: tuple[int, ...], protocol: str, numpy: str) -> None:
        super().__init__(message)
        self.line, self.index, self.protocol, self.numpy = line, index, protocol, numpy


class SessionClosed(QuorateError, RuntimeError):
    """The session was closed, or a lost peer ended it, or where parties may cheat a run that was stopped, here or at
    another party. Open a new one."""


class SessionBusy(QuorateError, RuntimeError):
    """Another thread is running a program on this session. Wait for it, or open a session per thread."""
