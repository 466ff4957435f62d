"""Parts of the command line: scripts and their sessions, files, exit statuses, shell completion."""
