"""Bodies of requests: their length is checked before the first byte is read, and slow ones are given up."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection

from starlette.requests import ClientDisconnect, Request

from quorate.campaigns import Refused

__all__ = ["Memory", "read"]

#: A body takes at most this long, and its length divided by the slowest rate.
_PATIENCE_S, _BYTES_PER_S = 15.0, 50_000


class Memory:
    """Counts the bytes of bodies that are held at the same time.

    Args:
        most: the most bytes; a single larger body is taken while no other is held.
    """

    def __init__(self, most: int) -> None:
        self._most, self._held = most, 0

    @contextlib.asynccontextmanager
    async def reserved(self, size: int) -> AsyncIterator[None]:
        """Reserves bytes for a body within a block.

        Raises:
            Refused: too many bytes are held now; the sender may try again.
        """
        if self._held and self._held + size > self._most:
            raise Refused(503, "this server reads too many packets now", "send it again later", retry_after=2)
        self._held += size
        try:
            yield
        finally:
            self._held -= size


def length_of(request: Request, lengths: Collection[int]) -> int:
    """Returns the stated length of a body.

    Raises:
        Refused: no length is stated, or it is not among `lengths`.
    """
    text = request.headers.get("content-length", "")
    if not text.isascii() or not text.isdigit():
        raise Refused(411, "the request does not state the length of its body", "send Content-Length")
    length = int(text[:20])
    if length not in lengths:
        status = 413 if length > max(lengths) else 400
        listed = ", ".join(str(one) for one in sorted(lengths)[:8])
        raise Refused(status, f"no packet of this campaign has {length} bytes here", f"there are packets of {listed}")
    return length


async def read(request: Request, length: int) -> bytearray:
    """Reads a body of a known length.

    Raises:
        Refused: it is not complete in time, or has another length.
    """
    body = bytearray()
    late = Refused(408, "the packet did not arrive in time", "send it again over a better connection")

    async def whole() -> None:
        async for piece in request.stream():
            body.extend(piece)
            if len(body) > length:
                break

    try:
        await asyncio.wait_for(whole(), _PATIENCE_S + length / _BYTES_PER_S)
    except asyncio.TimeoutError:
        raise late from None
    except ClientDisconnect:
        raise late from None
    if len(body) != length:
        raise Refused(400, f"the body does not have the {length} bytes that it states", "send it again")
    return body
