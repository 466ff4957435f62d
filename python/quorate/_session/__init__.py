"""Parts of a session: options, methods that take several arrays, signals, and limits on its runs."""
