"""The methods of `Session` that keep values for later sessions.

**Source**: our own; docs/security/kept.md. **Model**: parties follow the protocol.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from quorate import _source
from quorate._session._party_files import PartyFiles, party_files
from quorate._source import at
from quorate.array import SecretArray
from quorate.clients import require_cryptography
from quorate.errors import ConfigError, KeptError

if TYPE_CHECKING:
    from quorate._session._kept_memory import Memory
    from quorate.kept import Form, Known, PartyStores, Version
    from quorate.session import Session

__all__ = ["Keeping"]


class Keeping:
    """The methods of `Session` that keep values for later sessions."""

    _kept: Memory
    _config: Path | None

    def keep(self, name: str, value: SecretArray | Mapping[str, SecretArray], config: PartyFiles = None) -> None:
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
            ConfigError: parties may cheat, so that parts would need proofs; the value depends on clients of a campaign
                that does not let programs keep values; the name or the files cannot be used.
            DtypeError: an array is of another session.
            KeptError: a party could not store its part, and the value that was kept before stays; or another process
                works on this name.

        Example:
            >>> import quorate as qr
            >>> def train(mpc, x, y):
            ...     mpc.keep("weights", qr.learn.LinearRegression().fit(x, y).coef_)
            >>> def predict(mpc, x):
            ...     return x @ mpc.kept("weights")
        """
        session = self._ready("keep", name)
        from quorate.kept import wipe

        arrays, places = _arrays(session, name, value), party_files(session, "keep", config)
        form = _form(session, name, arrays)
        # What is drawn at random must not be drawn again under masks: a run of its own computes it, and shows nothing;
        # a later one opens what this one has left. Others may use the name meanwhile.
        session.reveal_all(*(array.reshape(-1)[:0] for array in arrays.values()))
        with self._kept.step(name), self._stores("keep", name, places) as stores:
            agreed = stores.agree()
            parts = _deal(session, form, arrays)
            version = stores.new(agreed, form)
            stores.on_each(lambda party, versions: versions.add(version, form, parts.get(party, ())))
            wipe(part for own in parts.values() for part in own)
            try:
                stores.all_have("the new version")
            except KeptError:
                stores.on_each(lambda _, versions: versions.drop(version))
                raise
            stores.on_each(lambda _, versions: versions.make_current(version))
        self._kept.arrays[name], self._kept.forms[name] = arrays, form
        stores.warn_of_left()

    def kept(self, name: str, config: PartyFiles = None) -> Any:
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
            KeptError: a party does not have the value, or it was kept by another family or number of parties; or
                another process keeps a value of this name now.
        """
        session = self._ready("kept", name)
        if name not in self._kept.arrays:
            places = party_files(session, "kept", config)
            explained = self._explained(name, config) if session._nothing_is_sent else None
            with self._kept.step(name):
                form, parts = self._read(name, places, explained)
                _check_form(session, form)
                arrays = {key: _entered(session, form, key, parts) for key in form.arrays}
            self._kept.arrays[name] = arrays
            self._kept.campaigns.update(form.campaigns)
        arrays = self._kept.arrays[name]
        return arrays[""] if list(arrays) == [""] else dict(arrays)

    def forget(self, name: str, config: PartyFiles = None) -> None:
        """Erases a kept value at all parties: the keys of its parts first. Arrays of this session stay.

        Args:
            name: the name that `keep` was given.
            config: as for `keep`.

        Raises:
            ConfigError: parties may cheat, or the name or the files cannot be used.
            KeptError: a party could not erase it, or another process works on it.
        """
        places = party_files(self._ready("forget", name), "forget", config)
        with self._kept.step(name), self._stores("forget", name, places) as stores:
            stores.agree()
            stores.on_each(lambda _, versions: versions.forget())
            stores.all_have("the end")
        self._kept.forms.pop(name, None)

    def _ready(self, call: str, name: str) -> Session:
        require_cryptography()
        from quorate.kept import check_name
        from quorate_client import families

        session = cast("Session", self)
        if families.may_cheat(session.protocol, session._options.family):
            what = f"{session.protocol} with these options is for parties that may cheat, whose parts would need proofs"
            raise ConfigError(at(f"{call}: {what}: keep values in a session of another family or without them"))
        self._kept.check(check_name(name))
        return session

    def _stores(self, call: str, name: str, places: Mapping[int, Any]) -> PartyStores:
        from quorate.kept import PartyStores

        return PartyStores(cast("Session", self), name, call, places)

    def _read(self, name: str, places: Mapping[int, Any], explained: Form | None) -> tuple[Form, dict[int, Any]]:
        """Returns the form of the version that counts, and the parts of the parties of this process."""
        with self._stores("kept", name, places) as stores:
            chosen = cast("Version", stores.agree().chosen)
            found = stores.on_each(lambda _, versions: (versions.form(chosen), versions.parts(chosen)))
            stores.all_have("parts")
        if explained is not None:
            return explained, {}
        forms = [form for form, _ in found.values()]
        return forms[0], {party: parts for party, (_, parts) in found.items()}

    def _explained(self, name: str, config: PartyFiles) -> Form:
        from quorate.kept import newest_form

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
    from quorate.kept import check_name

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


def _form(session: Session, name: str, arrays: Mapping[str, SecretArray]) -> Form:
    """Returns the form of what is to be kept.

    Raises:
        ConfigError: it depends on clients of a campaign that does not let programs keep values.
    """
    from quorate.kept import Form

    sessions = [session] if session._trunk is None else [session, session._trunk]
    read = [campaign for one in sessions for campaign in one._campaigns.read]
    kept_before = [campaign for one in sessions for campaign in one._kept.campaigns]
    campaigns = [(campaign.name, campaign.hash.hex()) for campaign in read]
    form = Form.of(session, name, arrays, [*campaigns, *kept_before])
    strict = next((campaign.name for campaign in read if campaign.keep == "no"), None)
    if form.has_clients and (strict is not None or not form.campaigns):
        named = f"campaign {strict!r}" if strict is not None else "their campaign, which this session has not read,"
        what = f"keep: {name!r} depends on what clients gave, and {named} does not let programs keep values"
        raise ConfigError(at(f'{what}: reveal results here, or make a campaign with keep = "yes"'))
    return form


def _check_form(session: Session, form: Form) -> None:
    if (form.protocol, form.parties) != (session.protocol, session.parties):
        where = f"{form.protocol} with {form.parties} parties, and this is {session.protocol} with {session.parties}"
        raise KeptError(at(f"kept: {form.name!r} was kept by {where}: open such a session, or keep it again"))
    unknown = [key for key, array in form.arrays.items() if array.known[0] is None and array.words.kind != "bit"]
    if unknown and session._options.strict:
        what = f"strict mode needs the range of every value, and {form.name!r} was kept without one"
        raise ConfigError(at(f"kept: {what}: keep it again, clipped or from inputs with bounds"))


def _deal(session: Session, form: Form, arrays: Mapping[str, SecretArray]) -> dict[int, list[Any]]:
    """Splits arrays into parts, and returns those of the parties of this process.

    All holders but the last draw masks, and the last one learns the array plus all masks.
    """
    from quorate.kept import bounds_of, drawn, negated, wipe

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
        for party, own_mask in masks.items():
            own.setdefault(party, []).append(negated(own_mask, words))
        if session._shadow is None:  # which goes on to use what is input
            wipe(masks.values())
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
    from quorate.kept import bounds_of

    known = form.arrays[key]
    named, bounds = f"{form.name}.{key}" if key else form.name, bounds_of(known.words)
    return session._input(own, party, known.shape, known.words, bounds, (f"{what} of kept {named}", None))
