"""The command `quorate bench`: standard workloads, applications, and time by size."""
