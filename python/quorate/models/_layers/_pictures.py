"""Files of pictures as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from quorate.errors import ModelError

_COLOURS = {1: "L", 3: "RGB"}
#: Modes of Pillow in which all of a picture is colours of eight bits.
_MODES = ("1", "L", "P", "RGB")


def pictures(paths: Sequence[Path], sizes: Sequence[int], kind: str) -> np.ndarray:
    """Pictures of a network's size: (pictures, rows, columns, channels), of uint8.

    Raises:
        ModelError: one cannot be read or has another size, the network takes other numbers, or Pillow is missing.
    """
    if kind != "uint8" or len(sizes) != 3 or sizes[2] not in _COLOURS:
        raise ModelError(
            f"X: files of pictures are uint8, and this network takes {kind} of {tuple(sizes)}: give an array"
        )
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise ModelError("X: Pillow reads pictures, and is not installed; pip install pillow") from error
    found = []
    for path in paths:
        try:
            with Image.open(path) as opened:
                upright, mode = ImageOps.exif_transpose(opened), opened.mode
                array = np.asarray(upright.convert(_COLOURS[sizes[2]])).reshape(upright.height, upright.width, -1)
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            raise ModelError(f"X: {path} is no picture that can be read: {error}") from error
        if mode not in _MODES:
            raise ModelError(
                f"X: {path} is of mode {mode}, which has more than colours of eight bits: convert it as pictures were "
                "for training"
            )
        found.append(array)
        if found[-1].shape != tuple(sizes):
            rows, columns = found[-1].shape[:2]
            raise ModelError(
                f"X: {path} has {rows} rows and {columns} columns; the network takes {sizes[0]} and {sizes[1]}: cut "
                "and resize it as pictures were for training"
            )
    return np.stack(found)
