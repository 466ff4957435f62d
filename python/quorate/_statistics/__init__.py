"""Statistics of secret integers, exact until one division: moments, counts, joins, linear equations."""
