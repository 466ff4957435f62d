"""Sessions: the parties, in this process or connected by a network, and the program that they run."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, cast

import numpy as np

from quorate import _quorate, _source
from quorate._clear._shadow import Shadow
from quorate._display._progress import Progress
from quorate._families import DEFAULT
from quorate._session import _names
from quorate._session._all_parties import Everyone
from quorate._session._arguments import as_shape, checked_bound
from quorate._session._array_methods import ArrayMethods
from quorate._session._branching import Branching, Left
from quorate._session._building import Building
from quorate._session._connecting import closed, connected
from quorate._session._keeping import Keeping
from quorate._session._kept_memory import Memory
from quorate._session._link_speed import measured
from quorate._session._object_cache import ObjectCache
from quorate._session._options import LOCAL, OPTIONS, Options, named
from quorate._session._pools import pool_of
from quorate._session._requests import Asking
from quorate._session._settings import settings
from quorate._session._signals import Watch
from quorate._source import at
from quorate._values._frames import is_frame
from quorate._values._public_numbers import as_numbers, natural_dtype, pack, unpack, wiped
from quorate.array import SecretArray
from quorate.dtypes import Dtype, check
from quorate.dtypes import int as int_dtype
from quorate.errors import ConfigError, DtypeError, InputWarning, RangeError, RangeWarning, ShapeError
from quorate.plan import Plan
from quorate.stats import Stats
from quorate.tables._inputs import Files
from quorate.tables._secret import Announcing
from quorate.tables._submissions import Campaigning, Campaigns

__all__ = ["Network", "Session", "connect", "local"]

# Bits of a float64's significand.
_FLOAT_BITS = 53


class Network:
    """A network to simulate, or to predict seconds for: round-trip time in milliseconds, bandwidth in Mbit/s.

    >>> Network(rtt_ms=70, mbit=100)
    Network(rtt_ms=70.0, mbit=100.0)
    """

    def __init__(self, rtt_ms: float, mbit: float) -> None:
        self.rtt_ms, self.mbit = float(rtt_ms), float(mbit)
        _quorate.check_network(self.text)

    @property
    def text(self) -> str:
        """The network in the form that the command line takes."""
        return f"{self.rtt_ms!r},{self.mbit!r}"

    def __repr__(self) -> str:
        return f"Network(rtt_ms={self.rtt_ms}, mbit={self.mbit})"


Made = TypeVar("Made")


def _network_text(network: str | Network | None) -> str | None:
    if network is None:
        return None
    text = network.text if isinstance(network, Network) else network
    if not isinstance(text, str):
        raise ConfigError(at(f'network {network!r}: give "lan", "wan" or qr.Network(rtt_ms=, mbit=)'))
    _placed(_quorate.check_network, text)
    return text


def _placed(call: Callable[..., Made], *arguments: Any) -> Made:
    """Calls the native module; a `ConfigError` that it raises then names the user's line."""
    try:
        return call(*arguments)
    except ConfigError as error:
        raise ConfigError(at(str(error))) from None


