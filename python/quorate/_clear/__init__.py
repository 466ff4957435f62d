"""The steps of a program, computed in numpy: the results that a run may have."""
