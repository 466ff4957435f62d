"""Public values as a program takes them: numbers, axes, data frames, words and dates."""
