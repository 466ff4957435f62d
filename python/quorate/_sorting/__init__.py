"""Comparators that sort, merge or select rows of secret arrays."""
