"""Benchmarks of applications, called as users call them, in the papers' sizes: `quorate bench psi nearest tree ...`."""

from __future__ import annotations

import dataclasses
import itertools
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from quorate import apps
from quorate._bench._mobilenet import mobilenet
from quorate._bench._rows import filled, phases, summary
from quorate._families import FAMILIES
from quorate.dtypes import uint
from quorate.errors import ConfigError, DtypeError, ModelWarning, QuorateError
from quorate.learn import LogisticRegression
from quorate.models import _model
from quorate.models._backend import Secret
from quorate.models._linear import Bounds, PlainLinear, encode_linear
from quorate.models._onnx._model import scaled
from quorate.models._onnx._steps import Step, run_clear
from quorate.models._tflite._run import Owned
from quorate.models._tree import PlainTree, encode_tree
from quorate.session import Network, Session, local

__all__ = ["NAMES", "Asked", "links_of", "rows"]

#: Links in memory, a local network, and the cloud setting of the paper.
LINKS: dict[str, Network | None] = {
    "memory": None,
    "1 Gbit/s, 1 ms": Network(rtt_ms=1, mbit=1000),
    "70 Mbit/s, 170 ms": Network(rtt_ms=170, mbit=70),
}
#: The sharings to measure where a family has Y: the paper's assignments by hand, and the planner's choice among all.
#: Wherever A is allowed, products run in A.
MIXES: dict[str, tuple[str, ...]] = {
    "psi": ("B", "Y", "B+Y", "auto"),
    "nearest": ("A+B", "A+Y", "Y", "auto"),
    "powmod": ("A+B", "A+Y", "Y", "auto"),
    "tree": ("auto",),
    "svm": ("auto",),
    "mnist": ("auto",),
    "mobilenet": ("auto",),
    "train": ("auto",),
}
#: The names of links on the command line.
_CALLED = {"memory": "memory", "lan": "1 Gbit/s, 1 ms", "wan": "70 Mbit/s, 170 ms"}
#: Rows predicted to take more seconds than `MOST` are left out; rows of more than `LONG` seconds are run once.
MOST, LONG, RUNS = 60.0, 4.0, 3
_PAPER = "paper, two parties, local network"
_ONLINE = "paper, two parties, online phase, 1 Gbit/s"
_CHECKED = "SPDZ2k, two parties, loopback, k = 64"


@dataclasses.dataclass(frozen=True)
class Asked:
    """The arguments of a run of benchmarks.

    Attributes:
        protocol: the family, or "ot".
        parties: numbers of parties; if empty, those that the family is tested with (applications: the usual one).
        links: links to measure on; if empty, memory and TLS (applications: memory and two networks).
        options: the family's options, by name.
        rings, batches: if empty, the usual ones; applications have sizes of their own.
    """

    protocol: str
    parties: tuple[int, ...] = ()
    links: tuple[str, ...] = ()
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    rings: tuple[int, ...] = ()
    batches: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True)
class _Application:
    """A program to measure, and its right result.

    Attributes:
        bits, batch: the columns of the table.
        plan: returns the arrays that the program reveals.
        ask: runs the program and returns its result.
        wanted: the right result.
        peers: published figures of other systems.
    """

    bits: int
    batch: int
    plan: Callable[[Session], Sequence[Any]]
    ask: Callable[[Session], Any]
    wanted: Any
    peers: list[dict[str, Any]]


def _peer(name: str, seconds: float, note: str) -> dict[str, Any]:
    return {"name": name, "seconds": seconds, "bytes_per_party": None, "note": note}


def _psi() -> _Application:
    rng = np.random.default_rng(1)
    common = rng.choice(2**32, 1024, replace=False)
    a, b = (np.unique(np.concatenate([common, rng.integers(0, 2**32, 9000)]))[:4096] for _ in range(2))

    def ask(mpc: Session, to: Any = 1) -> Any:
        return apps.psi(mpc, a, b, bits=32, reveal_to=to)

    peers = [
        _peer("ABY, B", 2.6, f"163 MB in all; {_PAPER}"),
        _peer("ABY, Y", 4.3, f"247 MB in all; {_PAPER}"),
        _peer("ABY, B + Y", 3.3, f"182 MB in all; {_PAPER}"),
    ]
    return _Application(32, 4096, lambda mpc: ask(mpc, "nobody"), ask, np.intersect1d(a, b), peers)


