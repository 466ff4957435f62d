"""A plugin of mypy: numpy's functions of secret arrays give secret arrays.

numpy's stubs say that `np.stack([x, y])` is an array of numpy's. Whoever checks a program with mypy lists the plugin in
its configuration:

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

# What numpy's stubs say of them is right: shapes and numbers of elements are public.
_PUBLIC = ("numpy.shape", "numpy.size", "numpy.ndim", "numpy.broadcast_shapes", "numpy.isscalar")

# Functions of numpy that give several arrays.
_SEVERAL = ("split", "array_split", "vsplit", "hsplit", "dsplit", "unstack", "meshgrid", "broadcast_arrays")


def _secrets(kind: Type) -> Iterator[Instance]:
    """The types of secret arrays in the type of an argument, or of what it is a list, a tuple or a union of."""
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
    """The type of a call: of secret arrays one of these."""
    for expressions in context.args:
        for expression in expressions:
            for secret in _secrets_of(context, expression):
                return secret
    return context.default_return_type


def _secrets_of(context: FunctionContext | MethodContext, expression: Expression) -> Iterator[Instance]:
    """Those of an argument; of a list that is written out each element's, since the list has what numpy asks for."""
    if isinstance(expression, (ListExpr, TupleExpr)):
        for item in expression.items:
            yield from _secrets_of(context, item)
    else:
        yield from _secrets(context.api.get_expression_type(expression))


class _Numpy(Plugin):
    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        """Of `np.stack` and the like."""
        numpys = fullname.startswith("numpy.") and fullname not in _PUBLIC
        return _given if numpys and fullname.rpartition(".")[2] not in _SEVERAL else None

    def get_method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        """Of `np.exp`, which is an object with `__call__`, and of operators of numpy's arrays."""
        owner, _, name = fullname.rpartition(".")
        ufunc = owner.startswith("numpy.") and "ufunc" in owner.lower() and name == "__call__"
        operator = owner == "numpy.ndarray" and name.startswith("__") and name.endswith("__")
        return _given if ufunc or operator else None


def plugin(_: str) -> type[Plugin]:
    """What mypy calls, with its version."""
    return _Numpy
