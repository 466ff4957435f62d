"""Parts of a session: options, methods over several arrays, signals, and limits on its runs."""
