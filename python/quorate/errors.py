"""Exceptions and warnings. Errors derive from `QuorateError` and from the nearest built-in exception.

Each message says what happened, where, and what to do.
"""

from __future__ import annotations

__all__ = [
    "CheatingDetected",
    "CircuitError",
    "ConfigError",
    "CostWarning",
    "DtypeError",
    "InputWarning",
    "KeptError",
    "ModelError",
    "ModelWarning",
    "NotApproved",
    "PeerEnded",
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
    "SubmissionError",
]


class QuorateError(Exception):
    """The base class of all errors that Quorate raises on purpose.

    >>> issubclass(ShapeError, (QuorateError, ValueError))
    True
    """


class ShapeError(QuorateError, ValueError):
    """Shapes that do not fit, an axis that does not exist, or a ragged list."""


class DtypeError(QuorateError, TypeError):
    """An operation that a dtype does not support, or dtypes that cannot be combined."""


class RangeError(QuorateError, ValueError):
    """A value that does not fit its dtype or its stated bound, NaN, or infinity."""


class ModelError(QuorateError, ValueError):
    """A model that cannot be imported, or cannot be used where it is."""


class ModelWarning(UserWarning):
    """Predictions of an imported model may differ noticeably from the estimator's.

    State `bounds=` or `sample=` when importing the model: the warning then disappears, or names a smaller margin.
    """


class CircuitError(QuorateError, ValueError):
    """A circuit file that cannot be read, or bits that do not fit the circuit's inputs."""


class RangeWarning(UserWarning):
    """A result may leave its dtype and wrap, loses digits, or differs from numpy's as its function documents.

    Under `strict=True` a result that may leave its dtype is a `RangeError`. To remove the warning, follow its message:
    usually, state a smaller `bound=`, or use a wider dtype.
    """


class InputWarning(UserWarning):
    """An input that is probably not used as its author meant.

    There are two cases. In a deployment, a party gives values for another party's input: only the owner's are used. Or
    `mpc.take` gets a matrix without `axis=`: positions then count in the flattened array.
    """


class CostWarning(UserWarning):
    """A warning about costs: a run will send more than 100 GB from one party, or `threads=` exceeds the cores."""


class ConfigError(QuorateError, ValueError):
    """An option, configuration, party, network or key that cannot be used.

    Configurations with which no session can be opened are found before anything is sent.
    """


class NotApproved(ConfigError):
    """A run whose plan was not approved, where approval is required; refused before any of its messages is sent.

    >>> issubclass(NotApproved, (QuorateError, ConfigError, ValueError))
    True
    """


class ProgramMismatch(QuorateError, RuntimeError):
    """The parties are not running the same program; the message names the first operation that differs."""


class PeerLost(QuorateError, ConnectionError):
    """A party's connection closed; the message names the party, the phase and the program step."""


class PeerTimeout(QuorateError, TimeoutError):
    """A party sent nothing for too long, or did not connect in time."""


class CheatingDetected(QuorateError, RuntimeError):
    """A consistency check failed. The run revealed nothing, and the session is over."""


class PoolExhausted(QuorateError, RuntimeError):
    """A session's pool has no correlations left for a run. Nothing of the run was sent.

    The message says what the run needs; `quorate preprocess` makes more. In a session without a pool this is a bug in
    Quorate: a step drew correlations that the plan of its run did not count.
    """


class SubmissionError(QuorateError, RuntimeError):
    """What clients of a campaign gave cannot be read: too few of them, still open, or looked at too often."""


class KeptError(QuorateError, RuntimeError):
    """A value that was not kept, or cannot be used: all parties of the session hear of it."""


class ResourceError(QuorateError, MemoryError):
    """A run that needs more memory than a party has free.

    It is refused before anything is sent. If memory runs out during the run, the session ends at every party. A run
    that exceeds `max_memory=` is a `ConfigError` instead.

    >>> issubclass(ResourceError, (QuorateError, MemoryError))
    True
    """


class RunAborted(QuorateError, RuntimeError):
    """The run was stopped: by another party (`PeerEnded`, in most cases), or this program cancelled the `Request`.

    The session can be used again, except where parties may cheat (`spdz2k`, malicious `pika`).
    """


class PeerEnded(RunAborted):
    """Another party stopped the run in order: it was interrupted, refused its own input, or its script failed.

    That party has an error of its own, or was told to end. `PeerLost` is a party that is gone without a word.

    >>> issubclass(PeerEnded, (QuorateError, RunAborted, RuntimeError))
    True
    """


class ShadowError(QuorateError, ArithmeticError):
    """Under `shadow=True`, an operation's result that differs from numpy's.

    Attributes:
        line: file and line of the operation.
        index: the index of the first element that differs.
        protocol, numpy: the two values, as text.
    """

    def __init__(self, message: str, line: tuple[str, int], index: tuple[int, ...], protocol: str, numpy: str) -> None:
        super().__init__(message)
        self.line, self.index, self.protocol, self.numpy = line, index, protocol, numpy


class SessionClosed(QuorateError, RuntimeError):
    """The session was closed, or has ended because a peer was lost. Open a new one.

    Where parties may cheat (`spdz2k`, malicious `pika`), a run that is stopped at any party ends the session, too.
    """


class SessionBusy(QuorateError, RuntimeError):
    """A call that cannot be made while a request of the session is under way.

    In a deployment, while one thread waits for values, others may not build or ask for values: another party might see
    another order. Wait for that thread, or give each thread a branch (`Session.branch`). In local sessions
    threads share a session, and only a hook that runs while its own thread asks may not ask for others.
    """
