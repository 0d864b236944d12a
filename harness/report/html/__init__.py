"""The report: one self-contained HTML file a run, opening on the answer.

`render` reads a run directory and returns the file's bytes; `write` puts it into the run directory.
Everything is decided by pure functions, from what `harness.report.load` read to a `Page` (`page`) of
shapes with places (`figure`), steps (`story`) and series (`charts`); the template only spells it out.
"""

from .output import render, write

__all__ = ["render", "write"]
