"""Bodies of requests: their length is checked before the first byte is read, and slow ones are given up.

Memory is counted as bytes arrive, so a length that is only stated takes none of it from others.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
from collections.abc import Collection, Iterator

from starlette.requests import ClientDisconnect, Request

from quorate.campaigns import Refused

__all__ = ["Memory", "length_of", "length_up_to", "read"]

#: A body may pause this long in all; besides, it arrives at this rate at least.
_PATIENCE_S, _BYTES_PER_S = 15.0, 50_000

#: One address holds at most this part of the memory, or one body.
_SHARE = 4


class Memory:
    """Counts the bytes of bodies that are held at the same time.

    Args:
        most: the most bytes; a single larger body is taken while no other is held.
    """

    def __init__(self, most: int) -> None:
        self._most, self._held = most, 0
        self._of: dict[str, list[Held]] = collections.defaultdict(list)

    @contextlib.contextmanager
    def held(self, address: str) -> Iterator[Held]:
        """Holds the bytes of one body of an address within a block."""
        one = Held(self, address)
        self._of[address].append(one)
        try:
            yield one
        finally:
            self._held -= one.bytes
            self._of[address].remove(one)
            if not self._of[address]:
                del self._of[address]

    def take(self, one: Held, more: int) -> None:
        """Counts more bytes of a body.

        Raises:
            Refused: too many bytes are held now; the sender may try again.
        """
        of_address = self._of[one.address]
        is_over_share = one is not of_address[0] and sum(o.bytes for o in of_address) + more > self._most // _SHARE
        if is_over_share or (self._held > one.bytes and self._held + more > self._most):
            raise Refused(503, "this server reads too many requests now", "send it again later", retry_after=2)
        one.bytes += more
        self._held += more


class Held:
    """The bytes of a body that have arrived.

    Attributes:
        address: who sends it.
        bytes: how many there are.
    """

    def __init__(self, memory: Memory, address: str) -> None:
        self.address, self.bytes = address, 0
        self._memory = memory

    def take(self, more: int) -> None:
        """Counts more bytes, as `Memory.take`."""
        self._memory.take(self, more)


def length_of(request: Request, lengths: Collection[int]) -> int:
    """Returns the stated length of a body.

    Raises:
        Refused: no length is stated, or it is not among `lengths`.
    """
    length = _stated(request)
    if length not in lengths:
        status = 413 if length > max(lengths) else 400
        listed = ", ".join(str(one) for one in sorted(lengths)[:8])
        raise Refused(status, f"no packet of this campaign has {length} bytes here", f"there are packets of {listed}")
    return length


def length_up_to(request: Request, most: int) -> int:
    """Returns the stated length of a body of at most `most` bytes.

    Raises:
        Refused: no length is stated, or a larger one.
    """
    length = _stated(request)
    if length > most:
        raise Refused(413, f"a request has at most {most} bytes here, and not {length}", "send a shorter one")
    return length


def _stated(request: Request) -> int:
    text = request.headers.get("content-length", "")
    if not text.isascii() or not text.isdigit():
        raise Refused(411, "the request does not state the length of its body", "send Content-Length")
    return int(text[:20])


async def read(request: Request, length: int, held: Held) -> bytearray:
    """Reads a body of a known length, and counts its bytes as they arrive.

    Raises:
        Refused: it arrives too slowly, has another length, or finds too many bytes of others.
    """
    body = bytearray()
    pieces, clock = request.stream(), asyncio.get_running_loop().time
    begun = clock()
    while len(body) <= length:
        left = begun + _PATIENCE_S + len(body) / _BYTES_PER_S - clock()
        try:
            piece = await asyncio.wait_for(anext(pieces), max(left, 0.0))
        except StopAsyncIteration:
            break
        except (asyncio.TimeoutError, ClientDisconnect):
            raise Refused(408, "the request did not arrive in time", "send it again over a better connection") from None
        held.take(len(piece))
        body.extend(piece)
    if len(body) != length:
        raise Refused(400, f"the body does not have the {length} bytes that it states", "send the whole request")
    return body
