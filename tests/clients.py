"""Campaigns, keys and servers for tests of clients: servers over HTTPS that store packets, or misbehave as asked."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import http.server
import json
import socket
import ssl
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from quorate_client import Campaign, ClientKey, Receipt, ServiceKey, Status, statements, wire, words
from quorate_client.keys import to_text
from quorate_client.tagged import Part, Tagging

FAMILIES = [("rss", 3), ("rss", 5), ("rss", 7), ("aby", 2), ("pika", 3)]

#: Families in which servers may cheat: protocol, servers and options.
TAGGED = [
    ("spdz2k", 2, {}),
    ("spdz2k", 3, {"mac": "48"}),
    ("spdz2k", 8, {"mac": "32", "allow_weak": "yes"}),
    ("pika", 3, {"malicious": "yes"}),
]
ALL = [*((*family, {}) for family in FAMILIES), *TAGGED]

ID = to_text(bytes(16))
SALARY = {"name": "salary", "dtype": "int(32)", "shape": [], "low": "0", "high": "1000000"}
SLOT = {"name": "person", "per_client": 1, "columns": [SALARY]}


def fields(servers: list[dict[str, str]], clients: list[bytes], **other: Any) -> dict[str, Any]:
    """Returns the fields of a campaign."""
    return {
        "name": "salaries",
        "id": ID,
        "protocol": "rss",
        "options": {},
        "program": "",
        "at_least": 1,
        "closes": "2099-01-31T12:00:00Z",
        "again": 0,
        "check": "bound",
        "origins": [],
        "servers": servers,
        "clients": sorted(to_text(client) for client in clients),
        "invitations": 0,
        "slots": [SLOT],
    } | other


def canonical(table: dict[str, Any]) -> bytes:
    return json.dumps(table, sort_keys=True, separators=(",", ":")).encode()


def server_fields(index: int, key: ServiceKey, certificate: bytes | None = None, url: str = "") -> dict[str, str]:
    pin = certificate or hashlib.sha256(bytes([index])).digest()
    url = url or f"https://server{index}.example"
    return {"url": url, "certificate": to_text(pin), "seal": to_text(key.seal), "sign": to_text(key.sign)}


def made(protocol: str, parties: int, clients: list[bytes], **other: Any) -> tuple[Campaign, list[ServiceKey]]:
    """Returns a campaign and its servers' keys."""
    keys = [ServiceKey.generate() for _ in range(parties)]
    servers = [server_fields(index, key) for index, key in enumerate(keys)]
    table = fields(servers, clients, protocol=protocol, **other)
    return Campaign.from_json(canonical(table)), keys


def certificate(folder: Path) -> tuple[Path, bytes]:
    """Makes a certificate; returns the file with it and its key, and its SHA-256."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "server")])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    cert = builder.sign(key, hashes.SHA256())
    path = folder / f"{cert.serial_number}.pem"
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(pem + cert.public_bytes(Encoding.PEM))
    return path, hashlib.sha256(cert.public_bytes(Encoding.DER)).digest()


def elements(campaign: Campaign, packet: wire.Packet, content: bytes) -> list[Any]:
    """Returns a server's part of each column and mask: np.uint64 below 2^k, or bool for bits."""
    header, slot = packet.header, campaign.slots[packet.header.slot]
    if not campaign.is_tagged:
        own = words.own_words(slot, content, header.receivers, packet.server, header.context)
        return words.columns(slot, own)
    tagging = Tagging.of(campaign, slot)
    low: Any = np.zeros(slot.elements, np.uint64)
    if packet.server < campaign.holders:
        found = Part(tagging, packet.server, content, header.context).own()[: slot.elements]
        low = found[:, 0] | found[:, 1].astype(np.uint64) << np.uint64(32)
    out, start = [], 0
    for column in slot.layout:
        part = low[start : start + column.elements] & np.uint64((1 << column.dtype.bits) - 1)
        out.append(part.reshape(column.shape).astype(bool if column.dtype.kind == "bit" else np.uint64))
        start += column.elements
    return out


