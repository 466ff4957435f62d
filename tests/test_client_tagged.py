"""Words with tags: holders' words add up to the values, each tag is right, and what is not right is refused by name."""

from __future__ import annotations

import hmac
import itertools
import os
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given, settings
from hypothesis import strategies as st

import clients
from quorate_client import Campaign, CampaignError, ClientKey, WireError, limbs, tagged, wire, words
from quorate_client.campaign import Slot
from quorate_client.keys import to_text
from quorate_client.tagged import ATTEMPTS, Part, Tagging

KEY = ClientKey.generate()
WEAK = {"mac": "32", "allow_weak": "yes"}
SERVERS = {("spdz2k", n): clients.made("spdz2k", n, [KEY.id])[0].servers for n in range(2, 9)}
SERVERS["pika", 3] = clients.made("pika", 3, [KEY.id])[0].servers


def campaign_of(
    columns: list[dict[str, Any]],
    protocol: str = "spdz2k",
    parties: int = 2,
    options: dict[str, str] | None = None,
    **more: Any,
) -> tuple[Campaign, Tagging]:
    slot = {**clients.SLOT, "columns": [{"shape": [], **column} for column in columns], **more}
    keys = [
        {"url": s.url, **{name: to_text(getattr(s, name)) for name in ("certificate", "seal", "sign")}}
        for s in SERVERS[protocol, parties]
    ]
    table = clients.fields(keys, [KEY.id], protocol=protocol, options=options or {}, slots=[slot], check="none")
    campaign = Campaign.from_json(clients.canonical(table))
    return campaign, Tagging.of(campaign, campaign.slots[0])


def header_of(campaign: Campaign, number: int = 1) -> wire.Header:
    receivers = tuple(range(campaign.holders))
    return wire.Header(campaign.hash, KEY.id, 0, 0, 0, number, 0, 1, wire.VALUES, receivers)


def elements(slot: Slot, encoded: words.Words) -> list[int]:
    """Returns all elements of encoded values, from 0 to 2^k - 1."""
    return [int(x) for column in words.columns(slot, encoded) for x in column.reshape(-1)]


def widths(slot: Slot) -> list[int]:
    return [column.dtype.bits for column in slot.layout for _ in range(column.elements)]


class Read:
    """What all holders read of a packet, as Python's integers."""

    def __init__(self, tagging: Tagging, contents: dict[int, Any], context: bytes) -> None:
        holders = range(tagging.holders)
        parts = [Part(tagging, holder, bytes(contents[holder]), context) for holder in holders]
        self.words = [limbs.to_ints(part.own()) for part in parts]
        pairs = list(itertools.permutations(holders, 2))
        self.tags = {(j, i): limbs.to_ints(parts[j].tags(i)) for j, i in pairs}
        self.keys = {(j, i): parts[i].keys(j)[0] for j, i in pairs}
        self.pads = {(j, i): limbs.to_ints(parts[i].keys(j)[1]) for j, i in pairs}

    def check(self, tagging: Tagging, wanted: list[int]) -> None:
        """Checks that words add up to the values, that tags are right, and that nothing has more bits than it may."""
        ring = 1 << tagging.bits
        assert {len(some) for some in (*self.words, *self.tags.values(), *self.pads.values())} == {tagging.words}
        sums = [sum(some) for some in zip(*self.words, strict=True)][: len(wanted)]
        found = [total % (1 << bits) for total, bits in zip(sums, widths(tagging.slot), strict=True)]
        assert found == wanted
        for j, i in self.tags:
            assert 0 <= self.keys[j, i] < 1 << (tagging.c + 1)
            for word, tag, pad in zip(self.words[j], self.tags[j, i], self.pads[j, i], strict=True):
                assert max(word, tag, pad) < ring
                assert tag == (self.keys[j, i] * word + pad) % ring