class Session(ArrayMethods, Asking, Branching, Building, Files, Announcing, Campaigning, Keeping):
    """The parties and their program. Made by `qr.local`, `qr.connect` or `qr.session`; use it in a `with`.

    Attributes:
        me: this party's number in a deployment. In a local session, which has all parties, it equals the number of each
            of them: `values if mpc.me == 0 else None` works in both places.
        is_local: whether all parties are in this process.
        parties: the number of parties.
        protocol: the protocol's name, as `qr.local` takes it.
    """

    def __init__(self, native: _quorate.Session, network: str | None = None, options: Options | None = None) -> None:
        super().__init__()
        self._native = native
        self._network = network
        self._options = options or Options()
        self._settings = settings.copied()
        self._shadow = Shadow(self, self._options.trunc == "probabilistic") if self._options.shadow else None
        self._watches: Watch | None = None
        self._object_cache = ObjectCache()  # parameters of models
        self._campaigns = Campaigns()
        self._kept = Memory()
        self._config: Path | None = None  # of a party of a deployment
        self._told: set[tuple[str, int]] = set()  # lines that were warned of
        self.parties: int = native.parties
        self.is_local: bool = native.me is None
        self.me: int | Everyone = Everyone(self.parties) if native.me is None else native.me
        # The dtype of counts and positions: int(64), or as wide as this session's rings allow.
        self._whole = int_dtype(native.whole_bits)
        self.protocol: str = native.protocol

    def __repr__(self) -> str:
        where = "local" if self.is_local else f"party {self.me}"
        return f"<quorate {self.protocol} session, {self.parties} parties, {where}>"

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._native.is_forked():  # the session belongs to the process that opened it
            self.close(gave_up=kind is not None)

    def close(self, gave_up: bool = False) -> None:
        """Closes the session. The peers are told that this party is done or, with `gave_up`, that it failed.

        Runs that were asked for before end first, and a `Request` has its values after that; with `gave_up`, they are
        stopped. Threads that wait for their turn get `SessionClosed`. A pool that is not closed is a `RuntimeWarning`.

        A fork of the process (`os.fork`) does not take part in the session: there `close` raises an error, and leaving
        the `with` does nothing.
        """
        if self._native.is_forked():
            self._native.close(gave_up)  # raises; a lock of the cache may have been held when the process forked
        self._object_cache.clear()
        if self._trunk is not None and self.is_local:
            self._native, self._shadow = cast("_quorate.Session", Left()), None  # they are the other session's, too
            return
        if not gave_up and self._may_not_wait() and self._native.is_busy():
            gave_up = True
            text = "a request of this branch was not awaited before the branch was closed, so its run is stopped"
            warnings.warn_explicit(text, RuntimeWarning, *_source.line())
        try:
            if complaint := self._native.close(gave_up):
                warnings.warn_explicit(complaint, RuntimeWarning, *_source.line())
        finally:
            self._campaigns.close()
            closed(self, self._watches)

    # ---- arrays -----------------------------------------------------------------------------------------------------

    def input(
        self,
        values: Any = None,
        owner: int | None = None,
        shape: Sequence[int] | int | None = None,
        dtype: Dtype | None = None,
        bound: float | tuple[float, float] | None = None,
        bound_check: str = "proven",
    ) -> SecretArray:
        """Inputs a party's values as a secret array.

        Rounds: rss 1, aby 0, spdz2k 1, pika 0.

        Args:
            values: an array or nested list, a table or column of pandas, polars or pyarrow, or a callable that returns
                one. The callable is called at the owner only (and in a local session). Values are copied. In a
                deployment only the owner's values are used. Of values that another party gives, only shape and dtype
                are used, and an `InputWarning` says so.
            owner: the party whose values these are.
            shape: mandatory where the values are not given. The owner may announce the number of rows (`announce`).
            dtype: `qr.int(k)`, `qr.uint(k)`, `qr.fixed(k, f)`, `qr.real` or `qr.bit`. Without it integers become
                int(64) (int(32) under `mac=48`), reals `qr.real`, booleans bits. Mandatory where the values are not
                given.
            bound: the largest magnitude, or the lowest and the highest value, bound=(0, 3), where they are known.
                Comparisons then cost less, and range analysis starts from the bound. Reals with neither a dtype nor a
                bound may not exceed 2^26 = 67,108,864 in magnitude.
            bound_check: whether a stated bound is proven where parties may cheat. With "proven", the owner proves it if
                a position or a divisor depends on it, at the cost of a comparison for each element. "trusted" omits the
                proof. All parties must give the same value.

        Rounds and bytes:
            "rss": 1 round; the owner sends t elements for each element of the input, where n = 2t + 1 is the number of
            parties. "aby", and the data owners of "pika": none. "spdz2k", and malicious "pika": 1 round, in which the
            owner sends an element to each of the others.

        Raises:
            RangeError: a value does not fit the dtype or the bound, or is NaN or infinite.
            ShapeError, DtypeError, ConfigError: an argument is unsuitable; found before anything is sent.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([3, -5, 7], owner=0, bound=100)
            ...     print(x)
            SecretArray(shape=(3,), dtype=int(64))
        """
        is_trusted = self._is_trusted(bound_check, "input")
        return self._input(values, self._owner(owner), shape, dtype, bound, None, is_trusted)

    def _is_trusted(self, bound_check: str, what: str) -> bool:
        if bound_check not in ("proven", "trusted"):
            raise ConfigError(at(f'{what}: bound_check is "proven" or "trusted", not {bound_check!r}'))
        return bound_check == "trusted"

    def _input(
        self,
        values: Any,
        owner: int,
        shape: Sequence[int] | int | None,
        dtype: Dtype | None,
        bound: float | tuple[float, float] | None,
        column: tuple[str, list[str] | None] | None,
        is_trusted: bool = False,
    ) -> SecretArray:
        """Makes an input. `column` is its name and its words where it is a column of a table (`_columns.described`)."""
        here = self.me == owner
        array, is_ours = self._given(values, here, owner)
        wanted = None if dtype is None else check(dtype)
        if array is not None:
            wanted = wanted or natural_dtype(array, self._whole)
            _check_kind(array, wanted)
            size = array.shape
            if not here:
                self._name_unused(owner, size, wanted)
            if shape is not None and as_shape(shape) != size:
                raise ShapeError(at(f"input: the values have shape {size}, but shape={as_shape(shape)} was stated"))
        elif shape is None or wanted is None:
            raise ConfigError(
                at(
                    f"input: this party does not have party {owner}'s values: state shape= and dtype= at all parties; "
                    f"how many rows there are can be told, rows = mpc.announce(lambda: len(values), owner={owner}) "
                    "and shape=(rows,), as mpc.input_frame and mpc.input_file do by themselves"
                )
            )
        else:
            size = as_shape(shape)
        bound = checked_bound(bound)
        line = _source.line()
        with contextlib.ExitStack() as stack:
            own = None if not here or array is None else wiped(array, is_ours=is_ours and self._shadow is None)
            data = None if own is None else stack.enter_context(own)
            built = self._native.input(
                owner, list(size), wanted.parts, bound, data, column, is_trusted, False, None, line
            )
        made = SecretArray(self, built)
        if self._shadow is not None and array is not None:
            self._shadow.give(made._node, array)
        return made

    def _owner(self, owner: Any) -> int:
        if owner is None or isinstance(owner, bool) or not isinstance(owner, (int, np.integer)):
            raise ConfigError(at(f"input: owner must be a party's number, 0 to {self.parties - 1}, not {owner!r}"))
        if not 0 <= owner < self.parties:
            known = ", ".join(map(str, range(self.parties)))
            raise ConfigError(at(f"input: owner {owner} does not exist: this session has parties {known}"))
        return int(owner)

    def _given(self, values: Any, here: bool, owner: int) -> tuple[np.ndarray | None, bool]:
        """Returns the values as an array, and whether it is a copy that may be wiped."""
        if isinstance(values, SecretArray):
            raise DtypeError(at("input takes public values; this is a secret array already"))
        if callable(values):
            values = values() if here else None
        if values is None:
            if here and not self._nothing_is_sent:
                every = ", as every party is in a local session" if self.is_local else ""
                raise ConfigError(at(f"input: party {owner} is here{every}: give its values"))
            return None, False
        array = as_numbers(values, "input")
        return array, not is_frame(values) and array.dtype.kind in "iuf"

    def _name_unused(self, owner: int, shape: tuple[int, ...], dtype: Dtype) -> None:
        """Warns, once for each line, that the values which this party gives for another party's input are not used."""
        place = _source.line()
        if place in self._told:
            return
        self._told.add(place)
        text = (
            f"input: party {owner} owns this input and gives its values; of those that party {self.me} gives nothing "
            f"is used but shape and dtype (values of party {owner}'s that are written here are no secret). Say "
            f"values=None, shape={shape}, dtype=qr.{dtype!r} here, or give a callable with them, which is called at "
            "the owner alone; for numbers that all parties know there is mpc.constant"
        )
        warnings.warn_explicit(at(text), InputWarning, *place)

    def constant(self, values: Any, dtype: Dtype | None = None) -> SecretArray:
        """Returns public numbers, the same at all parties, as an array of the program. Local, without cost.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.constant([1, 2]).dtype)
            int(64)
        """
        array = as_numbers(values, "constant")
        wanted = natural_dtype(array, self._whole) if dtype is None else check(dtype)
        _check_kind(array, wanted)
        return SecretArray(self, self._native.constant(pack(array), wanted.parts, _source.line()))

    # ---- running ----------------------------------------------------------------------------------------------------

    def reveal_all(self, *arrays: SecretArray, to: int | Sequence[int] | None = None, units: bool = False) -> list[Any]:
        """Opens several arrays in one run, so that they share rounds.

        Args:
            arrays: the arrays to open.
            to: the party, or the parties, that learn them; None for all. Several parties receive them separately, in
                the same rounds.
            units: whether fixed point is returned as exact integers, the numbers times 2^f.

        Returns:
            The values of each array, as `SecretArray.reveal` returns them.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([3, -5], owner=0)
            ...     print(*mpc.reveal_all(x.sum(), x.max()))
            -2 3
        """
        targets, each = self._targets(arrays, to, "reveal_all"), len(_receivers(self, to))
        self._check_wait()
        with Progress() as progress:
            if self._shadow is not None and not self._native.is_forked():  # a fork is refused, and waits for no lock
                return list(self._shadow.run(targets, progress.show, units))[::each]
            values = self._native.run(targets, progress.show, units)
        return self._opened(values, arrays)

    @staticmethod
    def _opened(values: list[tuple[str, bytes] | None], arrays: Sequence[SecretArray]) -> list[Any]:
        """Returns the numpy arrays of opened values: of each array there is one for each of its receivers."""
        each = len(values) // max(len(arrays), 1)
        own = [next((v for v in values[i * each : (i + 1) * each] if v is not None), None) for i in range(len(arrays))]
        return [None if v is None else _shown(v, array) for v, array in zip(own, arrays, strict=True)]

    def _targets(
        self, arrays: Sequence[SecretArray], to: int | Sequence[int] | None, what: str
    ) -> list[tuple[int, int | None]]:
        receivers = _receivers(self, to)
        for place, array in enumerate(arrays, start=1):
            if not isinstance(array, SecretArray) or array._session is not self:
                raise DtypeError(at(_no_result(array, f"argument {place} of {len(arrays)}" * (len(arrays) > 1), what)))
        return [(array._node, receiver) for array in arrays for receiver in receivers]

    def _tell(self, array: SecretArray, what: str, beside: Sequence[SecretArray] = ()) -> Any:
        """Reveals to all parties a value that its owner announces. A plan shows `what`, its description.

        The run computes the arrays `beside` as well, and shows nothing of them.
        """
        return self.reveal_all(array, *(other.reshape(-1)[:0] for other in beside))[0]

    def explain(
        self,
        *arrays: SecretArray,
        to: int | Sequence[int] | None = None,
        network: str | Network | None = None,
    ) -> Plan:
        """Predicts what revealing `arrays` now would disclose, to whom, and its cost, by dry runs. Nothing is sent.

        Args:
            arrays: the arrays that would be revealed.
            to: the party, or the parties, that would learn them; None for all.
            network: "lan", "wan" or a `Network`. The seconds are then those of a deployment on that network, with each
                party on a machine like this one. Without it they are those of this session; in a local session all
                parties share the cores of this machine. Bytes, rounds and memory are always those of this session. A
                deployment on a slow link may take more memory, since more messages are under way at a time.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x, y = mpc.input([3, -5], owner=0), mpc.input([1, 2], owner=1)
            ...     plan = mpc.explain(x * y, network="wan")
            ...     print(plan.online.rounds, plan.online.seconds >= 3 * 0.046 / 2)
            ...     print(plan.reveals[0].to, plan.reveals[0].depends_on, plan.warnings)
            3 True
            None (0, 1) ()
        """
        text, targets = _network_text(network), self._targets(arrays, to, "explain")
        if self._may_not_wait() and self._native.is_busy():
            self._check_wait()  # a plan waits for the request that is under way
        return Plan.of(self._native.plan(targets, text, [], None), self, text or self._network)

    def measure_network(self) -> Network:
        """Measures round-trip time and bandwidth between the parties by two small programs, run a few times each.

        As with a reveal, every party of a deployment calls it at the same place in the program. Each party gets its own
        measurement. In a local session the links are this machine's memory, or those of the simulated network.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     network = mpc.measure_network()
            ...     plan = mpc.explain(mpc.input([3, -5], owner=0), network=network)
            ...     print(network.rtt_ms < 1000, plan.online.seconds > 0)
            True True
        """
        return Network(*measured(self))

    def stats(self) -> Stats:
        """Returns the measured cost of all runs of this session so far.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x, y = mpc.input([3, -5], owner=0), mpc.input([1, 2], owner=1)
            ...     _ = (x * y).reveal()
            ...     print(mpc.stats().online.rounds)
            3
        """
        return Stats.of(self)


