"""The methods of `Session` that keep values for later sessions.

**Source**: our own; docs/security/kept.md. **Model**: parties follow the protocol.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from quorate import _source
from quorate._source import at
from quorate.array import SecretArray
from quorate.clients import require_cryptography
from quorate.errors import ConfigError, KeptError
from quorate.kept._form import ArrayForm, Form, Known, check_name
from quorate.kept._memory import Memory
from quorate.kept._words import bounds_of, drawn, negated

if TYPE_CHECKING:
    from quorate.kept._agreement import Office
    from quorate.kept._versions import Version
    from quorate.session import Session

__all__ = ["Keeping"]

Places = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None


class Keeping:
    """The methods of `Session` that keep values for later sessions."""

    _kept: Memory
    _config: Path | None

    def keep(self, name: str, value: SecretArray | Mapping[str, SecretArray], config: Places = None) -> None:
        """Keeps a secret value, so that later sessions of the same parties can compute on it. Nobody learns it.

        Each party stores a part of it; parts are uniform, and all parts together give the value. Parts are encrypted on
        disk. A value of this name that was kept before is replaced: at all parties, or at none. If `keep` is
        interrupted, the value may count or not, at all parties alike; the next call for the name finds out.

        `quorate kept list` shows what a party has. Programs that use a kept value are approved as others, and say what
        it depends on.

        Args:
            name: 1 to 64 letters, digits, dots, underscores and dashes.
            value: an array, or several ones by name, which are replaced together.
            config: this party's `party.toml`, beside which `serve.toml` names the store and its key; by default that of
                the session. In a local session a list of them, one for each party.

        Rounds and bytes: the computation of the value, and a round without bytes; for h holders (`rss`: more than half
        of the parties; `pika`: 2; `aby`: 2), h - 1 inputs of the size of the value and a reveal of it to one party; and
        two reveals, of 17 words and of one word of 4 bytes of each party.

        Raises:
            ConfigError: parties may cheat, so that parts would need proofs; the value depends on what clients gave; the
                name or the files cannot be used.
            DtypeError: an array is of another session.
            KeptError: a party could not store its part, and the value that was kept before stays; or another process
                works on this name.
            StoreError: the value is kept, but this party could not erase the one before; a later call for it does.

        Example:
            >>> import quorate as qr
            >>> def train(mpc, x, y):
            ...     mpc.keep("weights", qr.learn.LinearRegression().fit(x, y).coef_)
            >>> def predict(mpc, x):
            ...     return x @ mpc.kept("weights")
        """
        session = self._ready("keep", name)
        arrays, places = _arrays(session, name, value), _places(session, "keep", config)
        form = Form.of(session, name, arrays)
        _check_owners(form)
        with self._kept.step(name), self._office("keep", name, places) as office:
            agreed = office.agree()
            # What is drawn at random must not be drawn again under masks: a run of its own computes it, and shows
            # nothing; the next one opens what this one has left.
            session.reveal_all(*(array.reshape(-1)[:0] for array in arrays.values()))
            parts = _deal(session, form, arrays)
            version = office.new(agreed, form)
            office.each(lambda party, versions: versions.add(version, form, parts.get(party, ())))
            try:
                office.all_have("the new version")
            except KeptError:
                office.each(lambda _, versions: versions.drop(version))
                raise
            office.each(lambda _, versions: versions.choose(version))
            office.raise_own()
        self._kept.arrays[name], self._kept.forms[name] = arrays, form

    def kept(self, name: str, config: Places = None) -> Any:
        """Returns a value that an earlier session of the same parties kept, or this one.

        The first call for a name ends in a run in which all parties learn which version each of them has. The newest
        one counts that all have.

        Args:
            name: the name that `keep` was given.
            config: as for `keep`.

        Returns:
            An array, or a dictionary of arrays: whatever was kept, with its dtype, shape and proven range.

        Rounds and bytes: two reveals, of 17 words and of one word of 4 bytes of each party; then an input of the size
        of the value from each holder.

        Raises:
            ConfigError: parties may cheat, or the name or the files cannot be used; or the program is explained where
                the value is not in the store.
            KeptError: a party does not have the value, or it was kept by another protocol or number of parties.
        """
        session = self._ready("kept", name)
        if name not in self._kept.arrays:
            places = _places(session, "kept", config)
            explained = self._explained(name, config) if session._nothing_is_sent else None
            with self._kept.step(name):
                form, parts = self._read(name, places, explained)
                _check_form(session, form)
                arrays = {key: _entered(session, form, key, parts) for key in form.arrays}
            self._kept.arrays[name] = arrays
        arrays = self._kept.arrays[name]
        return arrays[""] if list(arrays) == [""] else dict(arrays)

    def forget(self, name: str, config: Places = None) -> None:
        """Erases a kept value at all parties: the keys of its parts first. Arrays of this session stay.

        Args:
            name: the name that `keep` was given.
            config: as for `keep`.

        Raises:
            ConfigError: parties may cheat, or the name or the files cannot be used.
            KeptError: a party could not erase it, or another process works on it.
        """
        places = _places(self._ready("forget", name), "forget", config)
        with self._kept.step(name), self._office("forget", name, places) as office:
            office.agree()
            office.each(lambda _, versions: versions.forget())
            office.all_have("the end")
        self._kept.forms.pop(name, None)

    def _ready(self, call: str, name: str) -> Session:
        session = cast("Session", self)
        self._kept.check(check_name(name))
        if session.protocol == "spdz2k" or session._options.family.get("malicious") == "yes":
            what = "where parties may cheat, a value cannot be kept beyond its session: parts would need proofs"
            raise ConfigError(at(f"{call}: {what}; use `rss`, `aby`, or `pika` without malicious=True"))
        require_cryptography()
        return session

    def _office(self, call: str, name: str, places: Mapping[int, Any]) -> Office:
        from quorate.kept._agreement import Office

        return Office(cast("Session", self), name, call, places)

    def _read(self, name: str, places: Mapping[int, Any], explained: Form | None) -> tuple[Form, dict[int, Any]]:
        """Returns the form of the version that counts, and the parts of the parties of this process."""
        with self._office("kept", name, places) as office:
            chosen = cast("Version", office.agree().chosen)
            found = office.each(lambda _, versions: (versions.form(chosen), versions.parts(chosen)))
            office.all_have("parts")
        if explained is not None:
            return explained, {}
        forms = [form for form, _ in found.values()]
        return forms[0], {party: parts for party, (_, parts) in found.items()}

    def _explained(self, name: str, config: Places) -> Form:
        from quorate.kept._versions import newest_form

        place = config or self._config
        if place is not None and not isinstance(place, (str, os.PathLike)):
            place = place[0]
        form = self._kept.forms.get(name)
        if form is None and place is not None:
            form = newest_form(place, name)
        if form is None:
            what = f"explain: this program uses kept value {name!r}, whose shape is known where it was kept"
            raise ConfigError(at(f"{what}: explain it at a party that has it, with --config its party.toml"))
        return form


def _arrays(session: Session, name: str, value: Any) -> dict[str, SecretArray]:
    arrays = {"": value} if isinstance(value, SecretArray) else value
    if not isinstance(arrays, Mapping) or not arrays:
        raise ConfigError(at(f"keep: {name!r} is not a secret array, or a dictionary of some"))
    for key, array in arrays.items():
        if key != "" or not isinstance(value, SecretArray):
            check_name(key)
        if not isinstance(array, SecretArray):
            raise ConfigError(at(f"keep: {key!r} of {name!r} is not a secret array"))
    session._targets(list(arrays.values()), None, "keep")  # an array of another session is refused
    return dict(arrays)


def _check_owners(form: Form) -> None:
    for key, array in form.arrays.items():
        if array.known[2][1]:
            named = f"{form.name!r}" if key == "" else f"{key!r} of {form.name!r}"
            what = f"keep: {named} depends on what clients of a campaign gave, who have agreed to no other program"
            raise ConfigError(at(f"{what}: reveal results in the program that reads the campaign"))


def _check_form(session: Session, form: Form) -> None:
    here = Form.of(session, form.name, {})
    if (form.protocol, form.parties) != (here.protocol, here.parties):
        where = f"{form.protocol} with {form.parties} parties, and this is {here.protocol} with {here.parties}"
        raise KeptError(at(f"kept: {form.name!r} was kept by {where}: open such a session, or keep it again"))
    unknown = [key for key, array in form.arrays.items() if array.known[0] is None and array.words.kind != "bit"]
    if unknown and session._options.strict:
        what = f"strict mode needs the range of every value, and {form.name!r} was kept without one"
        raise KeptError(at(f"kept: {what}: keep it again, clipped or from inputs with bounds"))


def _places(session: Session, call: str, config: Places) -> Mapping[int, Any]:
    """Returns the files of the parties of this process; none in a program that is explained."""
    if session._nothing_is_sent:
        return {}
    if not session.is_local:
        config = config or session._config
        if config is None:
            raise ConfigError(at(f"{call}: give config=, the `party.toml` beside the party's `serve.toml`"))
        return {int(session.me): config}
    if config is None or isinstance(config, (str, os.PathLike)) or len(config) != session.parties:
        what = f"a list of {session.parties} files `party.toml`, one for each party"
        raise ConfigError(at(f"{call}: in a local session give config=, {what}"))
    return dict(enumerate(config))


def _deal(session: Session, form: Form, arrays: Mapping[str, SecretArray]) -> dict[int, list[Any]]:
    """Splits arrays into parts, and returns those of the parties of this process.

    All holders but the last draw masks, and the last one learns the array plus all masks.
    """
    last, own, shown = form.holders - 1, dict[int, list[Any]](), []
    here = range(session.parties) if session.is_local else [int(session.me)]
    for key, array in arrays.items():
        known, words = form.arrays[key], form.arrays[key].words
        masks = {party: drawn(words, known.shape) for party in here if party < last and not session._nothing_is_sent}
        given = [_part(session, form, key, party, masks.get(party), "mask") for party in range(last)]
        column, line = (known.column[0], None), _source.line()
        of_nobody: Known = (bounds_of(words), (False, False), ([], False), ([], False))
        summed = session._native.kept([part._node for part in given], words.parts, form.name, of_nobody, column, line)
        mask = SecretArray(session, summed)
        shown.append(SecretArray(session, session._native.masked(array._node, mask._node, line)))
        for party, drawn_here in masks.items():
            own.setdefault(party, []).append(negated(drawn_here, words))
    revealed = session.reveal_all(*shown, to=last)
    if last in here and not session._nothing_is_sent:
        own[last] = revealed
    return own


def _entered(session: Session, form: Form, key: str, parts: Mapping[int, Any]) -> SecretArray:
    """Enters an array: the sum of what its holders input."""
    known = form.arrays[key]
    given = [_part(session, form, key, party, parts.get(party, {}).get(key), "part") for party in range(form.holders)]
    nodes, line = [part._node for part in given], _source.line()
    return SecretArray(session, session._native.kept(nodes, known.dtype, form.name, known.known, known.column, line))


def _part(session: Session, form: Form, key: str, party: int, own: Any, what: str) -> SecretArray:
    known: ArrayForm = form.arrays[key]
    named, bounds = f"{form.name}.{key}" if key else form.name, bounds_of(known.words)
    return session._input(own, party, known.shape, known.words, bounds, (f"{what} of kept {named}", None))
