"""A program's steps, layers and functions in numpy: the results that a run may have, and the comparison with a run."""
