"""Conventions of scikit-learn for arguments: `get_params`, `set_params`, and checks of methods' arguments."""

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
    """An estimator that keeps the arguments that it was made with, so that `sklearn.base.clone` can copy it."""

    _arguments: dict[str, Any]

    def __new__(cls: type[Given], *given: Any, **named: Any) -> Given:
        made = super().__new__(cls)
        try:
            bound = inspect.signature(cls.__init__).bind(made, *given, **named)
        except TypeError:  # `__init__` raises a better message
            return made
        bound.apply_defaults()
        made._arguments = dict(list(bound.arguments.items())[1:])
        return made

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Returns the arguments by name, as in scikit-learn. `deep` has no effect: no argument is an estimator."""
        return dict(self._arguments)

    def set_params(self: Given, **params: Any) -> Given:
        """Changes arguments as if the estimator were made with them. Without arguments nothing changes.

        Unlike in scikit-learn, the learnt parameters are dropped.

        Raises:
            ConfigError: there is no such argument, or its value is not allowed; the estimator does not change.
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
    """Decorates a method that takes secret arrays: a session as the first argument raises an error with advice.

    The methods of imported models do take a session first.
    """
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
