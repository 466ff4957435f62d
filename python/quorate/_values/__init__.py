"""Public values as arguments: numbers, axes, data frames, words and dates."""
