"""What a test meets: texts of Quorate's exceptions and warnings, and of what processes and commands print."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import deploying
import peering
import serving
import warm
from advice.case import followed
from advice.messages import HOLE
from quorate import errors

#: What returns what was printed, or answered by a server.
_PRINTING = (
    (subprocess.Popen, "communicate"),
    (warm.Command, "communicate"),
    (deploying.Party, "end"),
    (pytest.CaptureFixture, "readouterr"),
    (serving.Served, "send"),
    (peering.Ring, "seen"),
)


@contextlib.contextmanager
def heard() -> Iterator[set[str]]:
    """The texts, which come to it while the block runs, in every thread of this process."""
    texts: set[str] = set()

    expected = type(pytest.raises(Exception))
    with contextlib.ExitStack() as stack:
        _replace(stack, expected, "__exit__", _caught(expected.__exit__, texts))
        for owner, name in _PRINTING:
            _replace(stack, owner, name, _printed(getattr(owner, name), texts))
        for category in vars(errors).values():
            if category is errors.QuorateError or (isinstance(category, type) and issubclass(category, Warning)):
                _replace(stack, category, "__init__", _made(category.__init__, texts))
        yield texts


def _printed(real: Callable[..., Any], texts: set[str]) -> Callable[..., Any]:
    def noted(*args: Any, **how: Any) -> Any:
        result = real(*args, **how)
        for text in result:
            if isinstance(text, (str, bytes)):
                texts.add(text if isinstance(text, str) else text.decode(errors="replace"))
        return result

    return noted


def _made(real: Callable[..., None], texts: set[str]) -> Callable[..., None]:
    def noted(self: BaseException, *args: object) -> None:
        texts.update(map(str, args))
        real(self, *args)

    return noted


def _caught(real: Callable[..., Any], texts: set[str]) -> Callable[..., Any]:
    """Exceptions of other classes, as far as a test expects them."""

    def noted(self: object, kind: object, error: BaseException | None, trace: object) -> Any:
        texts.add(str(error))
        return real(self, kind, error, trace)

    return noted


def _replace(stack: contextlib.ExitStack, owner: type, name: str, by: Callable[..., Any]) -> None:
    own = name in vars(owner)
    before = getattr(owner, name)
    setattr(owner, name, by)
    stack.callback(lambda: setattr(owner, name, before) if own else delattr(owner, name))


def unheard(wanted: list[str], texts: set[str]) -> list[str]:
    """Those of the parts whose messages are in none of the texts."""

    def is_heard(part: str) -> bool:
        messages = followed(part.replace("{}", HOLE))
        return any(message.pattern.search(text) for message in messages for text in texts)

    return [part for part in wanted if not is_heard(part)]
