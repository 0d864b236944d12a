"""What can go wrong with files: each type is a decision.

::

    StoreError            a run cannot be stored, or one cannot be read: harness failure
      +- StoreFull        the disk has no room left: stop the run cleanly, judge what was written
      +- NotARun          this is no run directory, or not one this version reads: usage
      |    +- NotAPack    the same of a run in one file
      +- Refused          a new run directory cannot have this name: usage
"""

from __future__ import annotations


class StoreError(Exception):
    """The message is one sentence for a person, with the path."""


class StoreFull(StoreError):  # noqa: N818 - a state of the disk
    """There is no room left for the run."""


class NotARun(StoreError):  # noqa: N818 - an answer to a question
    """A path given as a run directory is none that can be read."""


class NotAPack(NotARun):
    """A file given as a pack is none, is cut short, or holds what no pack holds."""


class Refused(StoreError):  # noqa: N818 - an answer to a question
    """A path asked for as a run directory is taken, or is none that a run could use."""