def _check_kind(array: np.ndarray, dtype: Dtype) -> None:
    if array.dtype.kind == "f" and dtype.kind != "fixed":
        instead = "name dtype=qr.fixed(64, 16), or give whole numbers, np.rint(values).astype(int)"
        raise DtypeError(at(f"real numbers do not go into {dtype}: {instead}"))
    if array.dtype.kind in "iuO" and dtype.kind == "bit" and array.size and not np.isin(array, (0, 1)).all():
        raise RangeError(at("bits are 0 or 1; other integers were given"))


def _no_result(value: Any, which: str, what: str) -> str:
    """Returns the message for a value that `what`, "reveal_all", "explain" or "keep", does not take.

    `which` names the argument, and is empty for a single one.
    """
    which, aside = (f", {which}", f", {which},") if which else ("", "")
    if isinstance(value, SecretArray):
        there = {"explain": "explain it there", "keep": "keep it there"}.get(what, "reveal it there")
        return f"{what}: the array{aside} is of another session: {there}"
    if isinstance(value, (list, tuple)) and any(isinstance(item, SecretArray) for item in value):
        return f"{what} takes one array as an argument, not a {type(value).__name__}{which}: write {what}(*arrays)"
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return f"{what}: {value!r}{aside} is no secret array: write to={value!r} for the party that learns the results"
    return f"{what} takes secret arrays, and here is a {type(value).__name__}{which}: leave it out, it is public"


