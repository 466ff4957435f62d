"""Makings for pools: what servers agree to, when one is proposed, and when it ends for a job. Nothing is computed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobserving import FakeRunner, Network, job_network
from queueing import Office
from quorate._command._makings import portions
from quorate._session._pools import PoolFolder, PoolHeld
from quorate.campaigns import Marks, Refused, Settings
from quorate.errors import ConfigError
from quorate.jobs import Pools, _pools
from quorate.jobs._making import Making
from quorate.jobs._turns import Turns
from quorate_client.keys import to_text

ASKED = {"rows": 5, "region": "north"}
LOT = "ab" * 32


class World:
    """Three servers with marks, whose pools have what a test says."""

    def __init__(self, net: Network, patch: pytest.MonkeyPatch) -> None:
        self.net, self.held, self.is_used = net, {0: None, 1: None, 2: None}, [False] * 3
        self.started: list[tuple[int, bytes]] = []
        patch.setattr(_pools, "_READ_S", -1.0)
        patch.setattr(_pools, "_PAUSE_S", 0.0)
        for server in range(3):
            self.give(server, Marks(net.program, 3, 10, ASKED))
            jobs = net.jobs(server)
            patch.setattr(jobs.pools, "folder", lambda server=server: _Folder(self, server))
            patch.setattr(
                jobs.runner, "start_making", lambda making, s, at=server: self._start(at, making), raising=False
            )
        jobs = net.jobs(0)
        self.turns = Turns(jobs.queue, jobs.runner, range(1, 3), self.call, pools=jobs.pools)

    def give(self, server: int, *marks: Marks) -> None:
        self.net.jobs(server).pools.marks = marks

    def _start(self, server: int, making: Making) -> None:
        if self.net.jobs(server).queue.start_making(making) is not None:
            self.started.append((server, making.id))

    def call(self, server: int, path: str) -> int:
        return self.net.call(server, "POST", path, self.net.servers[0].key).status

    def making(self) -> Making:
        jobs = self.net.jobs(0)
        return Making.of(jobs.deployment.hash, self.net.servers[0].key.sign, jobs.pools.marks[0], 10)

    def has(self, left: int, state: str = "free") -> None:
        """All pools have bundles for some starts, of which each takes two."""
        self.held = dict.fromkeys(range(3), PoolHeld("cd" * 32, state, {LOT: (2 * left + 1, 0, 9, {"triple": 4})}))

    def end(self, state: str = "done", server: int = 0) -> None:
        """Ends the making that runs."""
        queue, pools = self.net.jobs(server).queue, self.net.jobs(server).pools
        job = pools.running()
        result = pools._store.job_key.seal(json.dumps({"lots": {LOT: 2}, "made": 20}).encode(), job.id)
        queue.ended(job.id, state, "" if state == "done" else "PoolError", result if state == "done" else None)

    def end_all(self, state: str = "done") -> None:
        for server in range(3):
            self.end(state, server)

    def states(self, server: int = 0) -> list[str]:
        return [job.state for job in self.net.jobs(server).pools.makings()]


class _Folder(PoolFolder):
    def __init__(self, world: World, server: int) -> None:
        super().__init__(Path("pool"), Path(__file__))
        object.__setattr__(self, "_world", world)
        object.__setattr__(self, "_server", server)

    def held(self) -> PoolHeld | None:
        return self._world.held[self._server]  # type: ignore[attr-defined, no-any-return]

    def is_used(self) -> bool:
        return self._world.is_used[self._server]  # type: ignore[attr-defined, no-any-return]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with job_network(tmp_path, times=5, per_day=5) as net:
        yield World(net, monkeypatch)


def test_a_making_is_proposed_below_the_low_mark_alone(world: World) -> None:
    world.turns.look()
    assert sorted(server for server, _ in world.started) == [0, 1, 2], "no level is known before the first one"
    assert len({making for _, making in world.started}) == 1
    world.turns.look()
    assert len(world.started) == 3, "one at a time"
    world.has(10)
    world.end_all()
    for left, made in ((10, 3), (3, 3), (2, 6)):
        world.has(left)
        (level,) = world.net.jobs(0).pools.levels()
        assert level.starts == left
        world.turns.look()
        assert len(world.started) == made, left
    assert world.net.rows(0)[1] == [], "no use is counted"


def test_no_making_while_a_job_can_start_or_runs(world: World) -> None:
    job = world.net.queued()
    world.turns.look()
    assert world.started == [] and world.net.state(0, job).state == "running"
    world.turns.look()
    assert world.started == []
    for server in range(3):
        world.net.runner(server).finish(job)
    world.turns.look()
    assert len(world.started) == 3


def test_jobs_that_run_put_no_making_off(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pools, "_PAUSE_S", 50.0)
    job = world.net.queued()
    for _ in range(4):
        world.turns.look()
    for server in (0, 1):
        world.net.runner(server).finish(job)
    world.turns.look()
    assert world.started == [], "the job runs at server 2"
    world.net.runner(2).finish(job)
    world.turns.look()
    assert len(world.started) == 3


def test_a_pool_that_cannot_be_added_to_and_lacks_what_a_program_needs(world: World) -> None:
    world.turns.look()
    world.end_all()
    pools, kinds = world.net.jobs(0).pools, {"triple": 4}
    for left, status in ((1, 409), (2, 503)):  # a start takes two
        world.held[0] = PoolHeld("cd" * 32, "idle", {LOT: (left, 0, 9, kinds), "ef" * 32: (5, 0, 9, kinds)})
        with pytest.raises(Refused) as refused:
            pools.check(world.making())
        assert refused.value.status == status
        assert ("remove the pool's folder at all servers" in str(refused.value)) == (status == 409)
    world.held = dict.fromkeys(range(3))  # as advised
    pools.check(world.making())


@pytest.mark.parametrize("told", ["[]", '{"lots": 3}', '{"lots": {"a": "b"}}', '{"lots": {"a": 1e999}}', "{"])
def test_a_malformed_report_of_a_making_tells_no_level(world: World, told: str) -> None:
    world.turns.look()
    jobs = world.net.jobs(0)
    job = jobs.pools.running()
    jobs.queue.ended(job.id, "done", "", jobs.pools._store.job_key.seal(told.encode(), job.id))
    world.has(5)
    assert [level.starts for level in jobs.pools.levels()] == [None]


def test_one_making_at_a_time(world: World) -> None:
    world.turns.look()
    with pytest.raises(Refused, match="another making runs here: try later"):
        world.net.jobs(1).queue.check_making(world.making())


def test_a_job_that_a_server_lacks_neither_stops_a_making_nor_keeps_it_off(world: World) -> None:
    world.net.queued(servers=(0, 1))
    world.turns.look()
    assert len(world.started) == 3
    world.has(5)
    world.turns.wake()
    world.turns.look()
    assert not any(job.cancel for job in world.net.jobs(0).pools.makings())


def test_a_job_ends_a_making_once_all_servers_could_start_it(world: World) -> None:
    world.turns.look()
    job = world.net.queued()
    (making,) = world.net.jobs(0).pools.makings()
    pools = world.net.jobs(0).pools
    for state, left, ends in (("in use", 5, False), ("free", 0, False), ("free", 5, True)):
        world.has(left, state)
        pools._has_one = lambda _, left=left: left > 0  # an earlier making said what a start takes
        world.turns.look()
        assert world.net.jobs(0).queue.job(making.id).cancel == ends, (state, left)
    world.end_all("cancelled")
    world.turns.look()
    assert world.net.state(0, job).state == "running" and world.states() == ["cancelled"]


def test_a_job_of_another_program_does_not_wait_for_a_making(world: World) -> None:
    world.turns.look()
    world.has(0)
    world.net.queued(world.net.request(rows=6, region="north"))
    world.turns.look()
    assert world.net.jobs(0).pools.makings()[0].cancel == 1


@pytest.mark.parametrize(
    ("server", "change", "status"),
    [
        (1, "no table", 404),
        (2, "fewer", 409),
        (1, "other parameters", 404),
        (2, "revoked", 409),
        (1, "used", 503),
        (2, "left", 503),
        (1, "job", 503),
        (2, "halted", 503),
    ],
)
def test_one_server_that_does_not_agree_is_enough(world: World, server: int, change: str, status: int) -> None:
    net, jobs = world.net, world.net.jobs(server)
    if change in ("no table", "other parameters", "fewer"):
        parameters = {"rows": 6, "region": "north"} if change == "other parameters" else ASKED
        own = Marks(net.program, 3, 9 if change == "fewer" else 10, parameters)
        world.give(server, *(() if change == "no table" else (own,)))
    elif change == "revoked":
        from quorate.jobs import revoke

        revoke(jobs.pools._store, bytes.fromhex(net.program))
    elif change == "used":
        world.is_used[server] = True
    elif change == "left":
        world.held[server] = PoolHeld("cd" * 32, "idle", {LOT: (1, 0, 9, {})})
    elif change == "job":
        job = net.queued(servers=(server,))
        assert net.first(server, "start", job).status == 200
    else:
        jobs.queue._store.write(lambda c: c.execute("INSERT INTO meta VALUES ('jobs halted', x'00')")).result()
    making = world.making()
    for what in ("ask", "start"):
        assert world.call(server, f"{making.path}/{what}") == status
    world.turns.look()
    assert not [started for started in world.started if started[0] in (0, server)]
    assert world.states(server) == []


def test_calls_of_others_and_malformed_ones_make_nothing(world: World) -> None:
    making = world.making()
    for key in (world.net.key, world.net.servers[2].key):
        assert world.net.call(1, "POST", f"{making.path}/start", key).status == 404
    assert world.net.call(0, "POST", f"{making.path}/start", world.net.servers[0].key).status == 404
    entry, nonce = to_text(making.entry), to_text(making.nonce)
    for path in (
        f"{entry}/0/{nonce}",
        f"{entry}/010/{nonce}",
        f"{entry}/x/{nonce}",
        f"{entry}/10/{nonce}A",
        f"a/1/{nonce}",
    ):
        assert world.call(1, f"/makings/{path}/start") == 404, path
    assert world.call(1, f"{making.path}/start") == 200
    assert world.call(1, f"/jobs/{to_text(making.id)}/start") == 200, "it runs already, and nothing else starts"
    world.end("failed", 1)
    assert world.call(1, f"{making.path}/start") == 409, "each making runs once"
    assert len(world.started) == 1


def test_campaigns_and_used_up_programs_have_no_makings(world: World) -> None:
    store = world.net.jobs(1).pools._store
    for number in range(5):
        row = (bytes([number]) * 32, bytes.fromhex(world.net.program))
        store.write(lambda c, row=row: c.execute("INSERT INTO uses VALUES (?, ?, 1)", row)).result()
    assert world.call(1, f"{world.making().path}/ask") == 409


def test_a_making_that_fails_is_proposed_after_pauses_that_grow(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pools, "_PAUSE_S", 50.0)
    pools, now = world.net.jobs(0).pools, [world.net.jobs(0).queue._clock()]
    for server in range(3):
        monkeypatch.setattr(world.net.jobs(server).pools, "_clock", lambda: now[0])
        monkeypatch.setattr(world.net.jobs(server).queue, "_clock", lambda: now[0])
    for pause in (50, 100, 200):
        world.turns.look()
        world.end_all("failed")
        now[0] += pause - 1
        assert pools.due() is None
        assert world.call(1, f"{world.making().path}/ask") == 503, "server 0 cannot have it sooner"
        now[0] += 2
        assert pools.due() is not None, pause
    world.turns.look()
    world.has(1)
    world.end_all("done")
    now[0] += 51
    assert pools.due() is not None, "one that was done ends the row of failures"


def test_makings_are_not_among_jobs_and_a_restart_ends_them(world: World) -> None:
    world.turns.look()
    queue = world.net.jobs(0).queue
    assert queue.all() == queue.last(9) == [] == queue.of(world.net.servers[0].key.sign) and queue.counts() == {}
    assert queue.waiting() == []
    queue.unconnected(queue.makings(1)[0].id)
    assert world.states() == ["failed"], "it does not wait"
    world.net.jobs(1).queue.restarted()
    assert world.states(1) == ["failed"]


def test_programs_that_read_a_campaign_have_no_makings(tmp_path: Path) -> None:
    office = Office(tmp_path)
    try:
        code = "def program(mpc, campaign):\n    return 1\n"
        program = office.approve(code, '[parameters.campaign]\ntype = "campaign"\n')
        making = Making.of(office.deployment.hash, bytes(65), Marks(program, 1, 2, {"campaign": "5f" * 32}), 2)
        with pytest.raises(Refused, match="reads a campaign, for which no pool is made"):
            office.queue.check_making(making)
    finally:
        office.close()


def test_what_a_making_is_kept_as(world: World) -> None:
    making = world.making()
    assert Making.from_json(making.json) == making and Making.from_json(making.json).id == making.id
    other = Marks(making.program, 3, 10, {"rows": 5, "region": "south"})
    assert other.entry != making.entry == Marks(making.program, 1, 2, dict(reversed(ASKED.items()))).entry


def test_portions_end_at_the_number_of_starts() -> None:
    for times in (1, 2, 9, 10, 11, 65536):
        for count in (1, 10):
            made = portions(times, count)
            assert made[-1] == times and made == sorted(set(made)) and len(made) <= count and made[0] >= 1


def test_the_metrics_of_pools(world: World, tmp_path: Path) -> None:
    from quorate.serve._metrics import Metrics

    jobs = world.net.jobs(0)
    metrics = Metrics(world.net.servers[0].settings, jobs.pools._store, lambda: True)
    metrics._pools = jobs.pools
    world.turns.look()
    world.has(2)
    world.end_all()
    samples = {sample.name: sample for family in metrics._of_pools() for sample in family.samples}
    assert {name: sample.value for name, sample in samples.items()} == {
        "quorate_pool_starts": 2,
        "quorate_pool_low_starts": 3,
        "quorate_pool_making_failed": 0,
    }
    entry = jobs.pools.marks[0].entry.hex()[:16]
    assert samples["quorate_pool_starts"].labels == {"program": world.net.program[:16], "entry": entry}


TABLE = '[[pool]]\nprogram = "{}"\nlow = 2\nhigh = 4\n'.format("5f" * 32)


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        (TABLE.replace("low = 2", "low = 5"), "`pool.low` is above `pool.high`"),
        (TABLE.replace("low = 2", "low = 0"), "`pool.low` must be an integer from 1 to 65536"),
        (TABLE.replace("high = 4", "high = true"), "`pool.high` must be an integer"),
        (TABLE.replace("5f", "xy", 1), "`pool.program` must be the hash of a program"),
        (TABLE + "times = 3", "there is no key `pool.times`"),
        (TABLE + "parameters = { rows = 1.5 }", "`pool.parameters` must be a table of integers and texts"),
        (TABLE + 'form = "0=3"', "`pool.form` must be a list of texts"),
        (TABLE + "timeout_s = 0", "`pool.timeout_s` must be an integer"),
        (TABLE + TABLE.replace("high = 4", "high = 9"), "two tables [[pool]] are for the same program"),
        (TABLE.replace("[[pool]]", "[pool]"), "`pool` must be a list of tables"),
    ],
)
def test_tables_that_are_refused(tmp_path: Path, tables: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings(tmp_path, tables)
    assert said in str(caught.value)


def test_tables_are_read_and_need_a_pool(tmp_path: Path) -> None:
    own = settings(tmp_path, TABLE + 'parameters = { rows = 3 }\nform = ["0=3x2:int32"]\ntimeout_s = 9\n')
    assert own.marks == (Marks("5f" * 32, 2, 4, {"rows": 3}, ("0=3x2:int32",), 9),)
    assert settings(tmp_path, "").marks == ()
    with pytest.raises(ConfigError, match="has no pool: name its folder"):
        settings(tmp_path, TABLE, pool="")
    two = TABLE + TABLE + "parameters = { rows = 3 }\n"
    assert len(settings(tmp_path, two).marks) == 2
    with pytest.raises(ConfigError, match="made in one session"):
        settings(tmp_path, two, protocol="spdz2k")


def settings(folder: Path, tables: str, pool: str = 'pool = "pool"\n', protocol: str = "rss") -> Settings:
    (folder / "party.toml").write_text(f'me = 0\nprotocol = "{protocol}"\n{pool}[[party]]\n[[party]]\n[[party]]\n')
    names = ("store", "store_key", "service_key", "certificate", "key")
    fields = "".join(f'{name} = "{name}"\n' for name in names)
    (folder / "serve.toml").write_text(f'listen = "127.0.0.1:1"\n{fields}[jobs]\nservers = "servers.toml"\n{tables}')
    return Settings.read(folder / "party.toml")


def refused(call: Any) -> Refused:
    with pytest.raises(Refused) as caught:
        call()
    return caught.value


def test_a_pool_without_its_folder(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    pools: Pools = world.net.jobs(0).pools
    monkeypatch.setattr(pools, "folder", lambda: None)
    assert refused(lambda: pools.check(world.making())).status == 409
    assert isinstance(world.net.runner(0), FakeRunner)
