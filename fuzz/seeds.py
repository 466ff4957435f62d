"""Writes the first inputs of every target into fuzz/corpus: `python3 fuzz/seeds.py`. All are deterministic, except for
the hello of TLS and the certificates, which are written once and kept.
"""

from __future__ import annotations

import contextlib
import ssl
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

CORPUS = Path(__file__).resolve().parent / "corpus"

BASE_POINT = bytes.fromhex("e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76")
"""The base point of ristretto255, as RFC 9496 encodes it."""

ED25519 = bytes.fromhex("302e020100300506032b657004220420")
"""What stands before the 32 bytes of an Ed25519 key in a key file."""

PARTY = """me = 1
protocol = "rss"
key = "party1.key"
network = "70,100"
listen = "0.0.0.0:9001"
approve = "{hash}"
audit = "audit.jsonl"

[limits]
connect_timeout_s = 30
stall_timeout_s = 0
{parties}"""

FASHION = "3 7\n2 2 2\n1 1\n\n2 1 0 2 4 XOR\n2 1 1 3 5 AND\n2 1 4 5 6 AND\n"
EVERY_GATE = "5 10\n1 4\n2 1 2\n\n4 2 0 1 2 3 4 5 MAND\n1 1 4 6 INV\n1 1 1 7 EQ\n1 1 5 8 EQW\n2 1 6 7 9 XOR\n"
OLD = "3 7\n2 2 1\n\n2 1 0 2 4 XOR\n2 1 1 3 5 AND\n2 1 4 5 6 AND\n"
# The targets with inputs that contain random bytes.
KEPT = {"net_first_message", "net_identity", "net_tls"}


def le(number: int, size: int) -> bytes:
    """Returns a number of `size` bytes, little endian."""
    return number.to_bytes(size, "little")


def part(data: bytes) -> bytes:
    """Returns bytes after their length, as `Parts::piece` takes them."""
    return le(len(data), 2) + data


def hello(verdict: int = 0, version: int = 5, purpose: int = 1) -> bytes:
    """Returns the first message of party 0 of 3 to party 1."""
    numbers = b"".join(le(number, 4) for number in (0, 1, 3))
    head = b"QUORATE\n" + le(version, 4) + bytes([verdict, purpose, 0, 0])
    return (head + numbers + bytes(range(16)) + bytes(range(32, 48))).ljust(64, b"\0")


def piece(tag: int, number: int, payload: bytes, lane: int = 5) -> bytes:
    """Returns a piece of a frame of data."""
    return bytes([tag]) + le(lane, 16) + le(number, 4) + le(len(payload), 4) + payload


def frame(kind: int, body: bytes, run: int = 1) -> bytes:
    """Returns a frame of this type."""
    return bytes([kind, 0]) + le(run, 4) + body


def greeting(terms: bytes = b"protocol=rss; k=32", note: bytes = b"note") -> bytes:
    """Returns the body of a greeting."""
    return bytes(64) + le(len(terms), 2) + terms + note


def wire() -> Iterator[tuple[str, list[bytes]]]:
    """Yields the inputs of targets that read messages of links and of sessions."""
    yield "net_hello", [hello(), hello(3), hello(0, 2), hello(5, purpose=2)]
    stream = le(3, 4) + b"abc" + le(2**32 - 1, 4) + le(0, 4) + le(2**32 - 2, 4) + le(1, 4) + b"z"
    stream += le(2**32 - 3, 4) + le(7, 8) + le(2**32 - 4, 4)
    yield "net_frames", [b"\0" + stream, b"\x05" + stream, b"\xff" + stream + le(2**31, 4)]
    challenge = bytes(range(32))
    answers = [b"QUORATE?" + le(number, 4) + bytes(1 + 16 + 16) + challenge + bytes(32) for number in (1, 9)]
    yield "net_answer", [challenge + answers[0], challenge + answers[1] + client_hello()[:9], challenge + b"GET"]
    yield "net_first_message", [client_hello(), b"\x16\x03\x01\x00\x02ab", b"GET / HTTP/1.1\r\n"]
    yield "net_tls", [b"\0\xff" + client_hello(), b"\0\0" + client_hello(), b"\1\xff\x15\x03\x03\x00\x02\x02\x28"]
    abort = bytes([1]) + le(2, 2) + le(1, 2) + le(1, 4)
    pieces = [piece(tag, 1, bytes(8) if tag in (0, 1) else bytes(32) if tag == 4 else b"") for tag in range(6)]
    bodies = [(0, b"".join(pieces)), (1, abort), (2, greeting()), (3, le(0, 8) + le(7, 8)), (4, b""), (5, b"a.py:3")]
    frames = [frame(kind, body) for kind, body in bodies]
    yield "engine_frame", frames
    yield "engine_abort", [le(1, 4) + bytes([code]) + abort[1:] for code in (0, 2, 8, 11)]
    yield "engine_greeting", [greeting(), greeting(b"", b""), greeting(b"protocol=aby; parties=2")]
    yield "engine_trace", [le(first, 8) + le(9, 8) + le(3, 8) for first in (0, 2, 5)]
    yield "engine_node", [b"x * y, int64 (3,), a.py:3", "é\x1b[31m".encode(), b"\xff\xfe"]
    plan = bytes(range(32))
    yield "engine_plan", [plan, plan + b"\x20" + plan, plan + b"\x20" + plan + b"\x20" + plan]
    yield "engine_rates", [bytes(8 * 4), bytes.fromhex("fca9f1d24d62503f") * 60]
    parties = [[frames[2], frames[0]], [frames[2], frame(0, piece(0, 1, bytes(8)))], [frames[1]], [frames[4]], frames]
    yield "engine_party", [b"".join(part(each) for each in some) for some in parties]
    ranges = le(1, 4) + le(3, 4) + le(7, 4) + le(7, 4)
    yield "session_note", [le(10, 2) + le(1 << 30, 8) + le(1, 4) + bytes(16) + some for some in (b"", ranges)]
    lot = bytes([1]) * 32 + le(3, 4) + le(9, 4) + le(2, 4)
    lot += le(3, 4) + le(5, 4) + bytes(16) + le(6, 4) + le(9, 4) + bytes([7]) * 16
    yield "session_pool", [b"", bytes(64), bytes(64) + lot, bytes(64) + lot + bytes([2]) * 32 + bytes(12)]