# ---- parameters ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mac", "k", "c", "rows", "w", "low", "bits", "limbs"),
    [
        ("64", 1, 82, 2, 41, 41, 123, 4),
        ("64", 8, 82, 2, 41, 48, 130, 5),
        ("64", 16, 82, 2, 41, 56, 138, 5),
        ("64", 32, 82, 2, 41, 72, 154, 5),
        ("64", 64, 82, 2, 41, 104, 186, 6),
        ("48", 1, 67, 3, 23, 23, 90, 3),
        ("48", 8, 67, 3, 23, 30, 97, 4),
        ("48", 16, 67, 4, 17, 32, 99, 4),
        ("48", 32, 67, 67, 1, 32, 99, 4),
        ("32", 1, 51, 2, 26, 26, 77, 3),
        ("32", 8, 51, 3, 17, 24, 75, 3),
        ("32", 16, 51, 3, 17, 32, 83, 3),
        ("32", 32, 51, 51, 1, 32, 83, 3),
    ],
)
def test_parameters(mac: str, k: int, c: int, rows: int, w: int, low: int, bits: int, limbs: int) -> None:
    column = {"name": "x", "dtype": "bit" if k == 1 else f"uint({k})", "shape": [5]}
    _, one = campaign_of([column, {"name": "b", "dtype": "bit"}], options={"mac": mac, "allow_weak": "yes"})
    assert (one.k, one.c, one.rows, one.w, one.bits_low, one.bits, one.limbs) == (k, c, rows, w, low, bits, limbs)
    assert one.words == 6 + 16 * rows
    assert one.widest == (120 if mac == "64" else 32)
    assert [one.masks(attempt).start for attempt in (0, 15)] == [6, 6 + 15 * rows]
    assert one.masks(15).stop == one.words


@pytest.mark.parametrize("mac", ["64", "48", "32"])
def test_parameters_keep_to_the_argument_for_all_widths(mac: str) -> None:
    for k in range(1, (64 if mac == "64" else 32) + 1):
        _, one = campaign_of([{"name": "x", "dtype": f"uint({k})"}], options={"mac": mac, "allow_weak": "yes"})
        assert one.rows * one.w >= one.c == {"64": 57, "48": 42, "32": 26}[mac] + 25
        assert one.bits_low <= one.widest and one.w <= 63
        assert one.bits == one.k + one.w - 1 + one.c
        assert 32 * (one.limbs - 1) < one.bits <= 32 * one.limbs


def test_mac_is_64_unless_it_is_stated() -> None:
    columns = [{"name": "x", "dtype": "int(32)"}]
    assert campaign_of(columns)[1] == campaign_of(columns, options={"mac": "64"})[1]
    assert campaign_of(columns, "pika", 3, {"malicious": "yes"})[1] == campaign_of(columns)[1]


def test_results_count_among_the_widest() -> None:
    more = {"results": [{"name": "y", "dtype": "int(64)", "shape": [3]}]}
    _, one = campaign_of([{"name": "x", "dtype": "bit"}], **more)
    assert (one.k, one.words) == (64, 1 + 3 + 16 * 2)


def test_holders_are_all_or_the_first_two() -> None:
    columns = [{"name": "x", "dtype": "bit"}]
    for n in range(2, 9):
        campaign, one = campaign_of(columns, parties=n)
        assert campaign.is_tagged
        assert campaign.holders == campaign.receivers == one.holders == n
        subsets = itertools.chain(*(itertools.combinations(range(n + 1), size) for size in range(n + 2)))
        assert [some for some in subsets if campaign.takes_receivers(some)] == [tuple(range(n))]
    campaign, one = campaign_of(columns, "pika", 3, {"malicious": "yes"})
    assert campaign.is_tagged
    assert campaign.holders == campaign.receivers == one.holders == 2
    assert [some for some in [(0, 1), (0, 2), (0, 1, 2)] if campaign.takes_receivers(some)] == [(0, 1)]
    for options in ({}, {"malicious": "no"}):
        table = clients.made("pika", 3, [KEY.id], options=options)[0]
        assert not table.is_tagged
    assert not clients.made("aby", 2, [KEY.id])[0].is_tagged


