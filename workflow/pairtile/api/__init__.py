"""pairtile as a library: the front ends that ``from pairtile import ...`` gives.

They take NumPy arrays, pandas DataFrames and AnnData, check them, and hand over to the estimators
and network functions that the workflow runs on. docs/library.md shows them at work.
"""
