"""Orders and comparators that sort, merge or select rows of secret arrays."""
