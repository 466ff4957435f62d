"""numpy's own functions on secret arrays: what each calls, and what to write instead of the others."""
