"""Servers and clients that lie when clients' values are entered: wrappers from outside, around the package."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import quorate as qr
import quorate.campaigns as campaigns
from campaigning import Servers
from protocols import Place, among
from quorate.campaigns import Proofs, TaggedParts, shown_bits
from quorate.tables._tagged_entry import TaggedEntry
from quorate_client import tagged, wire
from quorate_client.tagged import Tagging

#: Elements of a packet of these columns: 0 is wide, 1 and 2 are narrow, 3 is a bit, 4 is the mask of a result.
COLUMNS: list[dict[str, Any]] = [
    {"name": "wide", "dtype": "int(64)"},
    {"name": "narrow", "dtype": "uint(8)", "shape": [2]},
    {"name": "flag", "dtype": "bit"},
]
RESULTS = [{"name": "rank", "dtype": "int(32)"}]


def slots(place: Place, **changed: Any) -> list[dict[str, Any]]:
    """Returns a slot of these columns; the wide one has as many bits as the options of the family allow."""
    columns = [dict(column) for column in COLUMNS]
    columns[0]["dtype"] = f"int({32 if dict(place.options).get('mac') == '48' else 64})"
    return [{"name": "people", "per_client": 1, "columns": columns, "results": RESULTS, **changed}]


def values_of(i: int) -> dict[str, Any]:
    return {"wide": 1000 - 77 * i, "narrow": [i % 256, 255 - i % 256], "flag": i % 2 == 0}


@dataclasses.dataclass(frozen=True)
class Lie:
    """What a holder does otherwise at one place.

    Attributes:
        words: what it adds to words that it inputs, by index: elements, then masks of the attempt.
        upper: whether it shows combinations of its true words, but for the low bits, which are those of its inputs;
            otherwise it shows those of what it inputs.
        silent: whether it shows combinations of its true words.
        shown: what it changes of what it shows for the first row of coins, by exclusive or: 0 is the combination, tags
            follow.
        swaps: whether it shows the first row of coins in place of the last one, and that one in place of the first.
        copies: a place whose words and tags it takes instead.
    """

    words: Mapping[int, int] = dataclasses.field(default_factory=dict)
    upper: bool = False
    silent: bool = False
    shown: Mapping[int, int] = dataclasses.field(default_factory=dict)
    swaps: bool = False
    copies: int | None = None


class LyingProofs(Proofs):
    """The proofs of a holder that lies at some places."""

    def __init__(
        self, parts: TaggedParts, me: int, attempts: Sequence[int], lies: Mapping[int, Lie], fit: Mapping[int, bool]
    ) -> None:
        super().__init__(parts, me, attempts)
        self.tagging, self.lies, self.says = parts.tagging, lies, fit

    def words(self) -> npt.NDArray[Any]:
        true = super().words()
        found = true.copy()
        for place, lie in self.lies.items():
            found[place] = true[place if lie.copies is None else lie.copies]
            for i, by in lie.words.items():
                found[place, i] = (int(found[place, i]) + by) % (1 << self.tagging.bits_low)
        return found

    def shown(self, coins: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        true = super().shown(coins)
        found = true.copy()
        for place, lie in self.lies.items():
            found[place] = true[place if lie.copies is None else lie.copies]
            for row in range(self.tagging.rows):
                found[place, row] = self._row(lie, coins, row, found[place, row])
            if lie.swaps:
                found[place] = found[place, ::-1].copy()
        return found

    def _row(self, lie: Lie, coins: npt.NDArray[np.uint64], row: int, words: npt.NDArray[Any]) -> list[int]:
        tagging, each = self.tagging, len(words) // self.tagging.holders
        bits = shown_bits(tagging)
        shown = [sum(int(word) << bits * i for i, word in enumerate(part)) for part in words.reshape(-1, each)]
        moved = shown[0]
        for i, by in lie.words.items():
            moved += by * (int(coins[row, i]) if i < coins.shape[1] else i - coins.shape[1] == row)
        if lie.upper:
            moved = shown[0] - shown[0] % (1 << tagging.bits_low) + moved % (1 << tagging.bits_low)
        if not lie.silent:
            shown[0] = moved % (1 << tagging.bits)
        for i, flips in lie.shown.items() if row == 0 else ():
            shown[i] ^= flips
        return [word >> bits * i & ((1 << bits) - 1) for word in shown for i in range(each)]

    def fit(self, *given: Any) -> npt.NDArray[np.bool_]:
        found = super().fit(*given)
        for place, says in self.says.items():
            found[place] = says
        return found


def lie_at(
    monkeypatch: pytest.MonkeyPatch,
    lies: Mapping[int, Mapping[int, Lie]],
    fit: Mapping[int, Mapping[int, bool]] | None = None,
) -> None:
    """Has holders lie in local sessions: about their words, by holder and place, and about which places fit."""

    def proofs(parts: TaggedParts, me: int, attempts: Sequence[int]) -> Proofs:
        return LyingProofs(parts, me, attempts, lies.get(me, {}), (fit or {}).get(me, {}))

    monkeypatch.setattr(campaigns, "Proofs", proofs)


class LyingState:
    """What a server holds, but for some of what it tells: each of `told` returns it, given the true state."""

    def __init__(self, state: Any, told: Mapping[str, Callable[[Any], Any]]) -> None:
        self.state, self.told = state, told

    def __getattr__(self, name: str) -> Any:
        return self.told[name](self.state) if name in self.told else getattr(self.state, name)


def tell(monkeypatch: pytest.MonkeyPatch, told: Mapping[int, Mapping[str, Callable[[Any], Any]]]) -> None:
    """Has servers tell something else about what they hold, in local sessions."""
    freeze = campaigns.freeze

    def frozen(*given: Any) -> Any:
        state = freeze(*given)
        return LyingState(state, told[state.me]) if state.me in told else state

    monkeypatch.setattr(campaigns, "freeze", frozen)


def input_otherwise(
    monkeypatch: pytest.MonkeyPatch, name: str, party: int, change: Callable[[npt.NDArray[Any]], Any], call: int = 1
) -> None:
    """Has a party input something else at a step of the entry; `call` says at which of several of that name."""
    inputs, seen = TaggedEntry._inputs, [0]

    def changed(self: TaggedEntry, step: str, dtype: Any, shape: Any, own: Mapping[int, Any]) -> Any:
        seen[0] += step == name
        if step == name and seen[0] == call:
            own = {of: change(np.array(given)) if of == party else given for of, given in own.items()}
        return inputs(self, step, dtype, shape, own)

    monkeypatch.setattr(TaggedEntry, "_inputs", changed)


Contents = dict[int, np.ndarray]


def give_changed(
    monkeypatch: pytest.MonkeyPatch,
    servers: Servers,
    client: int,
    change: Callable[[Tagging, Contents], object],
    **fields: Any,
) -> None:
    """Gives a client's packet whose contents are changed before they are sealed and signed; `fields` as of `give`."""
    split = wire.split

    def changed(campaign: Any, header: Any, encoded: Any) -> Any:
        found = {i: np.array(content) for i, content in split(campaign, header, encoded).items()}
        change(Tagging.of(campaign, campaign.slots[header.slot]), found)
        return {i: content.data for i, content in found.items()}

    with monkeypatch.context() as patched:
        patched.setattr(wire, "split", changed)
        servers.give(client, **{"values": values_of(client), **fields})