class Server:
    """A server over HTTPS. It checks packets, keeps them, and answers by the script that a test sets.

    Attributes:
        packets: the bodies that it has stored, by (place, slot, item, number).
        requests: method and path of each request that arrived.
        bytes: bytes of bodies that arrived.
        answers: what it answers to the next packets instead of storing them: (status, fields, headers).
        hello: the bytes that it states instead of its campaign.
        receipt: the bytes that it answers a stored packet with.
        results: the bytes that it answers requests for results with.
        clock: what its clock is ahead, in seconds.
    """

    def __init__(self, folder: Path, index: int) -> None:
        self.index, self.key = index, ServiceKey.generate()
        self.file, self.certificate = certificate(folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.packets: dict[tuple[int, int, int, int], bytes] = {}
        self.requests: list[str] = []
        self.bytes = 0
        self.answers: list[tuple[int, dict[str, Any], dict[str, str]]] = []
        self.hello: bytes | None = None
        self.receipt: bytes | None = None
        self.results: bytes = b'{"results":[]}'
        self.clock = 0
        self.secret: Any = None
        self.tls = ssl.TLSVersion.TLSv1_3
        self.campaign: Campaign | None = None
        self._http: http.server.ThreadingHTTPServer | None = None

    @property
    def fields(self) -> dict[str, str]:
        return server_fields(self.index, self.key, self.certificate, f"https://127.0.0.1:{self.port}/mpc")

    def start(self, campaign: Campaign) -> None:
        self.campaign = campaign
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            wbufsize = -1  # head and body in one segment

            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                server.answer(self, b"")

            def do_POST(self) -> None:
                server.answer(self, self.rfile.read(int(self.headers["Content-Length"])))

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.file)
        context.minimum_version = context.maximum_version = self.tls

        class Secured(http.server.ThreadingHTTPServer):
            def finish_request(self, request: Any, address: Any) -> None:
                try:
                    request = context.wrap_socket(request, server_side=True)
                except OSError:
                    return
                super().finish_request(request, address)
                with contextlib.suppress(OSError):
                    request.unwrap()

        Secured.daemon_threads = True
        self._http = Secured(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        if self._http is not None:
            self._http.shutdown()
            self._http.server_close()
            self._http = None

    def answer(self, request: http.server.BaseHTTPRequestHandler, body: bytes) -> None:
        self.requests.append(f"{request.command} {request.path}")
        self.bytes += len(body)
        status, data, headers = self._answer(request, body)
        request.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(data)

    def _answer(self, request: Any, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        assert self.campaign is not None
        prefix = f"/mpc/campaigns/{to_text(self.campaign.hash)}"
        if request.path == f"{prefix}/hello":
            hello = statements.Hello.of(self.campaign, self.index, self.key).to_json()
            return 200, self.hello or hello, {}
        if request.path == f"{prefix}/packets" and request.command == "POST":
            return self._packet(body)
        if request.path.startswith((f"{prefix}/packets/", f"{prefix}/results/")):
            return self._told(request)
        return 404, b"{}", {}

    def _packet(self, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        assert self.campaign is not None
        if self.answers:
            status, told, headers = self.answers.pop(0)
            return status, json.dumps(told).encode(), headers
        packet = wire.unpack(self.campaign, self.index, body, self.secret)
        wire.check_content(self.campaign, packet, wire.open_part(self.key, packet))
        header = packet.header
        at = (header.place, header.slot, header.item, header.number)
        if self.packets.setdefault(at, body) != body:
            return 409, json.dumps({"what": "another packet has this number"}).encode(), {}
        return 201, self.receipt or Receipt.of(packet, int(time.time()), self.key).to_json(), {}

    def _told(self, request: Any) -> tuple[int, bytes, dict[str, str]]:
        assert self.campaign is not None
        client = next(key for key in self.campaign.clients if request.path.endswith(to_text(key)))
        now = time.time() + self.clock
        try:
            text = request.headers["Quorate-Signature"]
            statements.check_request(client, self.campaign.hash, self.index, text, now)
        except wire.WireError as error:
            return 401, json.dumps({"time": int(now), "what": str(error)}).encode(), {}
        if "/results/" in request.path:
            return 200, self.results, {}
        items = [statements.ItemStatus(at[1], at[2], at[3], "stored") for at in self.packets]
        return 200, Status(False, tuple(items)).to_json(), {}


def started(
    folder: Path, protocol: str, parties: int, clients: list[ClientKey], **other: Any
) -> tuple[Campaign, list[Server]]:
    """Starts the servers of a campaign; the caller stops them."""
    servers = [Server(folder, index) for index in range(parties)]
    listed = [key.id for key in clients]
    table = fields([server.fields for server in servers], listed, protocol=protocol, **other)
    campaign = Campaign.from_json(canonical(table))
    for server in servers:
        server.start(campaign)
    return campaign, servers
