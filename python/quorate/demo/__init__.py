"""The main job: real records, real models, and what is to be compared after scoring them privately."""

from quorate.demo._data import Job, Outcome, breast_cancer_jobs, compare

__all__ = ["Job", "Outcome", "breast_cancer_jobs", "compare"]
