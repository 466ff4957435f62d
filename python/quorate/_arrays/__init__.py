"""Methods of secret arrays that are composed of the graph's operations: one file for each kind of method."""
