"""The main job: real records, real models, and what is to be compared after scoring them privately."""

from quorate.demo._data import Job, Outcome, breast_cancer_jobs, compare
from quorate.demo._run import run_demo

__all__ = ["Job", "Outcome", "breast_cancer_jobs", "compare", "run_demo"]