def values() -> Iterator[tuple[str, list[bytes]]]:
    """Yields the inputs of targets that read values and keys."""
    yield "ring_vector", [bytes([bits - 1, 2]) + bytes(range(64)) for bits in (1, 7, 32, 64, 65, 128, 200)]
    yield (
        "ring_bits",
        [bytes([rows]) + bytes(range(40)) for rows in (1, 3, 64)] + [b"\0" + le(8, 4) + le(8, 4) + bytes(8)],
    )
    yield "garble_labels", [b"\2" + bytes(range(64)), b"\0" + le(1, 4) + le(2, 4) + bytes(32)]
    header = bytes([1, 1, 3, 1]) + le(1, 4)
    yield "fss_corrections", [bytes([2, 5]) + header + bytes(1), bytes([2, 1]) + bytes([1, 1, 3, 1]) + bytes(4)]
    for_side = bytes([1, 2, 3, 1]) + le(1, 4)
    yield "fss_keys", [bytes([2, 9]) + for_side + bytes(16 + 1), bytes([2, 1]) + bytes([1, 2, 3, 1]) + bytes(4)]
    verified = bytes([1, 4, 3, 32]) + le(1, 4)
    yield (
        "fss_verified",
        [bytes([2, 31, 2]) + verified + bytes(16 * 3 + 8 + 32), bytes([2, 31, 0]) + verified[:4] + bytes(4)],
    )
    yield "ot_base", [b"\1" + 2 * BASE_POINT, b"\1" + BASE_POINT, b"\2" + 2 * BASE_POINT, b"\1" + bytes(32)]
    yield "ot_trees", [bytes([1, 1, 2]) + bytes(128), bytes([2, 2, 0, 5, 0]) + bytes(32 * 7)]
    packet = b"QRS1" + bytes([3, 2, 32, 0]) + le(2, 8) + bytes(range(16))
    yield "rss_client", [bytes([0, 2, 31, 2]) + packet + bytes(extra) for extra in (32, 40, 72)]
    odd = b"\xff" * 31 + b"\xed"
    yield "he_paillier", [b"\0" + bytes(63) + b"\1", b"\1" + odd + bytes(63) + b"\2" + bytes(63) + b"\3"]
    yield "he_dgk", [b"\0" + bytes(31) + b"\1", b"\1" + odd + bytes(31) + b"\2" + bytes(31) + b"\3" + bytes(31) + b"\5"]


def texts() -> Iterator[tuple[str, list[bytes]]]:
    """Yields the inputs of targets that read files and words."""
    entry = '\n[[party]]\naddress = "p{0}.example:9000"\ncertificate = "party{0}.crt"\n'
    party = PARTY.format(hash="0a" * 32, parties="".join(entry.format(i) for i in range(3)))
    name = "Bewertung für März 2: a/b.py".encode()
    configs = [party.encode(), party.replace("me = 1", "me = 3").encode(), b'protocol = "rss"\nk = 1\n']
    yield "session_config", [*configs, name]
    yield "graph_words", [b"0a" * 32, b"lan", b"70,100", b"auto", b"A+Y", b"ab" * 32 + b"," + b"cd" * 32]
    yield "circuits_fashion", [FASHION.encode(), EVERY_GATE.encode(), b"0 1\n1 1\n1 1\n"]
    yield "circuits_old", [OLD.encode(), b"1 2\n1 0 1\n\n1 1 0 1 INV\n"]
    key = ED25519 + bytes([7]) * 32
    certificates = [certificate(bytes([fill]) * 32) for fill in (7, 8)]
    contents = b"".join(part(each) for each in certificates)
    yield "net_identity", [b"\1" + contents + key, b"\1" + 2 * part(certificates[0]) + key, b"\0" + contents + key]


def client_hello() -> bytes:
    """Returns the first message of a TLS client that offers the protocol of links."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["quorate"])
    sent = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname="quorate").do_handshake()
    return sent.read()


def certificate(secret: bytes) -> bytes:
    """Returns a self-signed certificate of this Ed25519 key, made by `openssl`."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "key.der").write_bytes(ED25519 + secret)
        run = ["openssl", "req", "-new", "-x509", "-keyform", "DER", "-key", "key.der", "-outform", "DER"]
        rest = ["-subj", "/CN=quorate", "-days", "10000"]
        return subprocess.run([*run, *rest], cwd=folder, capture_output=True, check=True).stdout  # noqa: S603


def main() -> None:
    """Writes all inputs."""
    for target, inputs in [*wire(), *values(), *texts()]:
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(inputs):
            file = folder / f"seed{number}"
            if not (target in KEPT and file.exists()):
                file.write_bytes(data)


if __name__ == "__main__":
    main()
