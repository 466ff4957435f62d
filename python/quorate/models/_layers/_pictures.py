"""Files of pictures as arrays that are read in parts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quorate.errors import ModelError

_COLOURS = {1: "L", 3: "RGB"}
#: Modes of Pillow in which all of a picture is colours of eight bits.
_MODES = ("1", "L", "P", "RGB")


class Pictures:
    """Pictures of a network's size as an array of uint8, (pictures, rows, columns, channels).

    The pixels stay on the disk until a part of the pictures is read; only the heads of the files are read before.

    Raises:
        ModelError: a picture cannot be read or has another size, the network takes other numbers, or Pillow is missing.
    """

    def __init__(self, paths: Sequence[Path], sizes: Sequence[int], kind: str) -> None:
        if kind != "uint8" or len(sizes) != 3 or sizes[2] not in _COLOURS:
            raise ModelError(
                "X: files of pictures are uint8 of one or three colours, and this network takes "
                f"{kind} of {tuple(sizes)}: give an array"
            )
        self._paths, self._colours = list(paths), _COLOURS[sizes[2]]
        self.shape = (len(paths), *sizes)
        for path in paths:
            self._check(path)

    def __getitem__(self, part: slice) -> np.ndarray:
        return np.stack([self._read(path) for path in self._paths[part]])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self[:] if dtype is None else self[:].astype(dtype)

    def _check(self, path: Path) -> None:
        with _opened(path) as picture:
            mode, (columns, rows), is_clear = picture.mode, picture.size, "transparency" in picture.info
        if mode not in _MODES or is_clear:
            raise ModelError(
                f"X: {path} is of mode {mode}{' with transparency' * is_clear}, which has more than colours of eight "
                "bits: convert it as pictures were for training"
            )
        if (columns, rows) != self.shape[1:3]:  # EXIF may say that the camera lay on its side
            self._check_sizes(path, (rows, columns))

    def _check_sizes(self, path: Path, sizes: tuple[int, ...]) -> None:
        wanted = self.shape[1:3]
        if sizes != wanted:
            raise ModelError(
                f"X: {path} has {sizes[0]} rows and {sizes[1]} columns; the network takes {wanted[0]} and {wanted[1]}: "
                "cut and resize it as pictures were for training"
            )

    def _read(self, path: Path) -> np.ndarray:
        from PIL import ImageOps

        with _opened(path) as picture:
            upright = np.asarray(ImageOps.exif_transpose(picture).convert(self._colours))
        self._check_sizes(path, upright.shape[:2])
        return upright.reshape(self.shape[1:])


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Opens a picture; errors while it is open name its file."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ModelError("X: Pillow reads pictures, and is not installed: pip install pillow") from error
    try:
        with Image.open(path) as picture:
            yield picture
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ModelError(f"X: {path} is no picture that can be read: {error}") from error