def test_a_packet_has_at_most_128_mib() -> None:
    def sized(elements: int) -> int:
        one = campaign_of([{"name": "x", "dtype": "int(64)", "shape": [elements]}])[1]
        assert one.content_bytes(0) == 32 + (elements + 32) * 24
        return one.content_bytes(1)

    most = ((128 << 20) - 32 - 32 * 24) // 32
    assert sized(most) == 32 + 8 * most + (most + 32) * 24 <= 128 << 20
    with pytest.raises(CampaignError, match=r"slots\[0\]: a packet has \d+ bytes, and at most 134217728 are sent"):
        sized(most + 1)


# ---- algebra ---------------------------------------------------------------------------------------------------


def stream(seed: bytes, context: bytes, holder: int, verifier: int, size: int) -> bytes:
    """HKDF-SHA256 written out (RFC 5869), and AES-256 in counter mode."""
    info = b"quorate/client/words/1\0" + context + bytes([holder, verifier])
    key = hmac.digest(hmac.digest(bytes(32), seed, "sha256"), info + b"\1", "sha256")
    return Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor().update(bytes(size))


def split_by_hand(tagging: Tagging, values: list[int], seeds: list[bytes], context: bytes) -> dict[int, bytes]:
    """The format as `tagged` describes it, in Python's integers."""
    width, ring, holders = 4 * tagging.limbs, 1 << tagging.bits, range(tagging.holders)

    def drawn(data: bytes) -> list[int]:
        return [int.from_bytes(data[at : at + width], "little") % ring for at in range(0, len(data), width)]

    size = tagging.words * width
    own = [drawn(stream(seeds[j], context, j, j, size)) for j in holders]
    bits, firsts = widths(tagging.slot), [some[: len(values)] for some in own]
    difference = [
        (x - sum(some)) % (1 << k) for x, some, k in zip(values, zip(*firsts, strict=True), bits, strict=True)
    ]
    own[-1] = [(v + d) % ring for v, d in itertools.zip_longest(own[-1], difference, fillvalue=0)]
    contents = {}
    for j in holders:
        contents[j] = seeds[j] + (laid_out(tagging.slot, difference) if j == holders[-1] else b"")
        for i in (i for i in holders if i != j):
            data = stream(seeds[i], context, j, i, 16 + size)
            key = int.from_bytes(data[:16], "little") % (1 << (tagging.c + 1))
            tags = [(key * v + pad) % ring for v, pad in zip(own[j], drawn(data[16:]), strict=True)]
            contents[j] += b"".join(tag.to_bytes(width, "little") for tag in tags)
    return contents


def laid_out(slot: Slot, numbers: list[int]) -> bytes:
    data, start = b"", 0
    for column in slot.layout:
        some, start = numbers[start : start + column.elements], start + column.elements
        if column.dtype.kind == "bit":
            data += sum(bit << at for at, bit in enumerate(some)).to_bytes(column.bytes, "little")
        else:
            data += b"".join(x.to_bytes(column.dtype.word_bytes, "little") for x in some)
    return data


def dtypes(most: int) -> st.SearchStrategy[str]:
    fixed = st.integers(2, most).flatmap(lambda k: st.integers(0, k - 1).map(lambda f: f"fixed({k}, {f})"))
    numbers = st.integers(2, most).map(lambda k: f"int({k})") | st.integers(1, most).map(lambda k: f"uint({k})")
    return numbers | fixed | st.just("bit")


