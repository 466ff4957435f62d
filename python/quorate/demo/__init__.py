"""The demonstration: scores real records with real models under a protocol, and compares with results in the clear."""

from quorate.demo._data import Job, Outcome, breast_cancer_jobs, compare
from quorate.demo._run import run_demo

__all__ = ["Job", "Outcome", "breast_cancer_jobs", "compare", "run_demo"]
