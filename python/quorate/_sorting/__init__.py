"""Networks of comparisons that sort, merge or select rows of secret arrays."""