@st.composite
def packets(draw: Any) -> tuple[Campaign, Tagging, words.Words, list[int]]:
    """Returns a campaign, a packet's encoded values with masks of results, and its elements."""
    mac = draw(st.sampled_from(["64", "48", "32"]))
    most = 64 if mac == "64" else 16  # 32 bits take many masks: see below
    options = {"mac": mac, "allow_weak": "yes"}
    protocol, parties = draw(st.sampled_from([*((f, n) for f, n in SERVERS)]))
    if protocol == "pika":
        options["malicious"] = "yes"
    shapes = st.lists(st.integers(1, 4), max_size=2)
    names = iter("abcdefgh")
    columns, results = (
        [
            {"name": next(names), "dtype": draw(dtypes(most)), "shape": draw(shapes)}
            for _ in range(draw(st.integers(*some)))
        ]
        for some in ((1, 3), (0, 2))
    )
    campaign, tagging = campaign_of(columns, protocol, parties, options, **({"results": results} if results else {}))
    slot = tagging.slot
    values = {}
    for column in slot.columns:
        number = st.integers(column.lowest, column.highest)
        units = draw(st.lists(number, min_size=column.elements, max_size=column.elements))
        exact = [Fraction(unit, 1 << column.dtype.frac) for unit in units]
        values[column.name] = np.array(exact if column.dtype.kind == "fixed" else units, object).reshape(column.shape)
    encoded = words.encode(slot, values)
    if results:
        words.mask(slot, encoded, bytes(range(32)), header_of(campaign).context)
    return campaign, tagging, encoded, elements(slot, encoded)


@given(packets())
@settings(max_examples=40, deadline=None)
def test_words_add_up_to_the_values_and_tags_are_right(drawn: Any) -> None:
    campaign, tagging, encoded, wanted = drawn
    header = header_of(campaign)
    contents = wire.split(campaign, header, encoded)
    assert sorted(contents) == list(range(tagging.holders))
    assert [len(contents[j]) for j in contents] == [tagging.content_bytes(j) for j in contents]
    Read(tagging, contents, header.context).check(tagging, wanted)


@given(packets())
@settings(max_examples=20, deadline=None)
def test_contents_are_as_they_are_described(drawn: Any) -> None:
    campaign, tagging, encoded, wanted = drawn
    context, seeds = header_of(campaign).context, [os.urandom(32) for _ in range(tagging.holders)]
    by_hand = split_by_hand(tagging, wanted, seeds, context)
    found = tagged.split(tagging, encoded, seeds, context)
    assert {j: bytes(content) for j, content in found.items()} == by_hand


@pytest.mark.parametrize("options", [{"mac": "64"}, {"mac": "48"}, WEAK])
@pytest.mark.parametrize("parties", [2, 3])
def test_elements_of_32_bits(options: dict[str, str], parties: int) -> None:
    columns = [{"name": "x", "dtype": "int(32)", "shape": [5]}, {"name": "b", "dtype": "bit", "shape": [9]}]
    campaign, tagging = campaign_of(columns, parties=parties, options=options)
    values = {"x": [-(2**31), -1, 0, 1, 2**31 - 1], "b": [1, 0, 1, 1, 0, 0, 1, 0, 1]}
    encoded = words.encode(tagging.slot, values)
    wanted = elements(tagging.slot, encoded)
    assert wanted == [2**31, 2**32 - 1, 0, 1, 2**31 - 1, *values["b"]]
    context = header_of(campaign).context
    Read(tagging, wire.split(campaign, header_of(campaign), encoded), context).check(tagging, wanted)


def test_a_million_words_take_about_a_second() -> None:
    """It takes less than half a second on an idle core. The limit is that of a loaded one; a loop takes a minute."""
    campaign, tagging = campaign_of([{"name": "x", "dtype": "int(64)", "shape": [1_000_000]}])
    x = np.arange(1_000_000)
    encoded = words.encode(tagging.slot, {"x": x})
    begun = time.process_time()
    contents = wire.split(campaign, header_of(campaign), encoded)
    assert time.process_time() - begun < 8
    parts = [Part(tagging, j, contents[j], header_of(campaign).context) for j in (0, 1)]
    own = [part.own() for part in parts]
    low = sum(some[: len(x), 0] | some[: len(x), 1].astype(np.uint64) << np.uint64(32) for some in own)
    np.testing.assert_array_equal(low, x)
    for j, i in ((0, 1), (1, 0)):
        key, pads = parts[i].keys(j)
        tags = limbs.multiplied(own[j], limbs.from_ints([key], tagged.KEY_LIMBS)[0], pads, tagging.bits)
        assert limbs.equal(tags, parts[j].tags(i)).all()


