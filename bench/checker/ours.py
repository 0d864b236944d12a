"""Check files and print what it took as one JSON object: the counterpart of ``porcupine/main.go``."""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from pathlib import Path

from checker import Budget, check, formats

SHORT_S = 0.05
REPEATS = 5


def main(paths: list[str], limit_s: float, model: str) -> None:
    """Print verdicts, wall and processor seconds from parsed operations to verdict, and memory."""
    seconds, cpu_s, load_s, verdicts, methods = 0.0, 0.0, 0.0, [], set()
    for path in paths:
        began = time.perf_counter()
        history = formats.read(Path(path).read_bytes(), name=path)
        load_s += time.perf_counter() - began
        times: list[float] = []
        cpu_times: list[float] = []
        report = None
        while report is None or (times[0] < SHORT_S and len(times) < REPEATS):
            began, began_cpu = time.perf_counter(), time.process_time()
            budget = Budget(time_s=limit_s, clock=time.monotonic)
            report = check(history, model=model, budget=budget, explain=False)
            times.append(time.perf_counter() - began)
            cpu_times.append(time.process_time() - began_cpu)
        seconds += statistics.median(times)
        cpu_s += statistics.median(cpu_times)
        verdicts.append(report.outcome.value)
        methods |= {key.method.value for key in report.keys}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told = {
        "verdict": " ".join(verdicts),
        "seconds": seconds,
        "cpu_s": cpu_s,
        "load_s": load_s,
        "rss_mb": peak / 1024,
        "cores": 1,
    }
    print(json.dumps({**told, "methods": sorted(methods)}))


if __name__ == "__main__":
    main(sys.argv[1].split(","), float(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "auto")