def _receivers(session: Session, to: int | Sequence[int] | None) -> Sequence[int | None]:
    """Returns the parties that learn a result, each once; [None] for all."""
    if to is None:
        return [None]
    named: list[Any] = list(to) if isinstance(to, Iterable) else [to]
    whole = all(isinstance(party, (int, np.integer)) and not isinstance(party, bool) for party in named)
    if not named or not whole or not set(named) <= set(range(session.parties)):
        last = session.parties - 1
        raise ConfigError(at(f"reveal: `to` must be a party's number, 0 to {last}, several, or None, not {to!r}"))
    return sorted({int(party) for party in named})


def _shown(value: tuple[str, bytes], array: SecretArray) -> Any:
    """Returns the numpy array of a revealed value. Warns where float64 loses digits of a stated dtype."""
    kind, data = value
    numbers = unpack(kind, data).reshape(array.shape)
    if kind == "f" and array.dtype.bits > _FLOAT_BITS and not array.dtype.grows and numbers.size:
        largest = float(np.abs(numbers).max())
        if largest * 2.0**array.dtype.frac > 2.0**_FLOAT_BITS:
            file, line = _source.line()
            if (f"{file} reveal", line) not in array._session._told:
                array._session._told.add((f"{file} reveal", line))
                text = f"reveal: {largest!r} has more than 53 bits in {array.dtype}; write reveal(units=True) for all"
                warnings.warn_explicit(at(text), RangeWarning, file, line)
    return numbers.copy() if array.shape else numbers[()]


