"""What all servers agree on after the closing: pure functions of what each of them tells the others.

A record says which packets a server has in a slot: `np.int32[rows, 2, 12]`, two candidates each. A candidate is the
packet's number (low word, high word), the SHA-256 of its header (8 little-endian words), its kind (0: values, 1:
withdrawn) and the number of clients that it demands. A candidate that does not exist is 0: numbers count from 1. Each
place, which is that of a client, has `per_client` rows: `row = place * per_client + item`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from quorate.campaigns._errors import Refused, Spent

__all__ = [
    "CANDIDATES",
    "WORDS",
    "History",
    "agreed",
    "hash_of_list",
    "looks_before",
    "newest",
    "numbers",
    "present",
    "settled",
]

#: Packets of a row that a server keeps, and words of each in a record.
CANDIDATES, WORDS = 2, 12

#: The words of a candidate.
NUMBER, DIGEST, KIND, AT_LEAST = slice(0, 2), slice(2, 10), 10, 11

#: More clients than any packet demands.
_NEVER = np.int64(1) << np.int64(32)

_LIST = b"quorate/server/list/1\0"
_ENTRY = np.dtype([("number", "<u8"), ("kind", "u1"), ("at_least", "<u4"), ("digest", "<i4", (8,))])

Words = npt.NDArray[np.int32]


class History(NamedTuple):
    """What a server has seen of a campaign's results.

    Attributes:
        looks: how often it was about to send its share of a result.
        list_hash: the hash of the list of those runs; empty before the first.
    """

    looks: int
    list_hash: bytes


def agreed(records: Sequence[Words]) -> Words:
    """Returns for each row the packet of the highest number that all servers have with one digest.

    Args:
        records: the record of each server, of shape (rows, 2, 12).

    Returns:
        Words of shape (rows, 12); zeros where no packet is agreed.

    Raises:
        Refused: records of unlike shapes, as of servers with unlike campaigns.
    """
    shapes = {record.shape for record in records}
    if len(shapes) != 1 or any(len(shape) != 3 or shape[1:] != (CANDIDATES, WORDS) for shape in shapes):
        raise Refused(409, "the servers' records have unlike shapes", "compare the hashes of their campaigns")
    first, others = records[0], records[1:]
    is_common: npt.NDArray[np.bool_] = (first != 0).any(axis=2)
    for other in others:
        is_common &= (first[:, :, None] == other[:, None, :]).all(axis=3).any(axis=2)
    candidates = np.where(is_common[:, :, None], first, 0)
    order = numbers(candidates)
    return np.where((order[:, 1] > order[:, 0])[:, None], candidates[:, 1], candidates[:, 0])


def newest(records: Sequence[Words]) -> Words:
    """Returns for each row the packet of the highest number that a server states, if all servers have it.

    A server that may cheat could deny the packet by which a client replaced or withdrew an older one, which all had
    confirmed. So the older one does not count again.

    Args:
        records: the record of each server, of shape (rows, 2, 12).

    Returns:
        Words of shape (rows, 12); zeros where a server lacks the newest packet, or there is none.

    Raises:
        Refused: records of unlike shapes, as of servers with unlike campaigns.
    """
    common = agreed(records)
    highest = numbers(np.concatenate(records, axis=1)).max(axis=1)
    return np.where((numbers(common) == highest)[:, None], common, 0)


def numbers(words: Words) -> npt.NDArray[np.uint64]:
    """Returns the numbers of packets, of the shape of `words` less its last axis; 0 for none."""
    low, high = (words[..., i].astype(np.uint32).astype(np.uint64) for i in (0, 1))
    return low | (high << np.uint64(32))


def _demands(words: Words) -> npt.NDArray[np.uint32]:
    return words[..., AT_LEAST].astype(np.uint32)


def present(words: Words) -> npt.NDArray[np.bool_]:
    """Returns whether rows have values: a packet that is not withdrawn."""
    return (numbers(words) != 0) & (words[..., KIND] == 0)


def clients_of(is_present: npt.NDArray[np.bool_], per_client: int) -> int:
    """Returns the number of distinct clients that are present in a slot."""
    return int(is_present.reshape(-1, per_client).any(axis=1).sum())


def settled(words: Words, per_client: int) -> Words:
    """Returns an agreed list of a slot without the packets that demand more clients than are left.

    A packet that is left out may leave too few clients for others. What is left is the largest list in which each
    demand is met: that of the largest m such that at least m clients have a packet that demands at most m. Withdrawn
    packets neither count nor demand.
    """
    is_present, demands = present(words), _demands(words)
    lowest = np.where(is_present, demands, _NEVER).reshape(-1, per_client).min(axis=1)
    lowest = np.sort(lowest[lowest < _NEVER])
    sizes = np.flatnonzero(lowest <= np.arange(1, len(lowest) + 1)) + 1  # m, where m clients demand at most m
    is_dropped = is_present & (demands > sizes.max(initial=0))
    return np.where(is_dropped[:, None], 0, words)


def hash_of_list(campaign: bytes, lists: Sequence[Words]) -> bytes:
    """Returns the SHA-256 of the lists of all slots, in order."""
    digest = hashlib.sha256(_LIST + campaign)
    for words in lists:
        entries = np.zeros(len(words), _ENTRY)
        entries["number"], entries["kind"] = numbers(words), words[:, KIND]
        entries["at_least"], entries["digest"] = _demands(words), words[:, DIGEST]
        digest.update(entries.tobytes())
    return digest.digest()


def looks_before(histories: Sequence[History], again: int, list_hash: bytes) -> int:
    """Returns how many looks at results there were: the largest number that a server tells.

    Args:
        histories: what each server has seen.
        again: how many looks after the first the campaign allows.
        list_hash: the hash of the list of this run.

    Raises:
        Spent: the campaign's packets may not be computed on any more.
    """
    advice = "make a new campaign, and ask the clients again"
    for server, history in enumerate(histories):
        if history.looks > again:
            used = f"{history.looks} of {again + 1} looks {'is' if history.looks == 1 else 'are'} used"
            raise Spent(f"the packets are spent: {used}, as server {server} says", advice)
        if history.looks and history.list_hash != list_hash:
            raise Spent(f"the packets are spent: server {server} has seen a result of another list of packets", advice)
    return max((history.looks for history in histories), default=0)
