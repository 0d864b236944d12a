"""A Dask cluster, for those who have work for it: which are taken, who is there, and keys to be judged.

Runs are given to it by `harness.campaign`.
"""
