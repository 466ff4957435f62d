"""What networks have in common, from whichever file they come: clear layers, reports, ranges, who has what."""
