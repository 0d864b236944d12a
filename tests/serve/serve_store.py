"""A store with runs in it, some of them from strangers; and a browser without a network."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from harness.serve.app import app_of

if TYPE_CHECKING:
    from pathlib import Path

PLAN = """\
schema: 1
name: x
target: {target}
'on': sim
policy: {policy}
mistake:
- {mistake}
seed: {seed}
"""
SCRIPT = "<script>document.title='owned'</script>"


def a_run(
    place: Path,
    *,
    outcome: str = "violation",
    kind: str = "history",
    rules: tuple[str, ...] = ("L4",),
    reason: str = "stale",
    target: str = "leasekv",
    policy: str = "lease-renew",
    mistake: str = "role-only-read",
    seed: int = 1,
    **more: Any,
) -> Path:
    """Write what a list needs of a run."""
    place.mkdir(parents=True)
    plan = PLAN.format(target=target, policy=policy, mistake=mistake, seed=seed)
    (place / "plan.yaml").write_text(plan)
    violation = {"kind": kind, "sentence": reason} if outcome == "violation" else None
    told = {
        "schema": 1,
        "outcome": outcome,
        "reason": reason,
        "violation": violation,
        "rules": list(rules),
    }
    (place / "verdict.json").write_text(json.dumps({**told, **more}))
    return place


class Answer:
    """What came back."""

    def __init__(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        self.status = status
        self.headers = {name.decode(): value.decode() for name, value in headers}
        self.text = body.decode()


def get(
    store: Path, path: str, query: str = "", *, host: str = "127.0.0.1:8787", method: str = "GET"
) -> Answer:
    """Ask the application; the query is as it stands in a URL."""

    async def work() -> Answer:
        said: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            said.append(message)

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [(b"host", host.encode())],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8787),
        }
        await app_of(store)(scope, receive, send)
        body = b"".join(message.get("body", b"") for message in said[1:])
        return Answer(said[0]["status"], said[0]["headers"], body)

    return asyncio.run(work())