# ---- a check as servers make it ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "options", "protocol", "parties"),
    [
        ("uint(64)", {}, "spdz2k", 2),
        ("uint(32)", {"mac": "48"}, "spdz2k", 3),
        ("bit", {"malicious": "yes"}, "pika", 3),
        ("int(16)", WEAK, "spdz2k", 2),
    ],
)
def test_combinations_of_words_and_tags_agree(dtype: str, options: dict[str, str], protocol: str, parties: int) -> None:
    """Rows of a check: p = chi x + u, and its tag is that combination of tags. A change of one word is seen."""
    campaign, tagging = campaign_of([{"name": "x", "dtype": dtype, "shape": [7]}], protocol, parties, options)
    generator, context, attempt = np.random.default_rng(5), header_of(campaign).context, 3
    encoded = words.encode(tagging.slot, {"x": [0, 1, 0, 1, 1, 1, 0]})
    contents = wire.split(campaign, header_of(campaign), encoded)
    parts = [Part(tagging, j, contents[j], context) for j in range(tagging.holders)]
    chi = generator.integers(0, 1 << tagging.w, (tagging.rows, 7), np.uint64)

    def combined(some: Any) -> Any:
        sums = limbs.combined(chi, some[None, :7], tagging.bits)[0]
        return limbs.added(sums, some[tagging.masks(attempt)], tagging.bits)

    for j, i in itertools.permutations(range(tagging.holders), 2):
        key, pads = parts[i].keys(j)
        factor, tags = limbs.from_ints([key], tagged.KEY_LIMBS)[0], combined(parts[j].tags(i))

        def wanted(own: Any, factor: Any = factor, pads: Any = combined(pads)) -> Any:  # noqa: B008
            return limbs.multiplied(combined(own), factor, pads, tagging.bits)

        own = parts[j].own()
        assert limbs.equal(wanted(own), tags).all()
        assert chi[:, [0, 6]].any(axis=0).all()
        for word in (0, 6, tagging.masks(attempt).start):
            for bit in (0, tagging.k - 1):
                lie = own.copy()
                lie[word, bit // 32] ^= np.uint32(1 << bit % 32)
                assert not limbs.equal(wanted(lie), tags).all()


# ---- what a server refuses -------------------------------------------------------------------------------------


def test_contents_have_one_length() -> None:
    for protocol, parties in SERVERS:
        options = {"malicious": "yes"} if protocol == "pika" else {}
        campaign, tagging = campaign_of([{"name": "x", "dtype": "int(8)", "shape": [3]}], protocol, parties, options)
        contents = wire.split(campaign, header_of(campaign), words.encode(tagging.slot, {"x": [1, 2, 3]}))
        for server in range(parties):
            content = bytes(contents.get(server, b""))
            assert len(content) == tagging.content_bytes(server)
            tagged.check(tagging, server, content)
            assert bool(content) == (server < campaign.holders)
            for other in {content[:-1], content + b"\0", b"\0", content[:32], content * 2} - {content}:
                with pytest.raises(WireError, match="bytes of content, not") as error:
                    tagged.check(tagging, server, other)
                assert error.value.field == "content"


def test_each_unused_bit_is_refused_by_name() -> None:
    columns = [{"name": "x", "dtype": "int(5)"}, {"name": "b", "dtype": "bit", "shape": [3]}]
    campaign, tagging = campaign_of(columns, parties=3)
    context = header_of(campaign).context
    contents = wire.split(campaign, header_of(campaign), words.encode(tagging.slot, {"x": 1, "b": [1, 0, 1]}))
    width = 4 * tagging.limbs
    assert (tagging.bits, width) == (127, 16)
    for server in (0, 2):
        content, values = bytes(contents[server]), 2 if server == 2 else 0
        refused = {}
        for at in range(8 * len(content)):
            changed = bytearray(content)
            changed[at // 8] ^= 1 << at % 8
            try:
                tagged.check(tagging, server, bytes(changed))
            except WireError as error:
                refused[at] = error.field
                with pytest.raises(WireError):
                    Part(tagging, server, bytes(changed), context)
        padding = [8 * 32 + bit for bit in (5, 6, 7, 11, 12, 13, 14, 15)] if values else []
        first = 8 * (32 + values)
        tops = [first + 8 * width * word + 127 for word in range(2 * tagging.words)]
        assert refused == {**dict.fromkeys(padding, "words"), **dict.fromkeys(tops, "tags")}


def test_a_changed_bit_of_words_or_tags_breaks_tags() -> None:
    campaign, tagging = campaign_of([{"name": "x", "dtype": "uint(8)"}])
    header = header_of(campaign)
    encoded = words.encode(tagging.slot, {"x": 7})
    contents = wire.split(campaign, header, encoded)
    for server, at in ((0, 0), (0, 32), (1, 0), (1, 32), (1, 33)):
        changed = {j: bytearray(content) for j, content in contents.items()}
        changed[server][at] ^= 1
        with pytest.raises(AssertionError):
            Read(tagging, changed, header.context).check(tagging, [7])
    Read(tagging, contents, header.context).check(tagging, [7])


def test_each_field_of_the_context_changes_all_streams() -> None:
    campaign, tagging = campaign_of([{"name": "x", "dtype": "int(64)"}], parties=3)
    header = header_of(campaign)
    changes: dict[str, Any] = {"campaign": bytes(32), "client": bytes(65), "slot": 1, "item": 1, "number": 2}
    headers = [header, *(wire.Header(**{**vars(header), name: value}) for name, value in changes.items())]
    content, seen = bytes(tagging.content_bytes(0)), []
    for one in headers:
        part = Part(tagging, 0, content, one.context)
        for key, pads in map(part.keys, (1, 2)):
            seen += [key.to_bytes(11, "little"), pads.tobytes()]
        seen.append(part.own().tobytes())
    own = Part(tagging, 1, content, header.context)  # one seed at another server
    seen += [own.own().tobytes(), own.keys(0)[1].tobytes(), own.keys(2)[1].tobytes()]
    assert len(seen) == len(set(seen)) == 33


def test_seeds_are_fresh_for_each_packet_and_holder() -> None:
    campaign, tagging = campaign_of([{"name": "x", "dtype": "int(64)"}], parties=5)
    seeds = []
    for _ in range(3):
        contents = wire.split(campaign, header_of(campaign), words.encode(tagging.slot, {"x": 5}))
        seeds += [bytes(content[:32]) for content in contents.values()]
    assert len(set(seeds)) == 15


def test_masks_of_attempts_do_not_overlap() -> None:
    _, tagging = campaign_of([{"name": "x", "dtype": "uint(32)", "shape": [3]}], options={"mac": "48"})
    places = [range(tagging.words)[tagging.masks(attempt)] for attempt in range(ATTEMPTS)]
    assert {len(some) for some in places} == {tagging.rows}
    assert [place for some in places for place in some] == list(range(3, tagging.words))


def test_wire_says_how_long_packets_are() -> None:
    for protocol, parties in (("spdz2k", 3), ("pika", 3)):
        options = {"malicious": "yes"} if protocol == "pika" else {}
        campaign, tagging = campaign_of([{"name": "x", "dtype": "int(8)"}], protocol, parties, options)
        header = header_of(campaign)
        contents = wire.split(campaign, header, words.encode(tagging.slot, {"x": 1}))
        withdrawn = wire.Header(**{**vars(header), "kind": wire.WITHDRAWN, "receivers": ()})
        made = wire.make_packets(campaign, KEY, header, contents), wire.make_packets(campaign, KEY, withdrawn, {})
        for server in range(parties):
            bodies = [some[server] for some in made]
            assert [len(body) for body in bodies] == [
                wire.packet_bytes(campaign, one, server) for one in (header, withdrawn)
            ]
            assert {len(body) for body in bodies} == wire.lengths(campaign, server)
            for body in bodies:
                packet = wire.unpack(campaign, server, body)
                assert packet.server == server
            assert len(bodies[0]) == len(bodies[1]) or server < campaign.holders
