"""What asks the servers of a deployment: kept requests that are sent as the same bytes, and signed calls."""

from __future__ import annotations

import abc
import json
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from quorate_client._https import Answer, Links
from quorate_client.deployment import Deployment
from quorate_client.errors import JobRefused, NotStored, OutboxError, Refused, Unreachable, WireError
from quorate_client.job import is_time, sign_call
from quorate_client.keys import ClientKey, to_text, write_private

__all__ = ["LOST_S", "PAUSE_S", "Asking", "opened"]

#: Seconds between two questions, and after which a server that does not answer is given up.
PAUSE_S, LOST_S = 0.5, 60.0

_LONGEST_PAUSE_S = 4.0


class Signed(Protocol):
    """A state that a server signs."""

    @property
    def server(self) -> int:
        """The server's index."""

    def is_by(self, point: bytes, deployment: bytes) -> bool:
        """Whether the server of this public key signed it."""


class Asked(Protocol):
    """A request that a requester signs."""

    @property
    def id(self) -> bytes:
        """Its id."""

    @property
    def json(self) -> bytes:
        """The bytes that are sent."""

    def sign(self, key: ClientKey) -> bytes:
        """Returns the signature of the requester."""


State = TypeVar("State", bound=Signed)
Listed = Callable[[Any], dict[str, Any]]


def opened(
    deployment: Deployment | str | os.PathLike[str],
    key: ClientKey | str | os.PathLike[str],
    store: str | os.PathLike[str] | None,
) -> tuple[Deployment, ClientKey, Path]:
    """Returns the list of servers, the requester's key, and the folder for requests that were sent.

    Raises:
        CampaignError: the list of servers cannot be read.
        KeyFileError: the key cannot be read.
        OutboxError: the key is no file, and no folder is named.
    """
    listed = deployment if isinstance(deployment, Deployment) else Deployment.load(deployment)
    if store is None:
        if isinstance(key, ClientKey):
            raise OutboxError("Name a folder for the requests, as store=, or give the key as a file.")
        store = f"{os.fspath(key)}.jobs"
    return listed, key if isinstance(key, ClientKey) else ClientKey.load(key), Path(store)


