"""Kept values of deployments: processes that are killed, and a party without a store."""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploying import Deployment, error_of
from keeping import Offices, in_memory


class Processes:
    """A deployment whose parties have stores."""

    def __init__(self, folder: Path) -> None:
        self.deployment, self.configs = Deployment(folder), list[Path]()
        for party in range(3):
            own = folder / f"office{party}"
            own.mkdir()
            (own / "store.key").write_bytes(os.urandom(32))
            (own / "store.key").chmod(0o600)
            (own / "serve.toml").write_text('store = "store.db"\nstore_key = "store.key"\n')
            config = own / "party.toml"
            config.write_text(self.deployment.config(party).read_text().replace('"party', '"../party'))
            self.configs.append(config)

    def start(self, body: str) -> list[Any]:
        script = self.deployment.script(body)
        return [self.deployment.start(i, script, config=config) for i, config in enumerate(self.configs)]

    def run(self, body: str) -> list[Any]:
        return [party.end() for party in self.start(body)]


@pytest.fixture
def processes() -> Iterator[Processes]:
    with in_memory() as folder:
        made = Processes(folder)
        try:
            yield made
        finally:
            made.deployment.stop()


LOOP = """
for i in range({first}, {first} + 200):
    mpc.keep("x", mpc.input(lambda: [i] * 3, owner=0, shape=3, dtype=qr.int(64)))
    print("kept", i, flush=True)
"""


def test_processes_that_are_killed_at_random_moments(processes: Processes) -> None:
    rng, first = random.Random(), 0
    for _ in range(3):
        parties = processes.start(LOOP.format(first=first))
        parties[0].wait_for(f"kept {first}\n")
        time.sleep(rng.uniform(0, 0.3))
        for party in rng.sample(parties, 3):
            party.kill()
            time.sleep(rng.choice([0, 0.01, 0.05]))
        said = [line.split() for party in parties for line in party.end().out.splitlines()]
        last = max(int(words[1]) for words in said if len(words) == 2)
        ended = processes.run('print(mpc.kept("x").reveal())')
        assert [e.status for e in ended] == [0, 0, 0], ended
        values = {tuple(map(int, re.findall(r"\d+", e.out))) for e in ended}
        assert values <= {(last,) * 3, (last + 1,) * 3} and len(values) == 1, (values, last)
        all_of_them = Offices(processes.configs, "rss", 3, {})
        all_of_them.settle("x")
        all_of_them.assert_one("x")
        first = last + 2


def test_a_party_without_a_store_is_named_at_all(processes: Processes) -> None:
    serve = processes.configs[1].with_name("serve.toml")
    serve.rename(serve.with_name("gone"))
    body = """
for call in (lambda: mpc.keep("x", mpc.input(lambda: [5], owner=0, shape=1, dtype=qr.int(64))),
             lambda: mpc.kept("x"), lambda: mpc.forget("x")):
    try:
        call()
        print("done")
    except qr.errors.KeptError as error:
        print(error)
"""
    ended = processes.run(body)
    assert [e.status for e in ended] == [0, 0, 0], ended
    for party, end in enumerate(ended):
        lines = end.out.splitlines()
        assert len(lines) == 3
        for call, line in zip(("keep", "kept", "forget"), lines, strict=True):
            where = r"at party 1: .*serve\.toml" if party == 1 else ".*not at party 1, whose own error says why"
            assert re.match(rf"{call} of 'x'(: | ){where}", line), (party, line)
    serve.with_name("gone").rename(serve)
    keep = 'mpc.keep("x", mpc.input(lambda: [5], owner=0, shape=1, dtype=qr.int(64)))'
    ended = processes.run(f'{keep}\nprint(mpc.kept("x").reveal())')
    assert [(e.status, e.out) for e in ended] == [(0, "[5]\n")] * 3, ended
    ended = processes.run('print(mpc.kept("none").reveal())')
    assert all("KeptError: kept: no party has a value 'none': keep it first" in error_of(e) for e in ended), ended
