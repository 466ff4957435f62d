"""What a file computes of constants: run as the file has it, never by rules of this package.

Shapes that a file computes with are constants too. Nodes run one by one in the file's own operator set, by ONNX's
reference implementation; what that lacks runs by onnxruntime, where that is installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate.models._onnx._layout import Unsupported


def evaluated(proto: Any, given: Sequence[Any], opsets: dict[str, int]) -> list[Any]:
    """What a node makes of constants, of which None is one that is left out.

    Raises:
        Unsupported: neither computes it; with the reason that the reference gives.
    """
    import onnx
    from onnx.reference import ReferenceEvaluator

    if any(attr.HasField("g") for attr in proto.attribute):
        raise Unsupported("graphs within nodes are not, but of Loop and If")
    feeds = {name: np.asarray(value) for name, value in zip(proto.input, given, strict=True) if name}
    alone = _model_of(onnx, proto, feeds, opsets)
    try:
        with np.errstate(all="ignore"):  # as onnxruntime, which gives inf and nan
            made = ReferenceEvaluator(alone).run(None, feeds)
    except Exception as error:
        found = _by_onnxruntime(alone, feeds)
        if found is None:
            raise Unsupported(f"its constants cannot be computed: {_first_line(error)}") from error
        made = found
    results = iter(made)
    return [next(results) if name else None for name in proto.output]


def _model_of(onnx: Any, proto: Any, feeds: dict[str, np.ndarray], opsets: dict[str, int]) -> Any:
    """A model of one node: of a node alone the reference takes the newest form of an operator, not the file's."""
    helper = onnx.helper
    types = {name: helper.np_dtype_to_tensor_dtype(value.dtype) for name, value in feeds.items()}
    inputs = [helper.make_tensor_value_info(name, types[name], value.shape) for name, value in feeds.items()]
    outputs = [helper.make_empty_tensor_value_info(name) for name in proto.output if name]
    known = [helper.make_opsetid("" if name == "ai.onnx" else name, version) for name, version in opsets.items()]
    return helper.make_model(helper.make_graph([proto], "constants", inputs, outputs), opset_imports=known)


def _by_onnxruntime(model: Any, feeds: dict[str, np.ndarray]) -> list[Any] | None:
    """What onnxruntime makes of it; None where it is not installed, or does not take it either."""
    try:
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    model.ir_version = min(model.ir_version, 8)  # of one node any does, and old runtimes take old ones alone
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return list(session.run(None, feeds))
    except Exception:
        return None


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:200]
