"""Gradients by reverse mode: the program of a loss is traversed backwards, and the gradient extends the program."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from quorate import _source
from quorate._clear._steps import Step
from quorate._source import at
from quorate.array import SecretArray
from quorate.errors import ConfigError, DtypeError, RangeError, RangeWarning, ShapeError
from quorate.learn._gradient_values import Factored, Given, Made, ceil_log2, most_of, of_node
from quorate.learn._rules import EXACT, PIECEWISE, RULES, Rule, log_softmax

__all__ = ["gradient"]


def gradient(
    loss: SecretArray, parameters: Sequence[SecretArray], *, along: SecretArray | None = None
) -> list[SecretArray]:
    """Returns the gradient of a loss with respect to several arrays, by reverse mode. It reveals and runs nothing.

    Parameters are independent variables: gradients end at them, even where one parameter was computed from another.
    Bits count as constants. The derivative of `mpc.where(x > 0, x, 0)`, and so of `qr.relu` and `clip`, is therefore
    that of the selected side. Where the loss is a mean, the factor 1/n is applied at the end.

    Call it before the loss is revealed. After a reveal, intermediate values that no array of yours holds are computed
    again, for which the input arrays must still exist.

    Args:
        loss: a fixed-point array: one number or, with `along`, of any shape.
        parameters: fixed-point arrays from which the loss is computed.
        along: the gradient, with respect to `loss`, of a value that is computed from `loss`. It has the shape of
            `loss`. Log losses then have a short form: `gradient(scores, weights, along=qr.sigmoid(scores) - labels)`.

    Returns:
        Arrays of the parameters' shapes and dtypes. Their error is that of their operations, each of which states its
        own; products are rounded down. Small slopes, such as those with a factor 1/n, are kept multiplied by powers of
        two, as far as ranges prove that there is room. A `RangeWarning` names an operation without room. Gradients of
        reals without a stated dtype to which such slopes lead get up to log2(n) more fractional bits, n being the
        elements of the largest array on the way.

    Rounds and bytes: each product in the loss takes those of one product, each matrix product those of two, additions
    and moves none. `mpc.explain` of the result predicts them.

    Raises:
        DtypeError: an operation between a parameter and the loss has no derivative here (sorts, look-ups, rounding to
            integers, `qr.gelu`), or an array is not fixed point.
        ConfigError: the loss does not depend on a parameter, or steps of it, run long ago, are forgotten, or arrays are
            of different sessions.
        ShapeError: the loss is not one number, and `along` is not given; or `along` has another shape.

    Source: reverse accumulation; A. Griewank and A. Walther, Evaluating Derivatives, SIAM 2008, chapter 3.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     x = mpc.input([[1.0, 2.0], [3.0, -1.0]], owner=0)
        ...     w = mpc.input([0.5, -0.5], owner=1)
        ...     errors = x @ w - [1.0, 0.0]
        ...     [slope] = qr.learn.gradient((errors * errors).mean(), [w])
        ...     print(slope.reveal())
        [ 4.5 -5. ]
    """
    wanted = list(parameters)
    _check(loss, wanted, along)
    session = loss._session
    seed = Factored(np.ones(loss.shape, np.int64) if along is None else along)
    nodes = [array._node for array in wanted]
    raw, is_whole = session._native.ancestors([loss._node], [node for node in nodes if node != loss._node])
    if not is_whole and any(node != loss._node for node in nodes):
        raise ConfigError(
            at(
                "gradient: the session has forgotten steps of the loss, run long ago: compute it again, from a new "
                "array of each parameter, w = w + 0"
            )
        )
    program = _Program([Step.of(one) for one in raw], nodes)
    found = program.backwards(session, loss._node, seed)
    program.say_what_is_lost(session)
    for place, node in enumerate(nodes):
        if node not in found:
            raise ConfigError(at(f"gradient: the loss does not depend on parameter {place}, or by comparisons only"))
    whole = [found[node].whole(program.digits) for node in nodes]
    return [_apart(_as(gradient, array), loss) for gradient, array in zip(whole, wanted, strict=True)]


def _check(loss: Any, parameters: list[Any], along: Any) -> None:
    given = [loss, *parameters, *([] if along is None else [along])]
    for array in given:
        if not isinstance(array, SecretArray):
            raise DtypeError(at(f"gradient takes secret arrays, not {type(array).__name__}"))
        if array._session is not loss._session:
            raise ConfigError(at("gradient: the arrays belong to different sessions"))
        if array.dtype.kind != "fixed":
            raise DtypeError(at(f"gradient takes fixed point, not {array.dtype}: convert with astype"))
    if along is None and loss.size != 1:
        raise ShapeError(at(f"gradient: the loss has shape {loss.shape}: sum it up, or state along="))
    if along is not None and along.shape != loss.shape:
        raise ShapeError(at(f"gradient: along= has shape {along.shape}, and the loss {loss.shape}"))


def _as(found: Any, parameter: SecretArray) -> SecretArray:
    """Converts a gradient to the parameter's dtype; reals without a stated dtype keep the bits that they need."""
    if not isinstance(found, SecretArray):  # the gradient is public
        return parameter._session.constant(np.broadcast_to(found, parameter.shape).astype(float), parameter.dtype)
    if parameter.dtype.grows and found.dtype.kind == "fixed":
        return found
    return found.astype(parameter.dtype)