def _nearest() -> _Application:
    rng = np.random.default_rng(2)
    records, query = rng.integers(0, 2**14, (512, 4)), rng.integers(0, 2**14, 4)

    def ask(mpc: Session, to: Any = 1) -> Any:
        return apps.nearest(mpc, records, query, dtype=uint(14), reveal_to=to)

    far = ((records - query) ** 2).sum(axis=1)
    peers = [
        _peer("ABY, A + Y", 0.19, f"5.0 MB in all; {_PAPER}"),
        _peer("ABY, A + B", 0.21, f"4.6 MB in all; {_PAPER}"),
    ]
    return _Application(32, 512, lambda mpc: ask(mpc, "nobody"), ask, (far.argmin(), far.min()), peers)


def _powmod() -> _Application:
    base, exponent, modulus = (np.array([v], np.uint64) for v in (0xDEADBEEF, 0xC0FFEE11, 0xFFFFFFFB))

    def power(mpc: Session) -> Any:
        given = (mpc.input(v, owner=i % 2, dtype=uint(32)) for i, v in enumerate((base, exponent, modulus)))
        return apps.powmod(mpc, *given)

    wanted = [pow(int(base[0]), int(exponent[0]), int(modulus[0]))]
    peers = [
        _peer("ABY, A + B + Y", 0.9, f"18.7 MB in all; {_PAPER}"),
        _peer("ABY, Y", 1.3, f"27.1 MB in all; {_PAPER}"),
    ]
    return _Application(32, 1, lambda mpc: [power(mpc)], lambda mpc: power(mpc).reveal(to=1), wanted, peers)


def _model_of(model: _model.Model, records: np.ndarray, bits: int, peers: list[dict[str, Any]]) -> _Application:
    """Returns predictions of party 0's model for party 1's records; each run shares the model again."""
    encoded, owners = _model.encode_records(model.shape, records), (0, 1)

    def plan(mpc: Session) -> Sequence[Any]:
        on = Secret(mpc, dataclasses.replace(model), 0)
        decisions = _model.run(on, model.shape, model._secrets, encoded, len(records), *owners)
        return [_model.choose(on, model.shape, decisions, model._secrets, 0)]

    wanted = model.predict_clear(records)

    def ask(mpc: Session) -> Any:
        return dataclasses.replace(model).predict(mpc, records, *owners)

    return _Application(bits, len(records), plan, ask, wanted, peers)


def _tree(depth: int = 9, features: int = 8, records: int = 1) -> _Application:
    """Returns a complete tree with random features, thresholds and labels, of the size of the paper's diabetes tree."""
    rng = np.random.default_rng(4)
    inner, count = 2**depth - 1, 2 ** (depth + 1) - 1
    left = np.where(np.arange(count) < inner, 2 * np.arange(count) + 1, -1)
    features_of, thresholds = rng.integers(0, features, count), rng.normal(size=count)
    plain = PlainTree(left, np.where(left < 0, -1, left + 1), features_of, thresholds)
    shape, secrets = encode_tree(plain, rng.integers(0, 2, count), (0, 1), features)
    peers = [_peer("SPDZ2k, k = 64", 0.122, _ONLINE), _peer("SPDZ, k = 64", 0.443, _ONLINE)]
    peers.append(_peer("MP-SPDZ", 4.0, f"{_CHECKED}, 256 MB a party, online 15 ms"))
    return _model_of(_model.Model(shape, secrets), rng.normal(size=(records, features)), 36, peers)


def _svm(classes: int = 10, features: int = 2048, records: int = 1) -> _Application:
    """Returns the largest of several linear decisions with random weights, with the dimensions of CIFAR-10."""
    rng = np.random.default_rng(5)
    weights, intercepts = rng.normal(size=(classes, features)), rng.normal(size=classes)
    plain = PlainLinear.direct(weights, intercepts, np.dtype(np.float64))
    shape, secrets, margin = encode_linear(plain, "linear", tuple(range(classes)), Bounds(1.0))
    peers = [_peer("SPDZ2k, k = 64", 0.099, _ONLINE), _peer("SPDZ, k = 64", 0.255, _ONLINE)]
    peers.append(_peer("MP-SPDZ", 5.9, f"{_CHECKED}, 492 MB a party, online 18 ms"))
    return _model_of(_model.Model(shape, secrets, margin), rng.uniform(-1, 1, (records, features)), 64, peers)


