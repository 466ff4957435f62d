"""Activations that are composed of comparisons and other functions."""

from __future__ import annotations

from typing import Any

from quorate._source import at
from quorate.array import SecretArray
from quorate.errors import DtypeError
from quorate.functions import exp, sigmoid
from quorate.nn._layout import check_broadcasts, session_of

__all__ = ["elu", "hard_sigmoid", "hard_swish", "leaky_relu", "prelu", "relu6", "silu"]


def relu6(x: SecretArray) -> SecretArray:
    """Limits x to the range 0 to 6, exactly; also for integers. It takes two comparisons.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     print(qr.nn.relu6(mpc.input([-1.5, 2.0, 7.0], owner=0)).reveal())
        [0. 2. 6.]
    """
    session_of("relu6", x)
    return x.clip(0, 6)


def leaky_relu(x: SecretArray, slope: float = 0.01) -> SecretArray:
    """Returns x where it is positive, elsewhere x times the public `slope`. x is fixed point. It takes a comparison.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     print(qr.nn.leaky_relu(mpc.input([-1.0, 2.0], owner=0), 0.25).reveal())
        [-0.25  2.  ]
    """
    return prelu(x, float(slope))


def prelu(x: SecretArray, slope: Any) -> SecretArray:
    """Returns x where it is positive, elsewhere x times `slope`, which is secret or public and broadcasts.

    It takes a comparison and, where the slope is secret, a product.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     slope = mpc.input([0.5, 0.25], owner=1)
        ...     print(qr.nn.prelu(mpc.input([-1.0, -2.0], owner=0), slope).reveal())
        [-0.5 -0.5]
    """
    session = session_of("prelu", x)
    if x.dtype.kind != "fixed":
        raise DtypeError(at("a slope of integers has no dtype: convert them first, x.astype(qr.fixed(64, 16))"))
    check_broadcasts("prelu", "a slope", slope, x.shape)
    return session.where(x > 0, x, x * slope)


def silu(x: SecretArray) -> SecretArray:
    """Returns x times its sigmoid, within 1 + 1.5 |x| units of 2^-f.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     print(qr.nn.silu(mpc.input([-1.0, 2.0], owner=0)).reveal().round(3))
        [-0.269  1.762]
    """
    session_of("silu", x)
    return x * sigmoid(x)


def elu(x: SecretArray, alpha: float = 1.0) -> SecretArray:
    """Returns x where it is positive, alpha (e^x - 1) elsewhere; within 2 alpha + 1 units of 2^-f.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     print(qr.nn.elu(mpc.input([-1.0, 2.0], owner=0)).reveal().round(3))
        [-0.632  2.   ]
    """
    session = session_of("elu", x)
    positive = x > 0
    low = exp(session.where(positive, 0.0, x)) - 1.0  # 0 in place of positive x, whose power might not fit
    return session.where(positive, x, low if alpha == 1.0 else low * float(alpha))


def hard_sigmoid(x: SecretArray, alpha: float = 1 / 6, beta: float = 0.5) -> SecretArray:
    """Returns alpha x + beta, limited to the range 0 to 1. It takes two comparisons.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     print(qr.nn.hard_sigmoid(mpc.input([-4.0, 0.0, 1.5], owner=0)).reveal().round(3))
        [0.   0.5  0.75]
    """
    session_of("hard_sigmoid", x)
    return (x * float(alpha) + float(beta)).clip(0.0, 1.0)


def hard_swish(x: SecretArray) -> SecretArray:
    """Returns x times its hard sigmoid. It takes two comparisons and a product.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     print(qr.nn.hard_swish(mpc.input([-4.0, 1.5], owner=0)).reveal().round(3))
        [0.    1.125]
    """
    return x * hard_sigmoid(x)
