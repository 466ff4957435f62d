"""PyTorch modules, by way of ONNX."""

from __future__ import annotations

from typing import Any

from quorate.errors import ModelError
from quorate.models._onnx._model import Network, from_onnx
from quorate.models._said import short

_OPSET = 18


def from_torch(module: Any, example: Any, **options: Any) -> Network:
    """Makes a PyTorch module into a model that computes on secret inputs: exported to ONNX, and taken from there.

    Needs `torch` 2.5 or later, `onnxscript` and `onnx`. The module is exported as it predicts (`module.eval()`), and
    left in the mode in which it was.

    Args:
        module: a `torch.nn.Module` of one input whose first axis is the batch.
        example: inputs of the right shape, a tensor or an array; of their values nothing is used, but whole numbers for
            a module with an `Embedding`.
        options: those of `from_onnx`: `bound=` or `sample=`, `labels=`, `bits=`, `weight_bits=`, `tolerance=`.

    Raises:
        ModelError: torch or onnxscript are not installed, this is no module, torch cannot export it (it says why), or
            `from_onnx` does not take what it exports.

    Example:
        >>> import quorate as qr
        >>> import numpy as np, torch  # doctest: +SKIP
        >>> module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
        ... # doctest: +SKIP
        >>> model = qr.models.from_torch(module, np.zeros((1, 4)), bound=1.0)  # doctest: +SKIP
    """
    try:
        import onnx  # noqa: F401 - which from_onnx reads with
        import onnxscript  # noqa: F401 - which torch exports with
        import torch
    except ImportError as error:
        needed = "pip install torch onnxscript 'quorate[onnx]'"
        raise ModelError(f"from_torch: {error.name} is not installed: {needed}") from error
    if not isinstance(module, torch.nn.Module):
        raise ModelError(f"from_torch takes a torch.nn.Module, not {type(module).__name__}")
    own = next((p for p in module.parameters() if p.is_floating_point()), torch.zeros(()))
    given = torch.as_tensor(example).to(own.device)
    looks_up = any(isinstance(part, torch.nn.Embedding) for part in module.modules())
    by_index = looks_up and not given.is_floating_point()
    given = given if by_index else given.to(own.dtype)
    if given.ndim < (1 if by_index else 2):
        raise ModelError(f"from_torch: an example has the batch as its first axis; this one's shape is {given.shape}")
    # Of a batch of one, torch would take the size for a constant.
    given = given.expand(2, *given.shape[1:]) if len(given) == 1 else given
    modes = [(part, part.training) for part in module.modules()]
    try:
        program = torch.onnx.export(
            module.eval(),
            (given,),
            dynamo=True,
            opset_version=_OPSET,
            dynamic_shapes=({0: torch.export.Dim("batch")},),
            verbose=False,
        )
    except Exception as error:
        raise ModelError(
            f"from_torch: torch cannot export this module to ONNX: {_cause(error, looks_up and not by_index)}"
        ) from error
    finally:
        for part, mode in modes:  # each has its own
            part.training = mode
    return from_onnx(program.model_proto, **options)


def _cause(error: Exception, lacks_indices: bool) -> str:
    """What torch says was wrong, without its advice to those who work on torch."""
    text = (str(error.__cause__ or error).strip().splitlines() or [type(error).__name__])[0]
    if lacks_indices:
        text += " (its Embedding takes whole numbers: give an example of these, of an integer type)"
    return short(text, 300)
