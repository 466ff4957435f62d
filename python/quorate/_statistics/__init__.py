"""Exact statistics of secret integers: moments, counts, joins, and linear equations."""