class Asking(abc.ABC, Generic[State]):
    """The requests of one requester at a deployment, of one kind."""

    #: The kind: its path at servers, what it is called, and how the files of kept requests end.
    _path: ClassVar[str]
    _called: ClassVar[str]
    _suffix: ClassVar[str]

    def __init__(self, deployment: Deployment, key: ClientKey, store: Path) -> None:
        self._deployment, self._key, self._folder = deployment, key, store
        self._ahead_s: dict[int, int] = {}  # of the clocks of servers that refused ours

    def __repr__(self) -> str:
        return f"{type(self).__name__}({to_text(self._key.id)}, {len(self._deployment.servers)} servers)"

    @abc.abstractmethod
    def _read(self, data: bytes) -> tuple[bytes, State]:
        """Reads a server's answer; returns the id that it is about, and the state.

        Raises:
            WireError: it is no state.
        """

    def send(self, asked: bytes, *, wait_s: float = LOST_S) -> None:
        """Sends a kept request to all servers, as the same bytes. One that has it already takes it once.

        Arguments:
            asked: its id.
            wait_s: seconds for which it is sent to servers that do not answer.

        Raises:
            OutboxError: there is no such request in the folder.
            JobRefused: one or more servers refused it; it is cancelled at the others.
            NotStored: a server could not be reached; `send` sends the same request again.
        """
        body, signature = self._kept(asked)
        left, problems, refusals = set(range(self.servers)), dict[int, Unreachable](), dict[int, Refused]()
        until, pause = time.monotonic() + wait_s, PAUSE_S
        while left:
            with Links() as links:
                for server in sorted(left):
                    try:
                        self._post(links, server, asked, body, signature)
                        left.discard(server)
                    except Refused as error:
                        left.discard(server)
                        refusals[server] = error
                    except Unreachable as error:
                        problems[server] = error
            if refusals or time.monotonic() + pause > until:
                break
            time.sleep(pause if left else 0)
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        if refusals:
            others = sorted(set(range(self.servers)) - set(refusals))
            answers = self._cancel(asked, others)
            silent = [one for one, answer in zip(others, answers, strict=True) if isinstance(answer, Unreachable)]
            reasons = [str(error) for error in refusals.values()]
            if silent:
                named = ", ".join(map(str, silent))
                reasons.append(f"Not cancelled at server {named}, which did not answer: cancel it again later.")
            raise JobRefused(tuple(refusals), tuple(reasons))
        if left:
            texts = " ".join(str(problems[server]) for server in sorted(left))
            kept = f"The request is kept: `quorate job send {asked.hex()}` sends the same bytes again."
            lack = f"{len(left)} of {self.servers} servers lack the {self._called}."
            raise NotStored(tuple(sorted(left)), f"{lack} {texts} {kept}")

    def states(self, asked: bytes) -> tuple[State | Refused | Unreachable, ...]:
        """Returns what each server states of a request: its state, or the error that it is unreachable or refuses."""
        with Links() as links:
            return tuple(self._told(links, server, "GET", asked) for server in range(self.servers))

    def cancel(self, asked: bytes) -> tuple[State | Refused | Unreachable, ...]:
        """Cancels a request at all servers, and returns what each states; what has ended stays as it is."""
        return self._cancel(asked, range(self.servers))

    def is_kept(self, asked: bytes) -> bool:
        """Whether the folder has a request, so that `send` can send it."""
        return self._file(asked).exists()

    @property
    def servers(self) -> int:
        """The number of servers."""
        return len(self._deployment.servers)

    def _file(self, asked: bytes) -> Path:
        return self._folder / f"{asked.hex()}{self._suffix}"

    def _keep(self, request: Asked) -> None:
        """Writes a request and its signature, so that the same bytes can be sent again."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise OutboxError(f"The folder {self._folder} cannot be made: {error.strerror}.") from None
        write_private(self._file(request.id), request.json + b"\n" + to_text(request.sign(self._key)).encode() + b"\n")

    def _kept(self, asked: bytes) -> tuple[bytes, str]:
        file = self._file(asked)
        try:
            body, signature, _ = file.read_bytes().split(b"\n")
        except OSError as error:
            raise OutboxError(f"The request {file} cannot be read: {error.strerror}.") from None
        except ValueError:
            raise OutboxError(f"The file {file} holds no request: remove it, and ask again.") from None
        return body, signature.decode("ascii", "replace")

    def _post(self, links: Links, server: int, asked: bytes, body: bytes, signature: str) -> State:
        headers = {"Content-Type": "application/json", "Quorate-Signature": signature}
        answer = links.ask(server, self._deployment.servers[server], "POST", self._path, headers, body)
        return self._state(answer, server, asked)

    def _cancel(self, asked: bytes, servers: Iterable[int]) -> tuple[State | Refused | Unreachable, ...]:
        with Links() as links:
            return tuple(self._told(links, server, "POST", asked, "/cancel") for server in sorted(servers))

    def _told(
        self, links: Links, server: int, method: str, asked: bytes, end: str = ""
    ) -> State | Refused | Unreachable:
        try:
            answer = self._call(links, server, method, f"{self._path}/{to_text(asked)}{end}")
            return self._state(answer, server, asked)
        except (Refused, Unreachable) as error:
            return error

    def _lists(self, path: str, name: str, read: Listed) -> tuple[list[dict[str, Any]] | Refused | Unreachable, ...]:
        """Returns the list of each server under a path, or the error of that server.

        Arguments:
            path: the path.
            name: the name of the list in the answer.
            read: reads one element.
        """
        found: list[list[dict[str, Any]] | Refused | Unreachable] = []
        with Links() as links:
            for server in range(self.servers):
                try:
                    answer = self._call(links, server, "GET", path)
                    answer.raise_for(server, self._name(server))
                    found.append([read(one) for one in json.loads(answer.data)[name]])
                except (Refused, Unreachable) as error:
                    found.append(error)
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                    found.append(Unreachable(server, f"{self._name(server)} answered without a list of {name}."))
        return tuple(found)

    def _call(self, links: Links, server: int, method: str, path: str) -> Answer:
        """Makes a signed call; a server whose clock differs says so, and is called once more by its own clock."""
        for _ in range(2):
            now = int(time.time()) + self._ahead_s.get(server, 0)
            signature = sign_call(self._key, self._deployment.hash, server, method, path, now)
            headers = {"Quorate-Signature": signature}
            body = b"" if method == "POST" else None
            answer = links.ask(server, self._deployment.servers[server], method, path, headers, body)
            told = answer.problem().get("time") if answer.status == 401 else None
            if not is_time(told):
                break
            self._ahead_s[server] = told - int(time.time())
        return answer

    def _state(self, answer: Answer, server: int, asked: bytes) -> State:
        answer.raise_for(server, self._name(server))
        point, deployment = self._deployment.servers[server].sign, self._deployment.hash
        try:
            about, state = self._read(answer.data)
            is_valid = (about, state.server) == (asked, server) and state.is_by(point, deployment)
        except WireError:
            is_valid = False
        if not is_valid:
            raise Unreachable(server, f"{self._name(server)} answered without a valid state of the {self._called}.")
        return state

    def _name(self, server: int) -> str:
        return f"Server {server} ({self._deployment.servers[server].url})"