@named(*OPTIONS, *LOCAL)
def local(
    protocol: str = DEFAULT,
    parties: int | None = None,
    network: str | Network | None = None,
    **options: Any,
) -> Session:
    """Opens a session with all parties in this process. They run the real protocol between their threads.

    Args:
        protocol: "rss" (3, 5 or 7 semi-honest parties with an honest majority), "aby" (two semi-honest parties),
            "spdz2k" (two or more, of which all but one may cheat) or "pika" (two parties and a third that deals
            correlations; semi-honest unless `malicious=True`).
        parties: 3, 5 or 7 for "rss", 3 if not stated; 2 for "aby"; 2 or more for "spdz2k", 2 if not stated; 3 for
            "pika".
        network: "lan", "wan" or `qr.Network(rtt_ms=70, mbit=100)`: a link to simulate, with real delays.
        options: any of

            - `check=False`: do not check whether values leave their dtype. The check is on by default: a local session
              has all values, and raises `RangeError` for a result that leaves its dtype, at its line.
            - `strict=True`: refuse a program whose values may leave their dtype; inputs then need a `bound=`.
            - `threads=4`: the threads on which each party computes; each party of a deployment may choose its own
              number. The default is the machine's cores, divided among the parties of a local session, but no more than
              8. More threads than cores raise a `CostWarning`.
            - `max_memory="4GB"`: the memory that a party may use. Large steps run in pieces; steps that cannot be cut
              and do not fit are refused. Without it the limit is the free memory where the parties run.
            - `sharings="A+Y"`: the sharings that the planner may choose from for each operation (docs/sharings.md);
              "auto" for all that the protocol has.
            - `offline_weight=0.1`: for the planner, the weight of a second of the offline phase relative to one online.
            - `trunc="probabilistic"`: products of fixed point are rounded down or up, which costs less than rounding
              down; `explain` prints the risk of a wrong result.
            - `shadow=True`: numpy repeats every operation. The first result that differs raises `ShadowError` with its
              line and values. For debugging only: every value of the program is opened in this process.
            - `seed=7`: all random numbers derive from this number, so that runs are the same, byte for byte. Insecure.
            - `forms="auto" | "masked" | "edabits" | "randbits"`: with "rss", how numbers are compared, and how
              correlations are made. Under "auto" three parties compare on the summands that they know. Otherwise
              numbers are opened masked, which takes fewer rounds online. "edabits" (from contributions) and "randbits"
              (from random bits) make correlations as the paper does. "auto" and "masked" make them in the way that is
              predicted to be faster on `network`; without a network, three parties make them from summands, in half the
              bytes.
            - `mac=64 | 48 | 32`: with "spdz2k", bits of the MAC keys. 64 are for values of up to 126 bits, with 57-bit
              statistical security. 48 (42-bit) and 32 (26-bit, with `allow_weak=True`) send less, and are for values of
              up to 32 bits, intermediate ones included.
            - `comparisons="auto" | "edabits" | "keys"`: with semi-honest "pika", how numbers are compared and
              truncated. For each number of 64 bits, keys take one round and 1.8 kB of dealing, edaBits six rounds and
              19 bytes. "auto" takes what is predicted to be faster for the number of elements on `network` or, without
              one, within a process.
            - `malicious=True`: with "pika", any one of the three parties may cheat arbitrarily, the dealing party
              included; experimental. It takes `mac`, too.
            - `allow_weak=True`: permits less than 40 bits of statistical security.
            - `random_bits="dabit" | "sqrt"`: with "spdz2k", how two parties make random bits: from bits that each of
              them proves ("dabit"), or by the paper's square roots ("sqrt").
            - `bits="auto" | "paper"`: with "spdz2k", how bits are shared. "auto" gives them MACs of their own. "paper"
              shares them as elements mod 2, and computes on them as the paper does.
            - `triples="t3" | "bucket" | "twokeys"`: with "spdz2k", how multiplication triples are made. "t3" is our own
              and sends least. "bucket" consists of published protocols only, and sends at least four times as much.
              "twokeys" is our own, too, has a shorter security argument, and sends 1.5 times as much as "t3".
            - `matrices="elementwise" | "experimental"`: with "spdz2k", how matrices are multiplied if a party knows one
              of them. "experimental" uses matrix triples where they send less: an eighth of the bytes for an SVM of 10
              classes and 2048 features. Besides their authors, only one reader has tried to attack them.

    Raises:
        ConfigError: an unknown protocol, network or option, options that do not go together, or a number of parties
            that the protocol cannot run with.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss", parties=5) as mpc:
        ...     print(mpc)
        <quorate rss session, 5 parties, local>
    """
    chosen = Options.of(options, ("protocol", "parties", "network"), local=True)
    if parties is not None and (isinstance(parties, bool) or not isinstance(parties, (int, np.integer)) or parties < 0):
        raise ConfigError(at(f"parties must be a whole number, not {parties!r}"))
    text = _network_text(network)
    count = None if parties is None else int(parties)
    seed = None if chosen.seed is None else str(chosen.seed)
    looks = chosen.check and not chosen.shadow
    native = _placed(_quorate.Session.local, str(protocol), count, text, chosen.parts, seed, looks)
    return Session(native, text, chosen)


