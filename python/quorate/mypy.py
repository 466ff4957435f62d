"""A plugin for mypy: numpy's functions on secret arrays return secret arrays.

Without it, numpy's stubs type `np.stack([x, y])` as a numpy array. To use it, list the plugin in mypy's configuration:

    [tool.mypy]
    plugins = ["quorate.mypy"]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mypy.nodes import Expression, ListExpr, TupleExpr
from mypy.plugin import FunctionContext, MethodContext, Plugin
from mypy.types import Instance, TupleType, Type, UnionType, get_proper_type

__all__ = ["plugin"]

_OURS = "quorate.array.SecretArray"

# Functions for which numpy's stubs are right: shapes and numbers of elements are public.
_PUBLIC = ("numpy.shape", "numpy.size", "numpy.ndim", "numpy.broadcast_shapes", "numpy.isscalar")

# Functions of numpy that return several arrays.
_SEVERAL = ("split", "array_split", "vsplit", "hsplit", "dsplit", "unstack", "meshgrid", "broadcast_arrays")


def _secrets(kind: Type) -> Iterator[Instance]:
    """Yields the types of secret arrays in the type of an argument, also within lists, tuples and unions."""
    proper = get_proper_type(kind)
    if isinstance(proper, Instance):
        if proper.type.has_base(_OURS):
            yield proper
        for inner in proper.args:
            yield from _secrets(inner)
    elif isinstance(proper, (TupleType, UnionType)):
        for inner in proper.items:
            yield from _secrets(inner)


def _given(context: FunctionContext | MethodContext) -> Type:
    """Returns the type of a call: that of a secret array among its arguments, else the default."""
    for expressions in context.args:
        for expression in expressions:
            for secret in _secrets_of(context, expression):
                return secret
    return context.default_return_type


def _secrets_of(context: FunctionContext | MethodContext, expression: Expression) -> Iterator[Instance]:
    """Yields the types of secret arrays in an argument expression.

    In a literal list each element is inspected, because mypy gives the list itself the type that numpy asks for.
    """
    if isinstance(expression, (ListExpr, TupleExpr)):
        for item in expression.items:
            yield from _secrets_of(context, item)
    else:
        yield from _secrets(context.api.get_expression_type(expression))


class _Numpy(Plugin):
    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        """Returns the hook for functions such as `np.stack`."""
        numpys = fullname.startswith("numpy.") and fullname not in _PUBLIC
        return _given if numpys and fullname.rpartition(".")[2] not in _SEVERAL else None

    def get_method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        """Returns the hook for ufuncs such as `np.exp`, which are called by `__call__`, and for numpy's operators."""
        owner, _, name = fullname.rpartition(".")
        ufunc = owner.startswith("numpy.") and "ufunc" in owner.lower() and name == "__call__"
        operator = owner == "numpy.ndarray" and name.startswith("__") and name.endswith("__")
        return _given if ufunc or operator else None


def plugin(_: str) -> type[Plugin]:
    """Returns the plugin's class; mypy calls this function with its version."""
    return _Numpy