def tag_off(of: int, by: int, word: int, bit: Callable[[Tagging], int]) -> Callable[[Tagging, Contents], object]:
    """Returns a change of the tag of a word of holder `of` for holder `by`: a bit is added to it."""

    def change(tagging: Tagging, contents: Contents) -> None:
        size = 4 * tagging.limbs
        first = tagged._first_tag(tagging, of, by) + word * size
        old = int.from_bytes(contents[of][first : first + size].tobytes(), "little")
        new = (old + (1 << bit(tagging))) % (1 << tagging.bits)
        contents[of][first : first + size] = np.frombuffer(new.to_bytes(size, "little"), np.uint8)

    return change


def holders(place: Place) -> int:
    return 2 if place.protocol == "pika" else place.parties


def read(place: Place, file: Path, settings: list[Path]) -> dict[str, npt.NDArray[Any]]:
    """Returns what a session reads of the slot: each column, and `present`."""
    with among(place) as mpc:
        return revealed(mpc, mpc.campaign(file, config=settings))


def revealed(mpc: qr.Session, given: Any) -> dict[str, npt.NDArray[Any]]:
    arrays = [given.present, *(given[name] for name in given)]
    return dict(zip(["present", *given], mpc.reveal_all(*arrays), strict=True))


def check(
    found: Mapping[str, npt.NDArray[Any]], wanted: Mapping[int, Mapping[str, Any]], maybe: Iterable[int] = ()
) -> None:
    """Compares what was read with what clients gave. Places of `maybe` are right or absent, as if nothing was given."""
    count = len(found["present"])
    for place in range(count):
        is_here = bool(found["present"][place])
        if place not in maybe:
            assert is_here == (place in wanted), f"place {place}"
        for name, column in found.items():
            right = wanted[place][name] if is_here and name != "present" else is_here
            assert np.array_equal(column[place], np.zeros_like(column[place]) + right), f"place {place}: {name}"