@named(*OPTIONS)
def connect(
    path: str | os.PathLike[str],
    session: str | None = None,
    pool: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Session:
    """Makes this process one party of a deployment, as `path` (a party.toml) describes. Waits for the other parties.

    The file, or `quorate party --approve`, may list approved runs; all others are then refused. Either may also name an
    audit log, in which reveals are recorded. In one process, approvals hold for the first session with the file.

    While the session is open, SIGTERM ends this process as Ctrl-C does, with exit status 143, and the peers are told.
    If you have set a handler for SIGTERM before, it stays in place instead.

    Args:
        path: this party's configuration.
        session: the name by which the parties of this session meet, 1 to 64 bytes; `quorate party --session` overrides
            it. By default it is the script's ("interactive" without one), and other options make another session.
        pool: the folder of correlations that `quorate preprocess` made; by default `pool` in the file, if it is there.
            `quorate party --pool` overrides it. All parties use a pool, or none does.
        options: those of `qr.local` except shadow, seed and check. All except strict and threads must be the same at
            all parties.

    Raises:
        ConfigError: the file or a key cannot be used, a certificate is not the pinned one, the audit log cannot be
            written, or this party has a session of this name open.
        ProgramMismatch: another party chose other options.
        PeerTimeout: a party did not connect in time, or has not opened this session.
    """
    chosen = Options.of(options, ("path", "session", "pool"), local=False)
    used = pool_of(path, settings.pool if settings.pool is not None else pool)
    with _names.chosen(session) as name:
        located = None if used is None else (str(used.folder), used.key(), "use" if settings.making is None else "make")
        native, watches = connected(path, chosen.parts, name, located)
        opened = Session(native, options=chosen)
        opened._watches, opened._config = watches, Path(path)
        name.bind(opened)
    return opened
