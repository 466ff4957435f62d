"""What people read of runs and plans: text tables, pictures, progress, and hints for misspelt names."""
