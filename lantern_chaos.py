"""The thinnest possible start of ``lantern``: nothing is imported before the guard is up.

Python exits with 1 on an uncaught error, and 1 means *a proof exists*. `harness.cli.main` guards all
that happens inside it; this guards its import, which another package called ``harness`` on the path, a
broken installation or an early Ctrl-C can break. Only `sys` is needed, which cannot fail.
"""

import sys


def entry() -> None:
    """Hand over to the guarded command line; exit with 6, or 130, if it cannot even be imported."""
    try:
        from harness.cli.main import entry as guarded  # noqa: PLC0415 - inside the guard
    except BaseException as error:  # noqa: BLE001 - a process's edge: never taken for a verdict
        if interrupted(error):
            _end(130, "interrupted", "interrupted")
        what = " ".join(f"{type(error).__name__}: {error}".split())
        place = getattr(sys.modules.get("harness"), "__path__", ())
        told = f" (the package harness is at {', '.join(place)})" if place else ""
        _end(6, "harness-failure", f"Lantern cannot be imported: {what}{told}")
    else:
        guarded()


def interrupted(error: BaseException) -> bool:
    """Tell a Ctrl-C, also one that was wrapped on its way: a class being made raises its own error."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__
    return cause is not None


def _end(code: int, outcome: str, sentence: str) -> None:
    """Say how it ended, if anyone listens, and exit."""
    shown = ascii(sentence)[1:-1]
    try:
        if "--json" in sys.argv[1:]:
            escaped = shown.replace("\\", "\\\\").replace('"', '\\"')
            sys.stdout.write(f'{{"outcome": "{outcome}", "error": "{escaped}"}}\n')
            sys.stdout.flush()
        sys.stderr.write(f"lantern: {shown}\n")
        sys.stderr.flush()
    finally:
        sys.exit(code)


if __name__ == "__main__":
    entry()
