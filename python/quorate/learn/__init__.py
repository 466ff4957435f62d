"""Training on secret data."""

from quorate.learn._gradient import gradient

__all__ = ["gradient"]
