"""Methods of secret arrays, one file for each kind: summaries, sorting, rearrangement, prefix operations."""
