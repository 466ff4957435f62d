"""`quorate bench`: workloads, applications and scaling, measured."""
