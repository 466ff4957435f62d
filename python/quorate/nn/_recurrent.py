"""Recurrent layers: LSTM and GRU, with PyTorch's order of gates."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate._source import at
from quorate.array import SecretArray
from quorate.errors import ShapeError
from quorate.functions import sigmoid, tanh
from quorate.nn._convolution import linear
from quorate.nn._layout import check_broadcasts, session_of, shape_of

__all__ = ["gru", "lstm"]


def _sizes(what: str, x: SecretArray, inner: Any, gates: int) -> int:
    """Returns the number of hidden units."""
    if len(x.shape) != 3 or x.shape[0] == 0:
        raise ShapeError(at(f"{what} takes series (steps, batch, inputs); this one's shape is {x.shape}"))
    rows = shape_of(inner)
    if len(rows) != 2 or rows[0] != gates * rows[1]:
        raise ShapeError(at(f"{what}: weights of the hidden state are ({gates} x hidden, hidden); not {rows}"))
    return int(rows[1])


def _start(what: str, given: Any, x: SecretArray, hidden: int) -> Any:
    if given is None:
        return np.zeros((x.shape[1], hidden))
    if shape_of(given) != (x.shape[1], hidden):
        raise ShapeError(at(f"{what}: a state is {(x.shape[1], hidden)}, (batch, hidden); not {shape_of(given)}"))
    return given


def lstm(
    x: SecretArray,
    weight: Any,
    inner: Any,
    bias: Any = None,
    inner_bias: Any = None,
    *,
    state: tuple[Any, Any] | None = None,
) -> tuple[SecretArray, tuple[SecretArray, SecretArray]]:
    """Runs a layer of long short-term memory (LSTM), with gates in PyTorch's order: input, forget, cell, output.

    Steps run one after another. Each takes a product of matrices, then three sigmoids and a tanh of (batch, hidden) in
    parallel, a product, another tanh and another product.

    Args:
        x: series (steps, batch, inputs), fixed point.
        weight: (4 hidden, inputs).
        inner: (4 hidden, hidden), for the hidden state.
        bias: (4 hidden,).
        inner_bias: (4 hidden,), which is also added.
        state: the initial hidden and cell state (batch, hidden); zeros if not given.

    Returns:
        The hidden states (steps, batch, hidden), and the pair of the last hidden and cell state.

    Example:
        >>> import numpy as np, quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     x = mpc.input(np.ones((2, 1, 1)), owner=0, bound=1)
        ...     out, _ = qr.nn.lstm(x, np.ones((4, 1)), np.ones((4, 1)))
        ...     print(out.reveal().ravel().round(2))
        [0.37 0.65]
    """
    session = session_of("lstm", x)
    hidden = _sizes("lstm", x, inner, 4)
    h, c = (_start("lstm", part, x, hidden) for part in (state or (None, None)))
    given, states = linear(x, weight, bias), []
    for step in range(x.shape[0]):
        gates = given[step] + _of_state(h, inner, inner_bias)
        enter, keep, cell, show = (gates[:, i * hidden : (i + 1) * hidden] for i in range(4))
        both = sigmoid(session.concatenate([enter, keep, show], axis=1))
        enter, keep, show = (both[:, i * hidden : (i + 1) * hidden] for i in range(3))
        c = keep * c + enter * tanh(cell)
        h = show * tanh(c)
        states.append(h)
    return session.stack(states), (h, c)


def gru(
    x: SecretArray,
    weight: Any,
    inner: Any,
    bias: Any = None,
    inner_bias: Any = None,
    *,
    state: Any = None,
) -> tuple[SecretArray, SecretArray]:
    """Runs a layer of gated recurrent units (GRU), with gates in PyTorch's order: reset, update, new.

    Args:
        x: series (steps, batch, inputs), fixed point.
        weight: (3 hidden, inputs).
        inner: (3 hidden, hidden), for the hidden state.
        bias: (3 hidden,).
        inner_bias: (3 hidden,), for the hidden state.
        state: the initial hidden state (batch, hidden); zeros if not given.

    Returns:
        The hidden states (steps, batch, hidden), and the last one.

    Example:
        >>> import numpy as np, quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     x = mpc.input(np.ones((2, 1, 1)), owner=0, bound=1)
        ...     out, _ = qr.nn.gru(x, np.ones((3, 1)), np.ones((3, 1)))
        ...     print(out.reveal().ravel().round(2))
        [0.2  0.35]
    """
    session = session_of("gru", x)
    hidden = _sizes("gru", x, inner, 3)
    h, given, states = _start("gru", state, x, hidden), linear(x, weight, bias), []
    for step in range(x.shape[0]):
        mine, of_state = given[step], _of_state(h, inner, inner_bias)
        both = sigmoid(mine[:, : 2 * hidden] + of_state[:, : 2 * hidden])
        reset, update = both[:, :hidden], both[:, hidden:]
        new = tanh(mine[:, 2 * hidden :] + reset * of_state[:, 2 * hidden :])
        h = new + update * (h - new)
        states.append(h)
    return session.stack(states), h


def _of_state(h: Any, inner: Any, bias: Any) -> Any:
    """Returns products of the hidden state, which is public zeros at first."""
    if isinstance(h, SecretArray) or isinstance(inner, SecretArray):
        return linear(h, inner, bias)
    product = np.asarray(h) @ np.asarray(inner).T
    if bias is None:
        return product
    check_broadcasts("linear", "a bias", bias, product.shape)
    return product + bias
