"""Branches of sessions: sessions that go on from the values of another one, with their own order of requests."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from quorate import _quorate
from quorate._session import _signals
from quorate._source import at
from quorate.errors import ConfigError, SessionClosed

if TYPE_CHECKING:
    from quorate.session import Session

__all__ = ["Branching", "Left"]

Thing = TypeVar("Thing")


class Branching:
    """The methods of `Session` for branches."""

    # The session from which this one branched and, if it is local, what it had then.
    _trunk: Session | None = None
    _moment: _quorate.Moment | None = None

    def branch(self, name: str) -> Session:
        """Opens a branch of this session: a session beside it that goes on from its values.

        In a deployment all parties must make the same requests of a session in the same order, one after the other. A
        branch has an order of its own, so several threads or coroutines, with a branch each, have requests under way at
        the same time. All parties make the same branches in the same order; a service makes some at its start, and
        gives one to each request that comes in.

        A branch has the values of this session at this moment (`adopt`), and its inputs. What it computes stays in it
        until it is revealed. It has an approval, statistics and, in a deployment, links of its own: opening it takes a
        handshake of this session, then new connections. Where several processes take part, `run_async` of a branch
        returns at once, and calls that wait for values raise `ConfigError` in a coroutine. An interrupt of a request,
        here or at another party, ends the branch, and no other one.

        Close a branch as a session, in a `with`; in a coroutine that stops a request that was not awaited. A branch of
        a deployment may outlive its session. That of a local session is the same session under another name, ends with
        it, and overlaps requests as the session does.

        A session of a deployment may have 1,023 branches in all, and a branch 1,048,576 requests. Each party computes
        the requests of a branch on one thread, unless `threads=` names another number.

        Args:
            name: as that of a session, 1 to 64 bytes. All parties give the same.

        Raises:
            ConfigError: `spdz2k` and malicious `pika`, where one run at a time is checked; a session with `max_memory`;
                a branch of a branch; another name; or this party cannot connect.
            ProgramMismatch: another party asked for something else.
            PeerTimeout: a party did not connect in time.
            SessionBusy, SessionClosed: as for `SecretArray.reveal`.

        Example:
            >>> import asyncio, quorate as qr
            >>> async def score(own, weights, numbers):
            ...     x = own.input(numbers, owner=1)
            ...     return int(await (own.adopt(weights) * x).sum().reveal_async())
            >>> async def main():
            ...     with qr.local("rss") as mpc:
            ...         weights = mpc.input([2, 3], owner=0)
            ...         with mpc.branch("worker 1") as one, mpc.branch("worker 2") as two:
            ...             print(await asyncio.gather(score(one, weights, [1, 1]), score(two, weights, [5, 0])))
            >>> asyncio.run(main())
            [5, 10]
        """
        session = cast("Session", self)
        if not isinstance(name, str):
            raise ConfigError(at(f"branch: the name must be a text, not {name!r}"))
        native = session._native
        native.check_branch(name, self._trunk is not None)
        watches = None if session.is_local else _signals.watch()
        try:
            made = session._beside(native if session.is_local else native.branch(name), name)
        except BaseException:
            if watches is not None:
                _signals.unwatch(watches)
            raise
        made._watches = watches
        return made

    def _beside(self, native: _quorate.Session, name: str) -> Session:
        """Returns a branch of this session; `native` is this session's own in a local session."""
        session = cast("Session", self)
        made = type(session)(native, session._network, session._options)
        self._share_with(made)
        return made

    def _share_with(self, made: Session) -> None:
        """Gives a branch what it has in common with this session."""
        session = cast("Session", self)
        made._trunk, made._settings, made._shadow = session, session._settings, session._shadow
        made._config = session._config
        made._moment = session._native.moment() if session.is_local else None
        made._object_cache.follow(session._object_cache, made.adopt)

    def adopt(self, thing: Thing) -> Thing:
        """Returns an array of the session from which this one branched as an array of this one. Local.

        Args:
            thing: an array, a frame, a fitted estimator of `qr.learn`, or a list, tuple or dictionary of such things.
                Models and networks need no `adopt`: parameters that were shared before are found.

        Raises:
            ConfigError: an array of another session, or one that had no value when the branch was made and is no input.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([3, -5], owner=0)
            ...     with mpc.branch("worker 1") as own:
            ...         print((own.adopt(x) * 2).reveal())
            [  6 -10]
        """
        return cast("Thing", self._adopted(thing))

    def _adopted(self, thing: Any) -> Any:
        from quorate.array import SecretArray

        session = cast("Session", self)
        if isinstance(thing, SecretArray):
            if thing._session is session:
                return thing
            if self._trunk is None or thing._session is not self._trunk:
                raise ConfigError(at("adopt: the array is not of the session from which this one branched"))
            return SecretArray(session, self._adopt(thing._node))
        if isinstance(thing, (list, tuple)):
            items = [self._adopted(one) for one in thing]
            return type(thing)(*items) if hasattr(thing, "_fields") else type(thing)(items)
        if isinstance(thing, dict):
            return {key: self._adopted(one) for key, one in thing.items()}
        adopted_by = getattr(type(thing), "_adopted_by", None)
        if adopted_by is None:
            raise ConfigError(at(f"adopt: a {type(thing).__name__} is no array, frame or fitted estimator"))
        return adopted_by(thing, session)

    def _adopt(self, node: int) -> _quorate.Built:
        return cast("Session", self)._native.adopt(node, self._moment)

    def _may_not_wait(self) -> bool:
        """Returns whether this is a branch of a deployment, and the caller a coroutine.

        If it waited for values, other coroutines would wait, too, at one party these and at another party others, and
        all of them for ever.
        """
        asyncio = sys.modules.get("asyncio")
        if self._trunk is None or cast("Session", self).is_local or asyncio is None:
            return False
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return False
        return True

    def _check_wait(self) -> None:
        """Refuses to wait in a coroutine, in a branch of a deployment."""
        if self._may_not_wait():
            raise ConfigError(
                at(
                    "a branch may not wait in a coroutine, where others of this party would wait, too: await what "
                    "reveal_async or run_async returns, or call this in a thread of its own"
                )
            )


class Left:
    """In place of the native session, after a branch of a local session was closed."""

    def close(self, gave_up: bool) -> None:
        """Does nothing."""

    def is_forked(self) -> bool:
        """Returns False: there is nothing to close."""
        return False

    def __getattr__(self, _: str) -> NoReturn:
        raise SessionClosed("this session is closed; open a new one")