def _apart(gradient: SecretArray, loss: SecretArray) -> SecretArray:
    """Returns a gradient that is a step of the loss as an array of its own: the user may have released that step."""
    if gradient._node > loss._node:
        return gradient
    return gradient.reshape((1, *gradient.shape)).reshape(gradient.shape)


class _Program:
    """The steps from parameters to a loss, in which gradients are propagated backwards."""

    def __init__(self, steps: list[Step], parameters: list[int]) -> None:
        self._steps = {step.node: step for step in steps}
        self._parameters = set(parameters)
        self._oldest = min(parameters)
        self._stuck: set[int] = set()
        self._lost: Step | None = None
        self._unknown: Step | None = None
        self._carries: set[int] = set(parameters)
        for step in steps:
            self._place(step)

    @property
    def digits(self) -> int:
        """The bits by which gradients of single records may be smaller than those of all: log2 of the largest step."""
        sizes = (
            int(np.prod(step.shape, dtype=np.int64)) for step in self._steps.values() if step.node in self._carries
        )
        return ceil_log2(float(max(sizes, default=1)))

    def _place(self, step: Step) -> None:
        """Records whether a step's result depends on parameters, and whether the step has no derivative."""
        if step.node in self._parameters or step.dtype.kind == "bit" or step.op in PIECEWISE:
            return
        if not any(node in self._carries for node in step.inputs):
            return
        self._carries.add(step.node)
        if step.op not in RULES or (step.dtype.kind != "fixed" and not self._is_exact(step)):
            self._stuck.add(step.node)

    def _is_exact(self, step: Step) -> bool:
        """Whether whole numbers are fixed point times 2^f, or computed from such numbers without a rounding."""
        carried = [node for node in step.inputs if node in self._carries]
        kinds = {self._steps[node].dtype.kind for node in carried if node in self._steps}
        if step.op == "floor_div":
            return kinds == {"fixed"} and step.divisors is not None and bool((step.divisors == 1).all())
        are_whole = kinds <= {"int"} and not self._parameters.intersection(carried)
        return step.op in EXACT and are_whole

    def backwards(self, session: Any, loss: int, seed: Factored) -> dict[int, Factored]:
        """Returns the gradients by parameters, by propagation through the steps from last to first."""
        found = {loss: seed} if loss in self._carries else {}
        for node in sorted(self._steps, reverse=True):  # operands have smaller numbers
            if node in self._parameters or node not in found:
                continue
            step, g = self._steps[node], found.pop(node)
            if node in self._stuck:
                names = ", ".join(sorted(RULES))
                raise DtypeError(at(f"gradient: {step.what} has no derivative here; these operations have: {names}"))
            rule = RULES[step.op]
            if chain := self._log_softmax(step):
                # Elements are moved before the logarithm; slopes of their logarithms are moved back alike.
                for move in chain[:-1]:
                    g = next(one for one in self._given(session, move, g, RULES[move.op]) if one is not None)
                step, rule = chain[-1], log_softmax
            for operand, gradient in zip(step.inputs, self._given(session, step, g, rule), strict=True):
                if gradient is not None:
                    found[operand] = found[operand].plus(gradient) if operand in found else gradient
        return found

    def _log_softmax(self, step: Step) -> list[Step]:
        """Returns the steps from a logarithm back to a softmax, if only moves of elements are between them; else []."""
        chain: list[Step] = []
        while step.op == "log" if not chain else step.op in _MOVES:
            node = step.inputs[0]
            if node not in self._carries or node in self._parameters:
                return []
            step = self._steps[node]
            chain.append(step)
        return chain if chain and step.op == "softmax" else []

    def _given(self, session: Any, step: Step, g: Factored, rule: Rule) -> Given:
        """Applies a rule to a step, with the largest number of digits for which room is proven."""
        operands = self._operands(session, step)
        if self._unknown is None and self._divides_by_anything(session, step):
            self._unknown = step
        lost_before = False
        for spare, lost in _attempts(g):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always", RangeWarning)
                try:
                    given = rule(Made(session, step, spare=spare, **operands), g.down(lost) if lost else g)
                except (RangeError, DtypeError):
                    lost_before = True
                    continue
            usual = lost == 0 and all(one is None or one.lifted <= 0 for one in [g, *given])
            if usual or all(one is None or one.is_known for one in given):
                _say(said)
                if lost_before and not self._leaves_enough(g, lost):
                    self._lost = self._lost or step
                return given
            lost_before = True
        self._lost = self._lost or step
        return rule(Made(session, step, spare=0, **operands), g.down(g.lifted) if g.lifted > 0 else g)

    def _leaves_enough(self, g: Factored, lost: int) -> bool:
        """Whether slopes of single records, 1/n of 1/n, have enough digits after some bits of them are lost."""
        if lost == 0 or g.is_public:
            return False
        return min(g.array.dtype.frac, _USUAL_FRAC) + g.lifted - lost >= 2 * self.digits + _ENOUGH_BITS

    def _divides_by_anything(self, session: Any, step: Step) -> bool:
        """Whether slopes are divided by secrets without a proven range, in a dtype that keeps few of their digits."""
        made = self._steps.get(step.inputs[-1])
        if step.op not in _DIVIDING or (made is not None and made.units is not None):
            return False
        by = of_node(session, step.inputs[-1])
        return most_of(by) is None and not by.dtype.grows and by.dtype.frac < _FINE_FRAC

    def say_what_is_lost(self, session: Any) -> None:
        """Warns of the first step whose slopes lose digits for lack of room, or may lose them."""
        lost = self._lost or self._unknown
        if lost is None:
            return
        verb = "lose"
        if self._lost is None:
            verb = "may lose"
            what = f"nothing says how large what is divided by may be, and {lost.dtype} has few fractional bits"
            instead = "leave dtype= of the inputs out, so that results grow, or state one with 32, qr.fixed(96, 32)"
        elif of_node(session, lost.node).dtype.grows and lost.op in _MULTIPLYING:
            what = "nothing proves how large what slopes are multiplied by may be"
            instead = "state bound= of the inputs, or clip what is multiplied to what it can be, x.clip(low, high)"
        elif of_node(session, lost.node).dtype.grows:
            what = "nothing proves how small or how large what is divided by may be"
            instead = "clip divisors and the arguments of logarithms and roots to what they can be, x.clip(low, high)"
        else:
            what = f"{lost.dtype} has no room for more"
            instead = "leave dtype= of the inputs out, so that results grow"
        file, line = _source.line()
        text = at(f"gradient: slopes of {lost.what} {verb} digits, since {what}: {instead}")
        warnings.warn_explicit(text, RangeWarning, file, line)

    def _operands(self, session: Any, step: Step) -> dict[str, Any]:
        """Returns the attributes of `Made` that describe the operands."""
        constants: list[np.ndarray | None] = []
        shapes: list[tuple[int, ...]] = []
        sources: list[int | None] = []
        before: list[Step | None] = []
        for node in step.inputs:
            made = self._steps.get(node)
            if made is None:  # the operand is a parameter
                shapes.append(tuple(session._native.shape(node)))
            else:
                shapes.append(made.shape)
            units = None if made is None else made.units
            constants.append(None if made is None or units is None else units.astype(float) / 2.0**made.dtype.frac)
            by = self._made_by(node)
            repeats = by is not None and by.op == "broadcast"
            sources.append(by.inputs[0] if by is not None and repeats else None)
            before.append(self._made_by(sources[-1] if repeats else node))
        wanted = [node in self._carries for node in step.inputs]
        reals = [self._reals_of(node) for node in step.inputs]
        found = {"constants": constants, "shapes": shapes, "wanted": wanted, "sources": sources, "before": before}
        return {**found, "reals": reals}

    def _reals_of(self, node: int) -> int | None:
        """Returns the fixed point that whole numbers are, times 2^f; None for other numbers."""
        step = self._steps.get(node)
        while step is not None and step.dtype.kind == "int" and node not in self._stuck:
            if step.op == "floor_div":
                return step.inputs[0] if node in self._carries else None
            if step.op not in ("astype", "to", "assert_within", "behind"):
                return None
            node = step.inputs[0]
            step = self._steps.get(node)
        return None

    def _made_by(self, node: int | None) -> Step | None:
        # What older arrays than all parameters were made of may be gone.
        if node is None or node in self._parameters or node < self._oldest:
            return None
        return self._steps.get(node)


# Steps with which logarithms commute.
_MOVES = ("gather", "reshape", "broadcast")

# Steps whose slopes are divided by their last operand, or by its root.
_DIVIDING = ("divide", "reciprocal", "rsqrt", "sqrt", "log")

# Steps whose slopes are multiplied by an operand.
_MULTIPLYING = ("mul", "matmul", "conv")

# The fractional bits that slopes keep in any product.
_USUAL_FRAC = 16

# The bits that slopes of single records have at least where nothing is said of lost digits.
_ENOUGH_BITS = 8

# With this number of fractional bits, slopes divided by up to a million keep twelve bits.
_FINE_FRAC = 32

# Attempts to keep digits: the bits by which a rule may scale slopes up, if there is room.
_SPARE = (64, 24, 8, 0)


def _attempts(g: Factored) -> Iterator[tuple[int, int]]:
    """Yields the attempts in order: bits by which slopes may be scaled up, and bits dropped from them before."""
    yield from ((spare, 0) for spare in _SPARE)
    yield from ((0, lost) for lost in range(4, g.lifted, 4))


def _say(warned: list[warnings.WarningMessage]) -> None:
    for one in warned:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
