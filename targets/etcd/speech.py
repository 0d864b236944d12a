"""How to speak with etcd through its JSON gateway, and what its answers mean.

Two read modes, and what each promises:

* ``linearizable`` (etcd's default): a quorum confirms the index that the read waits for; never stale;
* ``serializable``: the member asked answers from what it has; it may be stale by any amount of time.

An error is definite only where etcd says that it proposed nothing; a time-out, a lost leader or a code
that is not known here leaves a write open. Keys live under a prefix; a value is its JSON.
"""

from __future__ import annotations

import base64
import json
from typing import Any, Final

import msgspec

from checker.events import MISMATCH, EventType, ReadPath, Served
from targets.http import HttpRequest, HttpResponse
from targets.request import UNEXPECTED, unknown
from targets.session import Call, Completion

READ_MODES: Final = ("linearizable", "serializable")
PREFIX: Final = "lantern/"

DEFINITE: Final = ("etcdserver: too many requests", "etcdserver: no leader", "etcdserver: not capable")


class EtcdSpeech:
    """See `targets.request.Speech`."""

    def __init__(self, reads: str) -> None:
        if reads not in READ_MODES:
            raise ValueError(f"etcd reads are {' or '.join(READ_MODES)}, not {reads!r}")
        self._serializable = reads == "serializable"

    def ask(self, call: Call, number: int) -> HttpRequest:
        """Return the gateway's request for a read, a write, a cas or a delete."""
        del number
        key = _text(PREFIX + str(call.key))
        match call.f:
            case "read":
                return _post("/v3/kv/range", key=key, serializable=self._serializable)
            case "write":
                return _post("/v3/kv/put", key=key, value=_value(call.value))
            case "delete":
                return _post("/v3/kv/deleterange", key=key)
            case "cas":
                old, new = call.value
                guard: dict[str, Any] = {"key": key, "result": "EQUAL"}
                if old is None:
                    guard |= {"target": "CREATE", "createRevision": "0"}
                else:
                    guard |= {"target": "VALUE", "value": _value(old)}
                put = {"requestPut": {"key": key, "value": _value(new)}}
                return _post("/v3/kv/txn", compare=[guard], success=[put])
            case _:
                raise ValueError(f"etcd has no operation {call.f!r}")

    def number(self, answer: HttpResponse) -> None:
        """HTTP answers in order."""

    def heard(self, call: Call, answer: HttpResponse) -> Completion:
        """Return what the gateway's answer means."""
        try:
            said = msgspec.json.decode(answer.body, type=dict[str, Any])
        except msgspec.DecodeError:
            return unknown(call, UNEXPECTED, unexpected=f"a body that is no JSON: {answer.body[:80]!r}")
        if answer.status != 200 or "header" not in said:
            return _refused(call, answer.status, str(said.get("error") or said.get("message") or ""))
        how = ReadPath.FOLLOWER if self._serializable else ReadPath.READINDEX
        term = int(said["header"].get("raft_term", 0)) or None
        served = Served(path=how if call.f == "read" else None, term=term)
        match call.f:
            case "read":
                found = said.get("kvs", [])
                value = json.loads(base64.b64decode(found[0]["value"])) if found else None
                return Completion(EventType.OK, value, evidence=served)
            case "cas" if not said.get("succeeded", False):
                return Completion(EventType.FAIL, call.value, MISMATCH, evidence=served)
            case _:
                return Completion(EventType.OK, call.value, evidence=served)


def _refused(call: Call, status: int, error: str) -> Completion:
    if error.startswith(DEFINITE):
        return Completion(EventType.FAIL, call.value, error)
    if status in (400, 404) or not error:
        return unknown(call, UNEXPECTED, unexpected=f"HTTP {status}: {error or 'no reason'}")
    return unknown(call, error)


def _post(path: str, **fields: Any) -> HttpRequest:
    return HttpRequest(path, msgspec.json.encode(fields))


def _text(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _value(value: Any) -> str:
    return _text(json.dumps(value))
