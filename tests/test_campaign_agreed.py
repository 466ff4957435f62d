"""The agreed list: all small cases against its definition, demands of clients, and which histories leave a run."""

from __future__ import annotations

import hashlib
import itertools
import struct
import time

import numpy as np
import pytest

from campaigning import campaign_of
from quorate.campaigns import (
    History,
    Refused,
    Spent,
    agreed,
    clients_of,
    hash_of_list,
    looks_before,
    present,
    settled,
)
from quorate_client import ServiceKey

Packet = tuple[int, int, int, int]  # number, digest, kind, at_least

LARGE = 2**40


def words(packet: Packet | None) -> list[int]:
    if packet is None:
        return [0] * 12
    number, digest, kind, at_least = packet
    low = number & 0xFFFFFFFF
    return [low - (low >> 31 << 32), number >> 32, digest, 0, 0, 0, 0, 0, 0, -digest, kind, at_least]


def record(rows: list[tuple[Packet, ...]]) -> np.ndarray:
    return np.array([[words(p) for p in (*held, None, None)[:2]] for held in rows], np.int32).reshape(-1, 2, 12)


def chosen(packets: list[Packet | None]) -> np.ndarray:
    return np.array([words(p) for p in packets], np.int32).reshape(-1, 12)


def small() -> list[tuple[Packet, ...]]:
    """All that one server may have of two numbers and two digests, in both orders."""
    packets = [(number, digest, 0, 1) for number, digest in itertools.product((1, LARGE), (7, 8))]
    pairs = [p for p in itertools.permutations(packets, 2) if p[0][0] != p[1][0]]
    return [(), *((p,) for p in packets), *pairs]


@pytest.mark.parametrize("servers", [2, 3])
def test_all_small_cases(servers: int) -> None:
    cases = list(itertools.product(small(), repeat=servers))
    assert len(cases) == 13**servers
    records = [record([case[server] for case in cases]) for server in range(servers)]
    got = agreed(records)
    common = [set(case[0]).intersection(*case[1:]) for case in cases]
    np.testing.assert_array_equal(got, chosen([max(both, default=None) for both in common]))
    assert 0 < np.count_nonzero(present(got)) < len(got)
    for order in itertools.permutations(records):
        np.testing.assert_array_equal(agreed(order), got)


def test_numbers_are_compared_over_all_their_bits() -> None:
    for low, high in [(1, 2), (2**31 - 1, 2**31), (2**31, 2**32 - 1), (2**32 - 1, 2**32), (5, 2**53 - 1)]:
        for held in itertools.permutations([(low, 9, 0, 1), (high, 1, 0, 1)]):
            both = record([held])
            np.testing.assert_array_equal(agreed([both, both]), chosen([(high, 1, 0, 1)]))


def test_every_bit_of_a_candidate_counts() -> None:
    one = record([((3, 5, 0, 4),)])
    assert present(agreed([one, one])).all()
    for word in range(12):
        for bit in (0, 30):
            other = one.copy()
            other[0, 0, word] ^= 1 << bit
            assert not agreed([one, other]).any()
            assert not agreed([one, one, other]).any()


def test_no_rows() -> None:
    assert agreed([record([]), record([])]).shape == (0, 12)


def test_records_of_unlike_shapes_are_refused() -> None:
    few, more = (campaign_of([ServiceKey.generate() for _ in range(3)], places) for places in (1, 2))
    records = [record([()] * campaign.most_clients) for campaign in (few, more)]
    with pytest.raises(Refused, match="unlike shapes: compare the hashes of their campaigns"):
        agreed(records)
    assert few.hash != more.hash
    assert agreed([records[1], records[1]]).shape == (2, 12)  # servers with one campaign
    with pytest.raises(Refused, match="unlike shapes"):
        agreed([np.zeros((3, 1, 12), np.int32)] * 2)


def test_withdrawn_packets_are_not_present() -> None:
    assert present(chosen([None, (1, 2, 0, 1), (1, 2, 1, 1)])).tolist() == [False, True, False]


def test_clients_count_once_for_several_items() -> None:
    assert clients_of(np.array([True, True, False, False, False, True]), 2) == 2
    assert clients_of(np.array([True, True, False, False, False, True]), 1) == 3


def test_packets_that_demand_too_many_clients_are_left_out_until_nothing_changes() -> None:
    """A demand of 0 stands for no packet. What is left is the largest list in which each demand is met."""
    subsets = [s for size in range(5) for s in itertools.combinations(range(4), size)]
    for demands in itertools.product((0, 1, 2, 3, 4), repeat=4):
        packets = [(1, 2, 0, demand) if demand else None for demand in demands]
        got = present(settled(chosen(packets), 1))
        allowed = [s for s in subsets if all(0 < demands[i] <= len(s) for i in s)]
        assert np.flatnonzero(got).tolist() == list(max(allowed, key=len)), demands


