"""Faults made real on a cluster: ``inject`` and ``heal``, one module a family, one row a kind."""

from .making import heal, inject
from .rows import MEANS

__all__ = ["MEANS", "heal", "inject"]
