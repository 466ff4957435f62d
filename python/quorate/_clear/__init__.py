"""A program's steps in numpy: the results that a run may have, and the comparison with a run."""
