"""numpy's own functions on secret arrays, and what to write instead of those that take none."""
