"""Requests for values for which the program does not wait."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from quorate import _quorate, _source
from quorate._source import at

if TYPE_CHECKING:
    from asyncio import Future

    from quorate.array import SecretArray
    from quorate.session import Session

__all__ = ["Asking", "Request"]

Value = TypeVar("Value")


class Request(Generic[Value]):
    """Values that were asked for, by `Session.run_async` or `SecretArray.reveal_async`, and that may be on their way.

    `await` it in a coroutine, in any loop of asyncio, or call `result()`. Both give the values, or raise the error with
    which the run ended. Several tasks and threads may wait for one request.

    If a task that awaits it is cancelled, so is the request. A request that is dropped before it has ended is
    interrupted, too, with a `RuntimeWarning`: keep it until you have its values. A request that has ended keeps its
    result after the session is closed.
    """

    def __init__(
        self, native: _quorate.Request | None, take: Callable[[list[Any]], Value], session: Session | None = None
    ) -> None:
        # The native request, until its values were taken over.
        self._native = native
        self._take = take
        self._session = session  # lives as long as its requests
        self._line = _source.line()
        self._is_heard = False

    @classmethod
    def _ended(cls, value: Value) -> Request[Value]:
        """Returns a request that has ended with this value."""
        made = cls(None, lambda _: value)
        made._value = value
        return made

    def __repr__(self) -> str:
        file, line = self._line
        return f"<quorate request of {file}:{line}, {'ended' if self.done() else 'under way'}>"

    def done(self) -> bool:
        """Returns whether the run has ended, well or badly."""
        return self._native is None or self._native.done()

    def cancel(self) -> bool:
        """Interrupts the run at all parties, and returns whether it was under way.

        `result` then raises `RunAborted`; if the run was about to end, it may still have values. Other requests go on.
        Where parties may cheat (`spdz2k`, malicious `pika`), a run that is interrupted ends the session.
        """
        self._is_heard = True
        return self._native is not None and self._native.cancel()

    def result(self, timeout: float | None = None) -> Value:
        """Waits for the end of the run, and returns its values.

        Args:
            timeout: the most seconds to wait; None for no limit.

        Raises:
            TimeoutError: the run has not ended in this time. It goes on.
            SessionClosed: the session was closed before the run ended.
            RunAborted: the request was cancelled.
            ConfigError: it has not ended, and this is a coroutine with a request of a deployment's branch.
            RangeError, ProgramMismatch, PeerLost, PeerTimeout: as for `SecretArray.reveal`.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([3, -5], owner=0)
            ...     asked = (x * x).reveal_async()
            ...     print((x + 1).reveal(), asked.result())
            [ 4 -4] [ 9 25]
        """
        native = self._native
        if native is not None:
            if self._session is not None and (timeout is None or timeout > 0) and not native.done():
                self._session._check_wait()
            if not native.wait(timeout):
                raise TimeoutError(at(f"result: the run has not ended within {timeout} s; it goes on"))
            self._is_heard = True
            self._value = self._take(native.values())
            self._native = self._session = None
            self._take = _taken  # it holds the arrays
        return self._value

    def __await__(self) -> Generator[Any, None, Value]:
        native = self._native
        if native is not None and not native.done():
            import asyncio

            loop = asyncio.get_running_loop()
            ended = loop.create_future()
            if native.then(lambda: loop.call_soon_threadsafe(_end, ended)):
                try:
                    yield from ended
                except asyncio.CancelledError:
                    self._is_heard = True
                    native.cancel()
                    raise
        return self.result()

    def __del__(self) -> None:
        native = getattr(self, "_native", None)
        if native is None or self._is_heard or sys.is_finalizing():
            return
        if not native.done():
            text = "a request was dropped before its run had ended, so the run is interrupted"
        elif (fault := native.fault()) is not None:
            text = f"a request failed, and nothing has asked for its values: {fault}"
        else:
            return
        warnings.warn_explicit(text, RuntimeWarning, *self._line)


def _taken(_: list[Any]) -> Any:
    raise AssertionError("the values were taken over before")


def _end(future: Future[None]) -> None:
    if not future.done():  # its task may have been cancelled
        future.set_result(None)


class Asking:
    """The methods of `Session` that ask for values and do not wait for them."""

    # Whether values are there at once: in sessions in which nothing is sent.
    _answers_at_once = False

    def run_async(
        self, *arrays: SecretArray, to: int | Sequence[int] | None = None, units: bool = False
    ) -> Request[list[Any]]:
        """Opens several arrays in one run, as `reveal_all` does, and does not wait for the run.

        It returns as soon as the request is in line. Values are checked before, and `RangeError` is raised here.
        Requests are served in the order in which they are made; small ones are served beside a large one. The program
        may build and ask on meanwhile.

        In a deployment it returns when the run has ended, and so does `reveal_async`: all parties must make the same
        requests in the same order, and coroutines that go on when values come would go on in another order at another
        party. In a branch of a deployment's session (`Session.branch`) it returns at once; until the run has ended, the
        branch builds nothing and takes no other request (`SessionBusy`). With `shadow=True` it waits, too.

        Args:
            arrays: the arrays to open.
            to: as in `reveal_all`.
            units: as in `reveal_all`.

        Returns:
            A `Request`, to await; its value is that of `reveal_all`.

        Raises:
            RangeError, ProgramMismatch, PeerLost, PeerTimeout, SessionBusy: as for `SecretArray.reveal`.

        Example:
            >>> import asyncio, quorate as qr
            >>> async def scores(mpc, given):
            ...     x = mpc.input(given, owner=0)
            ...     high, total = await mpc.run_async(x.max(), x.sum())
            ...     return int(high), int(total)
            >>> async def main():
            ...     with qr.local("rss") as mpc:
            ...         print(await asyncio.gather(scores(mpc, [1, 2]), scores(mpc, [3, 4])))
            >>> asyncio.run(main())
            [(2, 3), (4, 7)]
        """
        return self._asked(arrays, to, units, "run_async", list)

    def _asked(
        self,
        arrays: Sequence[SecretArray],
        to: int | Sequence[int] | None,
        units: bool,
        what: str,
        take: Callable[[list[Any]], Value],
    ) -> Request[Value]:
        """Asks for the values of these arrays, for the method `what`; `take` makes its value of them."""
        session = cast("Session", self)
        waits = not session.is_local and session._trunk is None
        if self._answers_at_once or session._shadow is not None or waits:
            return Request._ended(take(session.reveal_all(*arrays, to=to, units=units)))
        native = session._native.submit(session._targets(arrays, to, what), units)
        return Request(native, lambda values: take(session._opened(values, arrays)), session)
