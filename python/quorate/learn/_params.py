"""The habits of scikit-learn that are about arguments: `get_params`, `set_params`, and which ones methods take."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from quorate._source import at
from quorate.errors import ConfigError, DtypeError
from quorate.session import Session

__all__ = ["Params", "sessionless"]

Given = TypeVar("Given", bound="Params")
Method = TypeVar("Method", bound=Callable[..., Any])


class Params:
    """An estimator that knows what it was made with, so that `sklearn.base.clone` makes another one."""

    _arguments: dict[str, Any]

    def __new__(cls: type[Given], *given: Any, **named: Any) -> Given:
        made = super().__new__(cls)
        try:
            bound = inspect.signature(cls.__init__).bind(made, *given, **named)
        except TypeError:  # which `__init__` says better
            return made
        bound.apply_defaults()
        made._arguments = dict(list(bound.arguments.items())[1:])
        return made

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """What the estimator was made with, by name, as scikit-learn has it; none of it holds others (`deep`)."""
        return dict(self._arguments)

    def set_params(self: Given, **params: Any) -> Given:
        """Takes other arguments, as if made with them: what was learnt is forgotten, unlike in scikit-learn. Without
        any, nothing changes.

        Raises:
            ConfigError: there is no such argument, or it cannot be this; the estimator is as before.
        """
        if not params:
            return self
        for name in params:
            if name not in self._arguments:
                known = ", ".join(self._arguments)
                raise ConfigError(at(f"set_params: {type(self).__name__} has no argument {name!r}; there are {known}"))
        self.__dict__ = type(self)(**{**self._arguments, **params}).__dict__
        return self


def sessionless(method: Method) -> Method:
    """A method of secret arrays, which says so to whoever gives it a session first, as the models' methods want."""
    takes = ", ".join([name for name in inspect.signature(method).parameters if name != "self"][:2])
    takes = takes if takes == "X, y" else "X"

    @functools.wraps(method)
    def checked(self: Any, *given: Any, **named: Any) -> Any:
        if given and isinstance(given[0], Session):
            name = method.__name__
            raise DtypeError(
                at(
                    f"{name} takes no session: secret arrays know theirs; write model.{name}({takes}), with "
                    "X = mpc.input(records, owner=..., bound=...)"
                )
            )
        return method(self, *given, **named)

    return checked  # type: ignore[return-value]
