"""A file's inputs: which of them are secret, public or constant, their types, and the axis of the batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from quorate.errors import ModelError

ANY = 3
"""A size that stands for any batch: above 1, so that it differs from an axis of one place."""

FLOATS = (1, 11)  # TensorProto.FLOAT, DOUBLE
WHOLE = (6, 7)  # TensorProto.INT32, INT64
ROLES = ("secret", "public")
"""The values of `inputs=` for an input that is not a constant."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """An input that questions give.

    Attributes:
        name: its name in the file.
        sizes: its sizes, with the batch first.
        axis: the axis of the batch in the file.
        is_index: whether inputs are whole numbers by which rows of tables are looked up.
        is_public: whether all parties give it.
        is_named: whether the file has other inputs, so that questions use its name.
    """

    name: str
    sizes: tuple[int, ...]
    axis: int = 0
    is_index: bool = False
    is_public: bool = False
    is_named: bool = False


def split(
    onnx: Any, graph: Any, taken: Callable[[str], bool], inputs: Mapping[str, Any] | None
) -> tuple[list[Any], dict[str, Any]]:
    """Returns the inputs that questions give, secret ones first; and the numbers of those that are constants.

    Args:
        onnx: the package.
        graph: the file's graph.
        taken: whether the outputs depend on a value.
        inputs: the roles that the model's owner gives to inputs, by name.

    Raises:
        ModelError: `inputs` names a value that is no input, gives another role, or leaves no secret input.
    """
    said = {} if inputs is None else dict(inputs)
    known = {tensor.name for tensor in graph.initializer}
    given = [value for value in graph.input if value.name not in known]
    names = [value.name for value in given]
    allowed = {value.name for value in graph.input}  # a value with a default in the file is an input, too
    for name, role in said.items():
        if name not in allowed:
            raise ModelError(f"from_onnx: inputs= names {name!r}; the model's inputs are {_listed(names)}")
        if isinstance(role, str) and role not in ROLES:
            raise ModelError(
                f"from_onnx: inputs={{{name!r}: {role!r}}}: an input is 'secret', 'public', or an array of constants"
            )
    roles = {value.name: said.get(value.name, "secret") for value in given if taken(value.name)}
    left = [value for value in given if isinstance(roles.get(value.name), str)]
    if not any(roles[value.name] == "secret" for value in left):
        raise ModelError(f"from_onnx: none of the inputs {_listed(names)} is secret: there is nothing to protect")
    constants = {name: role for name, role in said.items() if not isinstance(role, str)}
    left.sort(key=lambda value: roles[value.name] != "secret")
    _check_types(onnx, left)
    return left, {**constants, **{value.name: roles[value.name] for value in left}}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "none"


def _check_types(onnx: Any, values: Sequence[Any]) -> None:
    for value in values:
        kind = value.type.tensor_type.elem_type
        if kind in (*FLOATS, *WHOLE):
            continue
        types = {number: name.lower() for name, number in onnx.TensorProto.DataType.items()}
        name = types.get(kind, f"of type {kind}, which ONNX does not have")
        raise ModelError(
            f"from_onnx: the input {value.name!r} is {name}; networks with inputs of float32 or float64 are supported, "
            "and of int32 or int64 where tables are looked up by them: export it so, without quantisation or half "
            f"precision, or give it as a constant, inputs={{{value.name!r}: ...}}"
        )


def is_index(value: Any, is_cast: Callable[[str], bool]) -> bool:
    """Returns whether an input is of whole numbers: by its type, or because all its users cast it to such first."""
    return value.type.tensor_type.elem_type in WHOLE or is_cast(value.name)


def entries(
    values: Sequence[Any], shape: Any, indices: Mapping[str, bool], roles: Mapping[str, Any]
) -> tuple[int | None, list[Entry]]:
    """Returns the batch size, None if it is open, and each input with a number that stands for it."""
    shapes = _by_name(shape, [value.name for value in values])
    found: list[tuple[Any, int, list[int | None]]] = []
    first = _named(values[0], 1 if indices[values[0].name] else 2)
    batch, word = first[0], values[0].type.tensor_type.shape.dim[0].dim_param
    for place, value in enumerate(values):
        dims = first if place == 0 else _named(value, 1)
        axis = 0 if place == 0 else _batch_axis(value, dims, batch, word)
        found.append((value, axis, [n for i, n in enumerate(dims) if i != axis]))
    made = []
    for value, axis, dims in found:
        sizes = _stated(value, axis, dims, shapes.get(value.name))
        is_public = roles[value.name] == "public"
        made.append(Entry(value.name, (batch or ANY, *sizes), axis, indices[value.name], is_public, len(roles) > 1))
    return batch, made


def _by_name(shape: Any, names: Sequence[str]) -> Mapping[str, Any]:
    """Returns the shapes that `shape=` states, by name."""
    if shape is None or isinstance(shape, Mapping):
        wrong = [] if shape is None else [name for name in shape if name not in names]
        if wrong:
            raise ModelError(f"from_onnx: shape= names {_listed(wrong)}; the inputs are {_listed(names)}")
        return shape or {}
    return {names[0]: shape}


def _named(value: Any, least: int) -> list[int | None]:
    """Returns the sizes that the file states, None for others."""
    dims = list(value.type.tensor_type.shape.dim)
    if len(dims) < least:
        more = "" if least > 1 else f", or give it as a constant, inputs={{{value.name!r}: ...}}"
        raise ModelError(f"from_onnx: the input {value.name!r} has {len(dims)} axes; the first one is the batch{more}")
    return [d.dim_value if d.HasField("dim_value") and d.dim_value > 0 else None for d in dims]


def _batch_axis(value: Any, dims: Sequence[int | None], batch: int | None, word: str) -> int:
    """Returns the batch's axis of a further input, by the name or the size of the first input's first axis."""
    words = [d.dim_param for d in value.type.tensor_type.shape.dim]
    if word and word in words:
        return words.index(word)
    alike = [i for i, n in enumerate(dims) if n == batch]
    if 0 in alike or len(alike) == 1:
        return alike[0] if 0 not in alike else 0
    raise ModelError(
        f"from_onnx: which axis of the input {value.name!r} of shape {_shown(dims)} is the batch cannot be told: give "
        f"it as a constant, inputs={{{value.name!r}: ...}}, or name that axis as the first input's in the file"
    )


def _shown(dims: Sequence[int | None]) -> tuple[Any, ...]:
    return tuple("?" if n is None else n for n in dims)


def _stated(value: Any, axis: int, dims: list[int | None], shape: Sequence[int] | None) -> tuple[int, ...]:
    """Returns the sizes of one input, without the batch."""
    if shape is not None:
        given = [int(n) for n in shape]
        if len(given) != len(dims) or any(k not in (None, n) for k, n in zip(dims, given, strict=True)):
            raise ModelError(f"from_onnx: shape={tuple(given)} is not that of one input of the model, {_shown(dims)}")
        dims = [*given]
    words = [d.dim_param for i, d in enumerate(value.type.tensor_type.shape.dim) if i != axis]
    unknown = [i for i, n in enumerate(dims) if n is None]
    if unknown:
        what = ", ".join(f"{i + 1} ({words[i] or 'no name'})" for i in unknown)
        raise ModelError(
            f"from_onnx: sizes of the input {value.name!r} are not known along axis {what}: give shape= of one input, "
            f"without the batch, as it will be: {_shown(dims)}"
        )
    return tuple(n for n in dims if n is not None)


def constant_of(onnx: Any, value: Any, given: Any, batch: int, word: str) -> np.ndarray:
    """Returns the constant for an input, in the type that the file states, with `batch` records along its batch.

    Raises:
        ModelError: its shape or its numbers are not what the file takes.
    """
    kind = value.type.tensor_type
    dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
    try:
        array = np.asarray(given)
        made = array.astype(dtype)
    except (TypeError, ValueError) as error:
        raise ModelError(f"from_onnx: inputs= gives no numbers for {value.name!r}: {error}") from error
    if array.dtype.kind not in "biuf" or (dtype.kind in "biu" and (made != array).any()):
        raise ModelError(f"from_onnx: inputs= gives {array.dtype} for {value.name!r}, which is {dtype}")
    dims = list(kind.shape.dim)
    sizes = [d.dim_value if d.HasField("dim_value") and d.dim_value > 0 else None for d in dims]
    if made.ndim != len(dims) or any(n not in (None, m) for n, m in zip(sizes, made.shape, strict=True)):
        raise ModelError(
            f"from_onnx: inputs= gives an array of shape {made.shape} for {value.name!r}, which has {_shown(sizes)}"
        )
    for axis, dim in enumerate(dims):
        if word and dim.dim_param == word and made.shape[axis] == 1:
            made = np.repeat(made, batch, axis=axis)
    return made


def only_input(onnx: Any, graph: Any, known: dict[str, Any], said: Mapping[str, Any]) -> Any:
    """Returns the input of a quantised network that questions give; others become known constants.

    Raises:
        ModelError: there are several, or none, or one is said to be public.
    """
    left = {value.name: value for value in graph.input if value.name not in known}
    all_of = {value.name: value for value in graph.input}
    for name, role in said.items():
        if name not in all_of:
            raise ModelError(f"from_onnx: inputs= names {name!r}; the model's inputs are {_listed(left)}")
        if not isinstance(role, str):
            known[name] = constant_of(onnx, all_of[name], role, 1, "")
        elif role != "secret" or name not in left:
            raise ModelError(
                f"from_onnx: inputs={{{name!r}: {role!r}}}: an input of a quantised network is an array of constants, "
                "and 'secret' the one that questions give"
            )
    left = {name: value for name, value in left.items() if name not in known}
    if len(left) != 1:
        raise ModelError(
            f"from_onnx: questions give one input of a quantised network, and of this file {_listed(left)}: make "
            "constants of all inputs but one, inputs={name: array}"
        )
    return next(iter(left.values()))
