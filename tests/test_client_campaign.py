"""Campaigns: TOML by a person, one JSON for the hash, and fields that are refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import clients
from quorate_client import Campaign, CampaignError, ClientKey, KeyFileError, Receipt, ServiceKey, client, keys, new_key
from quorate_client.keys import from_text, is_point, to_text

CLIENTS = sorted((ClientKey.generate().id for _ in range(3)), key=to_text)
SERVERS = [clients.server_fields(index, ServiceKey.generate()) for index in range(3)]


def table(**other: Any) -> dict[str, Any]:
    return json.loads(clients.canonical(clients.fields(SERVERS, CLIENTS) | other))


def column(**other: Any) -> list[dict[str, Any]]:
    return [{**clients.SLOT, "columns": [{**clients.SALARY, **other}]}]


RESULT = {"name": "mean", "dtype": "fixed(64, 16)", "shape": []}


def results(**other: Any) -> list[dict[str, Any]]:
    return [{**clients.SLOT, "results": [{**RESULT, **other}]}]


TOML = """
name = "salaries"
protocol = "rss"
at_least = 2
closes = "2099-01-31T12:00:00Z"
clients = [{clients}]

[options]
forms = "auto"

{servers}
[[slots]]
name = "person"
[[slots.columns]]
name = "salary"
dtype = "fixed(64, 16)"
low = "-0.5"
high = 1000000
[[slots.columns]]
name = "answers"
dtype = "bit"
shape = [3, 2]
"""


def toml(path: Path, head: str = f'id = "{clients.ID}"\n') -> Path:
    servers = "".join("[[servers]]\n" + "".join(f'{k} = "{v}"\n' for k, v in one.items()) for one in SERVERS)
    listed = ", ".join(f'"{to_text(client)}"' for client in reversed(CLIENTS))
    path.write_text(head + TOML.format(clients=listed, servers=servers), encoding="utf-8")
    return path


def test_a_person_writes_toml_with_defaults(tmp_path: Path) -> None:
    campaign = Campaign.from_toml(toml(tmp_path / "c.toml"))
    assert campaign.clients == tuple(CLIENTS)
    assert (campaign.check, campaign.again, campaign.program, campaign.origins) == ("bound", 0, "", ())
    salary, answers = campaign.slots[0].columns
    assert (salary.lowest, salary.highest, str(salary.dtype)) == (-32768, 1000000 << 16, "fixed(64, 16)")
    assert (answers.lowest, answers.highest, answers.shape) == (0, 1, (3, 2))
    assert (campaign.slots[0].bytes, campaign.slots[0].elements, campaign.most_clients) == (9, 7, 3)
    assert [campaign.client_index(client) for client in CLIENTS] == [0, 1, 2]
    assert campaign.client_index(bytes(65)) is None
    assert campaign.closes_at == 4073544000
    again = Campaign.from_json(campaign.json)
    assert (again, again.hash) == (campaign, campaign.hash)


def test_a_file_without_id_has_no_hash_and_gets_a_fresh_one_to_paste(tmp_path: Path) -> None:
    offered = []
    for _ in range(2):
        with pytest.raises(CampaignError, match=r"this field is missing: id\. Add a fresh one: id = ") as error:
            Campaign.load(toml(tmp_path / "c.toml", ""))
        offered.append(str(error.value).partition("a fresh one: ")[2])
    assert offered[0] != offered[1]
    first, second = (Campaign.load(toml(tmp_path / "c.toml", f"{offered[0]}\n")).hash for _ in range(2))
    assert first == second


def test_toml_where_canonical_json_is_wanted_is_refused_with_the_command(tmp_path: Path) -> None:
    path = toml(tmp_path / "c.toml")
    with pytest.raises(CampaignError, match=f"`quorate campaign create {path} --out FILE` makes that file"):
        Campaign.from_file(path)
    with pytest.raises(CampaignError, match="`quorate campaign create"):
        client(path, key=tmp_path / "none.key")
    with pytest.raises(CampaignError, match="cannot be read"):
        Campaign.from_file(tmp_path / "none.json")


def test_the_hash_is_of_one_text_alone() -> None:
    good = clients.canonical(table())
    assert Campaign.from_json(good).json == good
    assert Campaign.from_json(good).hash != Campaign.from_json(clients.canonical(table(again=1))).hash
    unsorted = json.dumps(dict(reversed(table().items())), separators=(",", ":")).encode()
    for other in (
        good.replace(b'"again":0', b'"again": 0'),
        good.replace(b'"again":0', b'"again":0,"again":0'),
        good.replace(b'"salaries"', b'"salar\\u0069es"'),
        good.replace(b'"low":"0"', b'"low":0'),
        good + b"\n",
        unsorted,
    ):
        assert other != good
        with pytest.raises(CampaignError, match="not canonical"):
            Campaign.from_json(other)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[]", b"1", b"[" * 100_000, b'{"name":NaN}'])
def test_what_is_no_campaign_is_refused(data: bytes) -> None:
    with pytest.raises(CampaignError):
        Campaign.from_json(data)


def swapped(position: int, **other: Any) -> list[dict[str, str]]:
    return [{**one, **other} if index == position else one for index, one in enumerate(SERVERS)]


OFF_CURVE = to_text(b"\x04" + bytes(64))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"protocol": "spdz2k", "again": 1}, "again: where servers may cheat, there is one look"),
        ({"protocol": "pika", "options": {"malicious": "yes"}, "again": 1}, "again: where servers may cheat"),
        ({"protocol": "pika", "options": {"malicious": "maybe"}}, "options.malicious: choose"),
        ({"protocol": "pika", "options": {"malicious": ""}}, "options.malicious"),
        ({"options": {"malicious": "yes"}}, "options.malicious: only `pika`"),
        ({"protocol": "spdz2k", "options": {"malicious": "yes"}}, "options.malicious: only `pika`"),
        ({"protocol": "spdz2k", "options": {"mac": "40"}}, "options.mac: choose '64' or '48' or '32'"),
        ({"protocol": "spdz2k", "options": {"mac": "32"}}, 'options.mac: "32" gives 26 bits'),
        ({"protocol": "spdz2k", "options": {"mac": "32", "allow_weak": "no"}}, 'options.mac: "32" gives 26 bits'),
        (
            {"protocol": "spdz2k", "options": {"mac": "48"}, "slots": column(dtype="int(33)")},
            'slots: person has an element of 33 bits, and mac = "48" is for elements of up to 32',
        ),
        (
            {"protocol": "spdz2k", "options": {"mac": "48"}, "slots": results(dtype="int(64)")},
            "slots: person has an element of 64 bits",
        ),
        (
            {"protocol": "spdz2k", "invitations": (1 << 20) + 1, "clients": []},
            "slots: clients may give 1048577 packets in all",
        ),
        # 3 servers: the last one gets 8 bytes of words, and 2 x 6 x 4 bytes of tags, for each element.
        (
            {"protocol": "spdz2k", "slots": column(dtype="int(64)", shape=[1 << 22])},
            "slots[0]: a packet has 234882592 bytes",
        ),
        ({"protocol": "yao"}, "is no family"),
        ({"protocol": "aby"}, "servers: aby runs with 2 servers, not 3"),
        ({"servers": SERVERS[:2]}, "rss runs with 3, 5 or 7 servers, not 2"),
        ({"options": {"forms": 1}}, "options.forms"),
        ({"options": {"Forms": "auto"}}, "options: write a table"),
        ({"name": "Salaries"}, "name: a name has"),
        ({"name": ""}, "name: a name has"),
        ({"name": "x" * 64}, "name: a name has 1 to 63 small letters"),
        ({"name": "ab" * 32}, "name: a name has 1 to 63 small letters"),
        ({"id": to_text(bytes(15))}, "id: write 16 bytes"),
        ({"id": to_text(bytes(16))[:-1] + "B"}, "id: the last character"),
        ({"id": to_text(bytes(16)) + "=="}, "id: the text is not base64url"),
        ({"program": "\u00e9"}, "program: write printable ASCII"),
        ({"program": None}, "program: write a text"),
        ({"at_least": 0}, "at_least: write an integer from 1"),
        ({"at_least": True}, "at_least: write an integer"),
        ({"at_least": 1.0}, "at_least: write an integer"),
        ({"at_least": 4}, "at_least: 4 clients are demanded, and only 3"),
        ({"again": -1}, "again: write an integer"),
        ({"closes": "2099-01-31"}, "closes: write a time"),
        ({"closes": "2099-02-30T12:00:00Z"}, "closes: write a time"),
        ({"closes": "2099-1-31T12:00:00Z"}, "closes: write a time"),
        ({"closes": "2099-01-31T12:00:00+01"}, "closes: "),
        ({"check": "maybe"}, "check: choose 'bound' or 'none'"),
        ({"origins": "https://a.example"}, "origins: write a list"),
        ({"origins": ["https://a.example/"]}, r"origins[0]: write an origin"),
        ({"origins": ["*"]}, r"origins[0]: write an origin"),
        ({"clients": []}, "one of the two"),
        ({"invitations": 3}, "one of the two"),
        ({"clients": [to_text(CLIENTS[0])] * 2}, "clients: each client stands once"),
        ({"clients": [to_text(CLIENTS[1]), to_text(CLIENTS[0])]}, "clients: each client stands once"),
        ({"clients": [OFF_CURVE]}, "clients[0]: this is no point"),
        ({"clients": ["!"]}, "clients[0]: the text is not base64url"),
        ({"extra": 1}, "extra: there is no such field"),
        ({"slots": []}, "slots: there must be 1"),
        ({"slots": [clients.SLOT, clients.SLOT]}, "slots: two slots have the same name"),
        ({"slots": [{**clients.SLOT, "columns": []}]}, "slots[0].columns: a slot has one column"),
        ({"slots": [{**clients.SLOT, "columns": [clients.SALARY] * 2}]}, "slots[0].columns: two of them"),
        ({"slots": [{**clients.SLOT, "per_client": 0}]}, "slots[0].per_client"),
        ({"slots": [{"name": "person", "columns": 1}]}, "slots[0].columns: write a list"),
        ({"slots": ["person"]}, "slots: write a list of tables"),
        ({"slots": column(dtype="int(65)")}, "slots[0].columns[0].dtype: int(65): choose 2 to 64"),
        ({"slots": column(dtype="int(1)")}, "dtype: int(1): choose 2 to 64"),
        ({"slots": column(dtype="uint(0)")}, "dtype: write int(k)"),
        ({"slots": column(dtype="fixed(32,16)")}, "dtype: write int(k)"),
        ({"slots": column(dtype="fixed(16, 16)")}, "fewer of them after the point"),
        ({"slots": column(dtype="float")}, "dtype: write int(k)"),
        ({"slots": column(low="1.5")}, "low: a column of int(32) has integers"),
        ({"slots": column(low=1.5)}, "low: write an integer, or a decimal as text"),
        ({"slots": column(low="01")}, "low: write an integer"),
        ({"slots": column(low="-0")}, "low: write an integer"),
        ({"slots": column(low="1.50", dtype="fixed(64, 16)")}, "low: write an integer"),
        ({"slots": column(low="1e3", dtype="fixed(64, 16)")}, "low: write an integer"),
        ({"slots": column(high="2147483648")}, "high: the bound does not fit int(32)"),
        ({"slots": column(low="2", high="1")}, "low: the lower bound is above"),
        ({"slots": column(low="-2147483648", high="1")}, "less than 2^31 steps apart"),
        ({"slots": column(low="0", high="2147483648", dtype="uint(32)")}, "less than 2^31 steps apart"),
        ({"slots": column(shape=[0])}, "shape: write a list"),
        ({"slots": column(shape=[2.0])}, "shape: write a list"),
        ({"slots": column(shape=[1 << 14, 1 << 14])}, "slots[0]: a packet has 268435456 elements"),
        (
            {"slots": column(shape=[1 << 25], dtype="int(64)")},
            "slots[0]: a packet has 268435456 bytes",
        ),
        ({"slots": results(low="1")}, "slots[0].results: results have no bounds"),
        ({"slots": results(dtype="int")}, "slots[0].results[0].dtype"),
        ({"slots": [{**clients.SLOT, "results": [RESULT, RESULT]}]}, "slots[0].results: two of them"),
        ({"slots": [{**clients.SLOT, "results": []}]}, "not canonical"),
        ({"slots": results(), "again": 1000}, "1 results in 1001 looks are too many"),
        ({"slots": results(shape=[1 << 22]), "again": 4}, "slots[0]: a packet has 167772164 bytes"),
        ({"servers": swapped(0, url="http://a.example")}, "servers[0].url"),
        ({"servers": swapped(1, url="https://a.example/")}, "servers[1].url"),
        ({"servers": swapped(1, url="https://me@a.example")}, "servers[1].url"),
        ({"servers": swapped(1, url="https://a.example?x")}, "servers[1].url"),
        *(
            ({"servers": swapped(1, url=f"https://{rest}")}, "servers[1].url")
            for rest in (
                "",
                "a.example:",
                "a.example:0",
                "a.example:65536",
                ":443",
                "a//b",
                "a/b c",
                "a/%2e",
                "[::1",
            )
        ),
        ({"servers": swapped(1, url=SERVERS[0]["url"])}, "two servers have the same url"),
        ({"servers": swapped(1, certificate=SERVERS[0]["certificate"])}, "two servers have the same certificate"),
        ({"servers": swapped(1, certificate=to_text(bytes(31)))}, "servers[1].certificate: write 32 bytes"),
        ({"servers": swapped(1, seal=SERVERS[0]["seal"])}, "a key stands twice"),
        ({"servers": swapped(1, seal=SERVERS[1]["sign"])}, "a key stands twice"),
        ({"servers": swapped(2, sign=OFF_CURVE)}, "servers[2].sign: this is no point"),
        ({"servers": swapped(2, extra="x")}, "servers[2].extra: there is no such field"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(CampaignError) as error:
        Campaign.from_json(clients.canonical(table(**change)))
    assert message in str(error.value)


@pytest.mark.parametrize("name", sorted(set(clients.fields([], [])) - {"options", "program", "again", "check"}))
def test_a_missing_field_is_named(name: str) -> None:
    fields = table()
    del fields[name]
    with pytest.raises(CampaignError) as error:
        Campaign.from_json(clients.canonical(fields))
    optional = {"origins": "not canonical", "invitations": "not canonical", "clients": "one of the two"}
    assert optional.get(name, f"{name}: this field is missing") in str(error.value)


def test_unchecked_bounds_may_be_wide() -> None:
    wide = clients.canonical(table(slots=column(low="-2147483648", high="1"), check="none"))
    assert Campaign.from_json(wide).slots[0].columns[0].is_bounded
    widest = clients.canonical(table(slots=column(low="0", high="2147483647", dtype="uint(32)")))
    assert Campaign.from_json(widest).slots[0].columns[0].is_bounded
    full = clients.canonical(table(slots=column(low="-2147483648", high="2147483647")))
    assert not Campaign.from_json(full).slots[0].columns[0].is_bounded


def test_masks_of_each_look_follow_the_columns() -> None:
    campaign = Campaign.from_json(clients.canonical(table(slots=results(shape=[2]), again=2)))
    slot = campaign.slots[0]
    assert slot.names == ("salary", ("result", 0, "mean"), ("result", 1, "mean"), ("result", 2, "mean"))
    assert [column.name for column in slot.layout] == ["salary", "mean", "mean", "mean"]
    assert [(first, end) for _, first, end in slot.places] == [(0, 4), (4, 20), (20, 36), (36, 52)]
    assert (slot.bytes, slot.masks.bytes, slot.looks) == (52, 48, 3)
    assert Campaign.from_json(clients.canonical(table())).slots[0].looks == 0


@pytest.mark.parametrize(
    "rest", ["a", "a-b.example", "a:1", "a:65535/x/y_z.~-", "127.0.0.1:8443", "[::1]", "[::1]:443/x"]
)
def test_addresses_of_servers(rest: str) -> None:
    campaign = Campaign.from_json(clients.canonical(table(servers=swapped(1, url=f"https://{rest}"))))
    assert campaign.servers[1].url == f"https://{rest}"


def test_receivers_are_one_more_than_may_be_corrupt() -> None:
    campaign = Campaign.from_json(clients.canonical(table()))
    assert [r for r in [(0,), (0, 1), (1, 0), (0, 0), (0, 3), (0, 1, 2), ()] if campaign.takes_receivers(r)] == [(0, 1)]
    pika = Campaign.from_json(clients.canonical(table(protocol="pika")))
    assert [r for r in [(0, 1), (0, 2), (1, 2)] if pika.takes_receivers(r)] == [(0, 1)]


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="cannot be read"):
        Campaign.from_toml(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("name = ")
    with pytest.raises(CampaignError, match="is not TOML"):
        Campaign.from_toml(tmp_path / "bad.toml")


# ---- keys ------------------------------------------------------------------------------------------------------


def test_keys_are_files_that_their_owner_alone_reads(tmp_path: Path) -> None:
    key = new_key(tmp_path / "my.key")
    assert (tmp_path / "my.key").stat().st_mode & 0o777 == 0o600
    assert ClientKey.load(tmp_path / "my.key").id == key.id
    with pytest.raises(KeyFileError, match="exists"):
        new_key(tmp_path / "my.key")
    (tmp_path / "my.key").chmod(0o640)
    with pytest.raises(KeyFileError, match="chmod 600"):
        ClientKey.load(tmp_path / "my.key")
    with pytest.raises(KeyFileError, match="cannot be read"):
        ClientKey.load(tmp_path / "none.key")
    with pytest.raises(KeyFileError, match="cannot be written"):
        new_key(tmp_path / "none" / "my.key")


def test_a_service_key_is_two_keys(tmp_path: Path) -> None:
    key = ServiceKey.generate()
    key.save(tmp_path / "service.key")
    read = ServiceKey.load(tmp_path / "service.key")
    assert (read.seal, read.sign) == (key.seal, key.sign)
    with pytest.raises(KeyFileError, match="one private key"):
        ClientKey.load(tmp_path / "service.key")
    new_key(tmp_path / "my.key")
    with pytest.raises(KeyFileError, match="2 private keys"):
        ServiceKey.load(tmp_path / "my.key")
    twice = (tmp_path / "my.key").read_bytes() * 2
    keys.write_private(tmp_path / "twice.key", twice)
    with pytest.raises(KeyFileError, match="must differ"):
        ServiceKey.load(tmp_path / "twice.key")
    keys.write_private(
        tmp_path / "junk.key", "-----BEGIN {0}-----\nAAAA\n-----END {0}-----\n".format("PRIVATE KEY").encode()
    )
    with pytest.raises(KeyFileError, match="on P-256") as error:
        ClientKey.load(tmp_path / "junk.key")
    assert "AAAA" not in str(error.value)


def test_representations_have_no_secret() -> None:
    key, service = ClientKey.generate(), ServiceKey.generate()
    assert repr(key) == f"ClientKey({to_text(key.id)})"
    assert repr(service) == f"ServiceKey(seal={to_text(service.seal)}, sign={to_text(service.sign)})"


def test_a_receipt_is_short_to_print() -> None:
    receipt = Receipt(bytes(32), bytes(65), 1, 2, 3, bytes(32), bytes(32), 0, 1_800_000_000, bytes(64))
    assert repr(receipt) == "Receipt(server=0, slot=1, item=2, number=3, time=1800000000)"


def test_points_are_on_the_curve() -> None:
    good = ClientKey.generate().id
    assert is_point(good)
    for bad in (good[:-1], good + b"\0", b"\x02" + good[1:], good[:64] + bytes([good[64] ^ 1]), b"\x04" + bytes(64)):
        assert not is_point(bad)
    # Coordinates below 2^256 - p have a second form in 32 bytes, which is refused.
    x = next(x for x in range(100) if pow(x**3 - 3 * x + keys._B, (keys._P - 1) // 2, keys._P) == 1)
    y = pow(x**3 - 3 * x + keys._B, (keys._P + 1) // 4, keys._P).to_bytes(32, "big")
    assert is_point(b"\x04" + x.to_bytes(32, "big") + y)
    assert not is_point(b"\x04" + (x + keys._P).to_bytes(32, "big") + y)


def test_base64_has_one_form() -> None:
    for data in (b"", b"\0", b"\xff\xfe", bytes(65)):
        assert from_text(to_text(data)) == data
    for text in ("=", "AA==", "A", "A A", "AB", "+/", "AAAAA"):
        with pytest.raises(ValueError, match="base64url"):
            from_text(text)


def test_marks_depend_on_the_key() -> None:
    key, other = ClientKey.generate(), ClientKey.generate()
    assert key.mac(b"x") == key.mac(b"x") != key.mac(b"y")
    assert key.mac(b"x") != other.mac(b"x")
