"""Import of PyTorch modules, by way of ONNX."""

from __future__ import annotations

from typing import Any

from quorate.errors import ModelError
from quorate.models._onnx._model import Network, from_onnx
from quorate.models._quotes import short

_OPSET = 18


def from_torch(module: Any, example: Any, **options: Any) -> Network:
    """Makes a PyTorch module into a model that computes on secret inputs, by exporting it to ONNX.

    Needs `torch` 2.5 or later, `onnxscript` and `onnx`. The module is exported as it predicts (`module.eval()`), and
    keeps the mode that it had.

    Args:
        module: a `torch.nn.Module` of one input whose first axis is the batch.
        example: inputs of the right shape, a tensor or an array. Its values are not used, except that a module with an
            `Embedding` needs whole numbers.
        options: those of `from_onnx`: `bound=` or `sample=`, `labels=`, `bits=`, `weight_bits=`, `tolerance=`.

    Raises:
        ModelError: torch or onnxscript are not installed, this is no module, torch cannot export it (its reason is
            given), or `from_onnx` does not take the exported file.

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
        needed = "pip install torch onnxscript onnx"
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
    # torch would take the size of a batch of one for a constant.
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
        for part, mode in modes:  # each part has its own mode
            part.training = mode
    return from_onnx(program.model_proto, **options)


def _cause(error: Exception, lacks_indices: bool) -> str:
    """Returns torch's reason, without its advice to developers of torch."""
    text = (str(error.__cause__ or error).strip().splitlines() or [type(error).__name__])[0]
    if lacks_indices:
        text += " (its Embedding takes whole numbers: give an example of these, of an integer type)"
    return short(text, 300)