def repeated(packets: np.ndarray, per_client: int) -> np.ndarray:
    """Leaves out packets that demand more clients than there are, until nothing changes."""
    while True:
        is_present = present(packets)
        is_dropped = is_present & (packets[:, 11] > clients_of(is_present, per_client))
        if not is_dropped.any():
            return packets
        packets = np.where(is_dropped[:, None], 0, packets)


@pytest.mark.parametrize(("clients", "per_client"), [(1, 1), (5, 1), (2, 2), (3, 2), (2, 3), (0, 2)])
def test_the_settled_list_is_that_of_leaving_out_repeatedly(clients: int, per_client: int) -> None:
    """A demand of 0 stands for no packet, one of -1 for a withdrawn one."""
    for demands in itertools.product(range(-1, clients + 2), repeat=clients * per_client):
        packets = [(1, 2, int(d < 0), abs(d)) if d else None for d in demands]
        rows = chosen(packets)
        np.testing.assert_array_equal(settled(rows, per_client), repeated(rows, per_client))


def test_many_demands_are_settled_in_one_pass() -> None:
    """Each round of leaving out would leave out one packet more."""
    clients = 200_000
    rows = np.zeros((clients, 12), np.int32)
    rows[:, 0], rows[:, 11] = 1, np.arange(clients) + 2
    begun = time.monotonic()
    assert not present(settled(rows, 1)).any()
    assert time.monotonic() - begun < 60  # in rounds, it is hours


def test_the_number_of_looks_is_told_as_a_sentence() -> None:
    with pytest.raises(Spent, match="the packets are spent: 1 of 1 looks is used, as server 0 says"):
        looks_before([History(1, A)], 0, A)
    with pytest.raises(Spent, match="3 of 3 looks are used"):
        looks_before([History(3, A)], 2, A)


def test_withdrawn_packets_neither_count_nor_demand() -> None:
    packets: list[Packet | None] = [(1, 2, 0, 2), (1, 2, 0, 1), (5, 3, 1, 9)]
    np.testing.assert_array_equal(settled(chosen(packets), 1), chosen(packets))
    packets = [(1, 2, 0, 2), (5, 3, 1, 9), None]
    np.testing.assert_array_equal(settled(chosen(packets), 1), chosen([None, (5, 3, 1, 9), None]))


def test_large_demands_are_not_negative() -> None:
    row = chosen([(1, 2, 0, 1)])
    row[0, 11] = -1  # 2^32 - 1 clients
    assert not present(settled(row, 1)).any()


def test_the_hash_of_a_list_is_over_campaign_and_all_rows() -> None:
    digest = np.array(words((1, 5, 0, 1))[2:10], "<i4").tobytes()
    entries = struct.pack("<QBI", LARGE, 1, 7) + digest + bytes(45)
    wanted = hashlib.sha256(b"quorate/server/list/1\0" + b"\1" * 32 + entries + entries[:45])
    lists = [chosen([(LARGE, 5, 1, 7), None]), chosen([(LARGE, 5, 1, 7)])]
    assert hash_of_list(b"\1" * 32, lists) == wanted.digest()
    for row, word in itertools.product((0, 1), range(12)):
        changed = [lists[0].copy(), lists[1]]
        changed[0][row, word] ^= 1
        assert hash_of_list(b"\1" * 32, changed) != wanted.digest()


A, B = b"\1" * 32, b"\2" * 32
NEW = History(0, b"")


def test_a_campaign_that_is_spent_at_one_server_is_spent_at_all() -> None:
    for again, looks, before, server in itertools.product((0, 1, 3), (0, 1, 2, 4, 5), (A, B), (0, 1, 2)):
        histories = [NEW] * 3
        histories[server] = History(looks, before if looks else b"")
        if looks == 0 or (looks <= again and before == A):
            assert looks_before(histories, again, A) == looks
            continue
        with pytest.raises(Spent, match=f"the packets are spent: .*server {server} .*: make a new campaign"):
            looks_before(histories, again, A)


def test_two_lists_are_spent_and_the_largest_number_of_looks_counts() -> None:
    with pytest.raises(Spent, match="server 1 has seen a result of another list"):
        looks_before([History(1, A), History(1, B)], 5, A)
    assert looks_before([History(1, A), History(3, A), NEW], 5, A) == 3
