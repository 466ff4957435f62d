"""Programs whose messages are followed literally, how they run, and the comparison of their results."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

import quorate as qr
from advice.messages import HOLE, Message, messages


class Case(NamedTuple):
    """A program with a fault, and the program that its message advises.

    Statements stand between semicolons. The last one is an expression, whose value is revealed and compared. Beside
    `qr`, `np` and a session `mpc` there are `given(values, ...)`, an input of party 0, and a folder `tmp`.
    """

    of: str
    """A part of the message as its source has it, with {} for parts that are filled in, or several separated by |:
    these messages are followed."""
    program: str
    followed: str
    """With {0}, {1} for the groups of `says`."""
    right: Any
    """The expected value; `...` if it only has to run without a warning."""
    says: str = ""
    """A pattern of the message; its groups are filled in."""
    before: str = ""
    """Statements before those of both programs."""
    options: str = ""
    """Options of the session, as in `protocol="spdz2k", mac=48`; those after a | are for the program that follows the
    advice."""
    near: float = 2**-15
    """The error that real results may have."""
    dearer: str = ""
    """The reason why the followed program may send more than the one that warned."""


def parts(of: str) -> list[str]:
    """Returns the parts of messages that a case names."""
    return [part.replace("{}", HOLE) for part in of.split(" | ")]


def followed(part: str) -> list[Message]:
    """Returns the messages that have this part."""
    return [message for message in messages() if part in message.text]


@contextlib.contextmanager
def session(options: str) -> Iterator[qr.Session]:
    how = eval(f"dict({options})")
    with qr.local(how.pop("protocol", "rss"), **how) as mpc:
        yield mpc


class Ran(NamedTuple):
    value: Any
    cost: tuple[int, int] | None
    """Rounds and bytes of the online phase, of one secret array."""


def run(case: Case, program: str, options: str, folder: Path) -> Ran:
    """Runs a program in a session of its own."""
    statements = "; ".join(filter(None, [case.before, program])).split("; ")
    with session(options) as mpc:
        names = {
            "qr": qr,
            "np": np,
            "mpc": mpc,
            "tmp": folder,
            "given": lambda values, **how: mpc.input(values, owner=0, **how),
        }
        exec("\n".join(statements[:-1]), names)
        made = eval(statements[-1], names)
        if not isinstance(made, qr.SecretArray):
            return Ran(made, None)
        value, online = made.reveal(), made._session.stats().online
        return Ran(value, (online.rounds, sum(sent or 0 for sent in online.bytes_sent)))


def said(case: Case, folder: Path) -> tuple[list[str], Ran | None]:
    """Returns the message of the program with the fault, and its value if it only warns."""
    error, ran = None, None
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            ran = run(case, case.program, case.options.partition("|")[0], folder)
        except Exception as raised:
            error = raised
    return [*([str(error)] if error else []), *(str(warning.message) for warning in warned)], ran


def check(case: Case, folder: Path) -> None:
    """Follows the message literally: the result is right, without a warning, and costs no more than before."""
    texts, before = said(case, folder)
    for part in parts(case.of):
        assert followed(part), f"no message has {part!r}"
        assert any(message.pattern.search(text) for message in followed(part) for text in texts), (part, texts)
    found = next((match for text in texts if (match := re.search(case.says, text))), None)
    assert found, texts
    options = case.options.rpartition("|")[2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", PendingDeprecationWarning)  # numpy's warning about matrices
        ran = run(case, case.followed.format(*found.groups()), options, folder)
    compare(ran.value, case)
    if before is not None and before.cost and ran.cost and not case.dearer:
        assert ran.cost <= before.cost, f"{ran.cost} rounds and bytes, before the advice {before.cost}"


def compare(result: Any, case: Case) -> None:
    right = case.right
    if right is ...:
        return
    if isinstance(right, (str, type, bool)) or right is None:
        assert result == right
        return
    assert np.shape(result) == np.shape(right)
    np.testing.assert_allclose(np.array(result, float), np.array(right, float), rtol=1e-6, atol=case.near)
    if not isinstance(np.ravel(right)[0], (float, np.floating)):
        assert np.array_equal(np.array(result, object), np.array(right, object))


# ---- messages that take more than a program ------------------------------------------------------------------------

Test = TypeVar("Test", bound=Callable[..., Any])

#: Parts of messages that have tests of their own, and these tests' names.
FOLLOWED: dict[str, str] = {}


def follows(*of: str) -> Callable[[Test], Test]:
    """Marks a test that follows the messages with these parts."""

    def note(test: Test) -> Test:
        FOLLOWED.update(dict.fromkeys((part.replace("{}", HOLE) for part in of), test.__name__))
        return test

    return note
