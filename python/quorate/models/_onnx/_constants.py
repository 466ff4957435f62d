"""Evaluation of a file's constants: run as the file defines them, never by rules of this package.

Shapes that a file computes with are constants too. Nodes run one by one in the file's own operator set, by ONNX's
reference implementation. Nodes that it lacks run by onnxruntime, if that is installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate.models._onnx._layout import Unsupported


def evaluated(proto: Any, given: Sequence[Any], opsets: dict[str, int]) -> list[Any]:
    """Returns the results of a node on constants; None stands for an input that is left out.

    Raises:
        Unsupported: neither implementation computes the node; the message has the reference's reason.
    """
    import onnx
    from onnx.reference import ReferenceEvaluator

    if any(attr.HasField("g") for attr in proto.attribute):
        raise Unsupported("graphs within nodes are not, but of Loop and If")
    feeds = {name: np.asarray(value) for name, value in zip(proto.input, given, strict=True) if name}
    alone = _model_of(onnx, proto, feeds, opsets)
    try:
        with np.errstate(all="ignore"):  # as in onnxruntime, which gives inf and nan
            made = ReferenceEvaluator(alone).run(None, feeds)
    except Exception as error:
        found = _by_onnxruntime(alone, feeds)
        if found is None:
            raise Unsupported(f"its constants cannot be computed: {_first_line(error)}") from error
        made = found
    results = iter(made)
    return [next(results) if name else None for name in proto.output]


def _model_of(onnx: Any, proto: Any, feeds: dict[str, np.ndarray], opsets: dict[str, int]) -> Any:
    """Returns a model of one node.

    For a node without a model the reference takes an operator's newest form, not the file's.
    """
    helper = onnx.helper
    types = {name: helper.np_dtype_to_tensor_dtype(value.dtype) for name, value in feeds.items()}
    inputs = [helper.make_tensor_value_info(name, types[name], value.shape) for name, value in feeds.items()]
    outputs = [helper.make_empty_tensor_value_info(name) for name in proto.output if name]
    known = [helper.make_opsetid("" if name == "ai.onnx" else name, version) for name, version in opsets.items()]
    return helper.make_model(helper.make_graph([proto], "constants", inputs, outputs), opset_imports=known)


def _by_onnxruntime(model: Any, feeds: dict[str, np.ndarray]) -> list[Any] | None:
    """Returns onnxruntime's results; None if it is not installed, or does not take the model either."""
    try:
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    model.ir_version = min(model.ir_version, 8)  # any version does for one node, and old runtimes take only old ones
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return list(session.run(None, feeds))
    except Exception:
        return None


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:200]
