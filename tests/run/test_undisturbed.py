"""Signals are kept while what belongs together is done, whichever thread takes them."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

KEPT = """
import os, signal, sys, threading, time
from harness.run.stop import undisturbed

number = int(sys.argv[1])
signal.signal(signal.SIGTERM, signal.default_int_handler)
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
before = signal.getsignal(number)
done = []
try:
    with undisturbed():
        signal.pthread_sigmask(signal.SIG_BLOCK, {number})  # so that the other thread takes it
        os.kill(os.getpid(), number)
        ends_s = time.monotonic() + 0.2
        while time.monotonic() < ends_s:
            pass
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        done.append("all of it")
except KeyboardInterrupt:
    done.append("interrupted")
assert signal.getsignal(number) is before
print(", ".join(done))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_another_thread_takes_is_kept_as_well(number: signal.Signals) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", KEPT, str(int(number))],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() == "all of it, interrupted"