#: Published figures by the number of images: others on their own machines, and two others on a machine like ours.
_MNIST: dict[int, list[dict[str, Any]]] = {
    1: [
        _peer("Falcon", 0.042, "three parties, semi-honest, masks of zero"),
        _peer("MP-SPDZ", 0.079, "three parties, 0.44 MB a party"),
        _peer("SPU", 0.327, "three parties"),
        _peer("RSS over rings", 0.067, "the paper: three parties, their machines"),
    ],
    10: [_peer("MP-SPDZ", 0.685, "three parties, 4.4 MB a party"), _peer("SPU", 1.128, "three parties")],
    50: [],
}


def _mnist(images: int, peers: list[dict[str, Any]]) -> _Application:
    """Returns MiniONN's network for images of 28 x 28, with random weights: two convolutions and two dense layers."""
    rng = np.random.default_rng(6)

    def weights(*sizes: int) -> np.ndarray:
        return rng.normal(size=sizes) / np.sqrt(np.prod(sizes[1:]) if len(sizes) == 4 else sizes[0])

    conv = {"stride": [1, 1], "dilation": [1, 1], "pads": [[0, 0], [0, 0]], "groups": 1}
    pool = {"size": [2, 2], "stride": [2, 2], "pads": [[0, 0], [0, 0]], "ceil": False}
    steps = [
        Step("conv", (0,), conv, weights(16, 1, 5, 5), rng.normal(size=16)),
        Step("max_pool", (1,), pool),
        Step("relu", (2,)),
        Step("conv", (3,), conv, weights(16, 16, 5, 5), rng.normal(size=16)),
        Step("max_pool", (4,), pool),
        Step("relu", (5,)),
        Step("reshape", (6,), {"shape": [256]}),
        Step("matmul", (7,), {}, weights(256, 100), rng.normal(size=100)),
        Step("relu", (8,)),
        Step("matmul", (9,), {}, weights(100, 10), rng.normal(size=10)),
    ]
    model = scaled(steps, (1, 28, 28), (0.0, 1.0), bits=16, weight_bits=12, labels=range(10))
    drawn = rng.uniform(size=(8 * images, 1, 28, 28))
    two = np.sort(run_clear(steps, [drawn])[-1], axis=1)[:, -2:]
    # Images whose two largest outputs nearly agree are left out: either label would be right.
    records = drawn[two[:, 1] - two[:, 0] > 0.2][:images]
    shape = model.shape

    def plan(mpc: Session) -> Sequence[Any]:
        return [shape.program(mpc, model._secrets, [records], images, (0, 1))[shape.decided].argmax(axis=-1)]

    def ask(mpc: Session) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)  # it concerns proven ranges, not these inputs
            return model.predict(mpc, records)

    return _Application(shape.ring, images, plan, ask, model.predict_clear(records), peers)


#: Published figures for width 0.25 and resolution 128, on the authors' machines, one for each party.
_MOBILENET = [
    _peer("RSS over rings", 3.19, "the paper, three parties; 23.7 s of five"),
    _peer("MP-SPDZ", 3.19, "there, three parties; 442 s of five"),
]


def _mobilenet(width: float, resolution: int, peers: list[dict[str, Any]]) -> _Application:
    """Returns quantised MobileNet V1 with random weights, on one picture; outputs equal TFLite's bit for bit."""
    network = mobilenet(width, resolution, "exact")
    shape, rng = network.shape, np.random.default_rng(8)
    picture = rng.integers(0, 256, (1, *shape.sizes)).astype(np.uint8)

    def plan(mpc: Session) -> Sequence[Any]:
        return [shape.program(mpc, Owned(mpc, network, network._plan, 0), picture, 1, 1)[-1]]

    bits = max(step["ring"] for step in shape.steps if "ring" in step)
    wanted = network.decision_function_clear(picture)
    return _Application(bits, 1, plan, lambda mpc: network.decision_function(mpc, picture), wanted, peers)


