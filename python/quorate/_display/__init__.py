"""Output for people: text tables, pictures, progress, notebooks, and hints for misspelt names."""
