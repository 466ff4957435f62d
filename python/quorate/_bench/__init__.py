"""The command `quorate bench`: standard workloads, applications, clients, kept values, and time by size."""
