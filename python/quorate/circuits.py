"""Boolean circuits: read from Bristol files, inspected, evaluated in the clear, run on secret bits."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from quorate import _quorate
from quorate.errors import CircuitError

__all__ = ["Circuit"]


class Circuit:
    r"""A Boolean circuit. `mpc.run_circuit` runs it on secret bits, `evaluate` in the clear.

    Every array of bits has the wires of one input or output along its last axis, in the file's order; the axes before
    it are the batch.

    Attributes:
        inputs: the number of wires of each input.
        outputs: the number of wires of each output.
        and_gates, xor_gates, inverters: the number of gates of each type. Only ANDs cost bytes.
        depth: the number of ANDs on the longest path, which is the number of rounds where each layer takes one.

    Example:
        >>> import quorate as qr
        >>> both = "1 3\n2 1 1\n1 1\n\n2 1 0 1 2 AND\n"
        >>> qr.Circuit.from_text(both)
        Circuit(inputs=[1, 1], outputs=[1], and_gates=1, depth=1)
    """

    def __init__(self, native: _quorate.Circuit) -> None:
        """Wraps a circuit that the native module has read; see `from_bristol`."""
        self._native = native
        self.inputs: list[int] = list(native.inputs)
        self.outputs: list[int] = list(native.outputs)
        self.and_gates, self.xor_gates, self.inverters, self.depth = native.counts()

    @staticmethod
    def from_bristol(path: str | os.PathLike[str]) -> Circuit:
        """Reads a Bristol Fashion file, or one in the old Bristol format.

        Raises:
            CircuitError: the file is not a circuit: wires do not exist, are read before they are written or are written
                twice, counts are wrong, or the file ends early. The message names the file and the line.
            OSError: the file cannot be read.
        """
        try:
            return Circuit(_quorate.Circuit.read(Path(path).read_bytes()))
        except CircuitError as error:
            raise CircuitError(f"{os.fspath(path)}: {error}") from None

    @staticmethod
    def from_text(text: str | bytes) -> Circuit:
        """Reads a circuit from the text of a Bristol Fashion file, or of one in the old Bristol format.

        Raises:
            CircuitError: the text is not a circuit; the message names the line.
        """
        return Circuit(_quorate.Circuit.read(text.encode() if isinstance(text, str) else text))

    def to_bristol(self, path: str | os.PathLike[str]) -> None:
        """Writes a Bristol Fashion file."""
        Path(path).write_text(self._native.write(), encoding="ascii")

    def evaluate(self, *bits: Any) -> np.ndarray | list[np.ndarray]:
        r"""Evaluates the circuit on public bits: one array of booleans, or a list where there are several outputs.

        Example:
            >>> import quorate as qr
            >>> both = qr.Circuit.from_text("1 3\n2 1 1\n1 1\n\n2 1 0 1 2 AND\n")
            >>> print(both.evaluate([[0], [1]], [1]))
            [[False]
             [ True]]
        """
        arrays = [np.asarray(x).astype(bool) for x in bits]
        if [x.shape[-1:] for x in arrays] != [(width,) for width in self.inputs]:
            given = ", ".join(str(x.shape) for x in arrays)
            raise CircuitError(f"the inputs have {self.inputs} bits along their last axis; shapes {given} were given")
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
        whole = [np.broadcast_to(x, (*batch, x.shape[-1])).tobytes() for x in arrays]
        raw = self._native.evaluate(math.prod(batch), whole)
        flat = np.frombuffer(raw, np.bool_).reshape(*batch, sum(self.outputs))
        return self._split(flat)

    def _split(self, outputs: Any) -> Any:
        """Splits the last axis into the outputs."""
        if len(self.outputs) == 1:
            return outputs
        ends = np.cumsum(self.outputs)
        return [outputs[..., end - width : end] for end, width in zip(ends.tolist(), self.outputs, strict=True)]

    def __repr__(self) -> str:
        return f"Circuit(inputs={self.inputs}, outputs={self.outputs}, and_gates={self.and_gates}, depth={self.depth})"
