"""Bugs of ours, kept so that they can be found afterwards: a traceback, and where it was saved.

Whoever uses Lantern reads one sentence. A run keeps the tracebacks of what broke in it in its directory;
what has no directory has them in a temporary file. The guarded entry point needs this module before
anything else can be imported, so it imports nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import traceback


def traceback_of(error: BaseException) -> str:
    """Return where an error came from, in Python's words, with its causes; ends with a newline."""
    return "".join(traceback.format_exception(error))


def recorded(error: BaseException, broke: str = "harness failure, no verdict") -> str:
    """Save the traceback; return one sentence that says what broke and where to read more.

    For want of memory anything breaks anywhere, and where it was says nothing.
    """
    if isinstance(error, MemoryError):
        return f"{broke}: this process may have no more memory"
    text = traceback_of(error)
    what = " ".join(f"{type(error).__name__}: {error}".split())
    what = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in what)
    try:
        descriptor, path = tempfile.mkstemp(prefix="lantern-failure-", suffix=".txt")
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as unsaved:
        with contextlib.suppress(OSError, ValueError, AttributeError):  # broken, closed, never there
            sys.stderr.write(text)
            sys.stderr.flush()
        return f"{broke}: {what} (traceback above, it could not be saved: {unsaved})"
    return f"{broke}: {what} (traceback saved in {path})"