def _train(records: int = 512, features: int = 30, size: int = 64) -> _Application:
    """Returns an epoch of logistic regression on random records of two owners, with labels by a hyperplane."""
    rng = np.random.default_rng(7)
    x = np.rint(rng.normal(size=(records, features)).clip(-4, 4) * 1024) / 1024
    y = (x @ rng.normal(size=features) > 0).astype(int)
    model = LogisticRegression(classes=2, epochs=1, batch_size=size)
    clear = model.fit_clear(x, y)
    sure = x[np.abs(clear.decision_function(x)) > 0.1]

    def given(mpc: Session) -> tuple[Any, Any]:
        parts = (slice(None, records // 2), slice(records // 2, None))
        owned = [(mpc.input(x[p], owner=i, bound=4), mpc.input(y[p], owner=i)) for i, p in enumerate(parts)]
        return mpc.concatenate([one[0] for one in owned]), mpc.concatenate([one[1] for one in owned])

    def ask(mpc: Session) -> Any:
        revealed = model.fit(*given(mpc)).reveal()
        return None if revealed is None else revealed.predict(sure)

    return _Application(64, records, lambda mpc: model._program(*given(mpc)), ask, clear.predict(sure), [])


_MADE: dict[str, Callable[[], list[_Application]]] = {
    "psi": lambda: [_psi()],
    "nearest": lambda: [_nearest()],
    "powmod": lambda: [_powmod()],
    "tree": lambda: [_tree()],
    "svm": lambda: [_svm()],
    "mnist": lambda: [_mnist(images, peers) for images, peers in _MNIST.items()],
    "mobilenet": lambda: [_mobilenet(0.25, 128, _MOBILENET)],
    "train": lambda: [_train()],
}
NAMES = tuple(_MADE)


def rows(names: Sequence[str], asked: Asked) -> Iterator[dict[str, Any]]:
    """Yields a row for each application, link and choice of sharings, in the format of the other workloads.

    Input and reveal are timed, too. Where there are several runs, planning is not: the plan of the first, uncounted run
    is reused.

    Raises:
        ConfigError: at once, where applications do not have the protocol or a link. Without names nothing is checked.
    """
    if not names:
        return iter(())
    return _measurements(names, asked, links_of(asked))


def links_of(asked: Asked) -> dict[str, Network | None]:
    """Returns the links that are asked for by their names in the table; all of `LINKS` if none is.

    Raises:
        ConfigError: applications do not have the protocol or a link.
    """
    if asked.protocol not in FAMILIES:
        raise ConfigError(f'no applications for protocol "{asked.protocol}"; there are some for {", ".join(FAMILIES)}')
    unknown = [link for link in asked.links if link not in _CALLED]
    if unknown:
        raise ConfigError(f"applications have no links {unknown[0]!r}: {', '.join(_CALLED)}")
    return {_CALLED[link]: LINKS[_CALLED[link]] for link in asked.links} or LINKS


def _measurements(names: Sequence[str], asked: Asked, links: dict[str, Network | None]) -> Iterator[dict[str, Any]]:
    mixes = {name: MIXES[name] if "Y" in FAMILIES[asked.protocol].sharings else ("auto",) for name in names}
    for name, parties in itertools.product(names, asked.parties or (None,)):
        for application, (link, network), sharings in itertools.product(_MADE[name](), links.items(), mixes[name]):
            called = name if sharings == "auto" else f"{name} in {sharings}"
            place: dict[str, Any] = {"parties": parties, "network": network, "sharings": sharings, "check": False}
            with local(asked.protocol, **place, **asked.options) as mpc:
                yield _row(called, application, link, mpc)


def _row(name: str, application: _Application, link: str, mpc: Session) -> dict[str, Any]:
    measured = None
    try:
        plan = mpc.explain(*application.plan(mpc))
        predicted = plan.offline.seconds + plan.online.seconds
        skipped = f"skipped: predicted to take {predicted:.0f} s" if predicted > MOST else None
    except (ConfigError, DtypeError) as error:  # such as values that are too wide for an option
        predicted, skipped = 0.0, f"skipped: {error}"
    if skipped is None:
        measured = _measured(application, mpc, 1 if predicted > LONG else RUNS)
    return filled(name, mpc, (application.bits, application.batch), link, skipped, measured, application.peers)


def _measured(application: _Application, mpc: Session, runs: int) -> dict[str, Any]:
    """Returns the figures of `runs` runs. Before several runs, one run is made that is not counted."""
    taken, walls = [], []
    for _ in range(runs + (runs > 1)):
        before, started = phases(mpc), time.perf_counter()
        result = application.ask(mpc)
        walls.append(time.perf_counter() - started)
        if not np.array_equal(result, application.wanted):
            raise QuorateError(f"wrong result {result}; please report this defect")
        taken.append(phases(mpc) - before)
    return summary(taken[-runs:], walls[-runs:])
