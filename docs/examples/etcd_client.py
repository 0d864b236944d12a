"""An etcd client for `lantern run --target etcd_client.py`: what a user of any database would write.

It speaks HTTP by hand, so that there is no hidden retry. A client library does as well, if its retries and
redirects can be switched off.
"""

import asyncio
import base64
import json

from targets.attach.client import Definite


class Client:
    """One connection to one member."""

    modes = {
        "linearizable": "a quorum confirms every read",
        "serializable": "the member asked answers from what it has, however old",
    }
    port = 2379

    def __init__(self, mode):
        self.mode = mode
        self.streams = None

    async def connect(self, host, port):
        self.streams = await asyncio.open_connection(host, port)

    async def close(self):
        if self.streams is not None:
            self.streams[1].close()

    async def read(self, key):
        said = await self.ask("range", key=text(key), serializable=self.mode == "serializable")
        found = said.get("kvs")
        return json.loads(base64.b64decode(found[0]["value"])) if found else None

    async def write(self, key, value):
        await self.ask("put", key=text(key), value=text(json.dumps(value)))

    async def cas(self, key, old, new):
        if old is None:
            guard = {"key": text(key), "target": "CREATE", "createRevision": "0"}
        else:
            guard = {"key": text(key), "target": "VALUE", "value": text(json.dumps(old))}
        put = {"requestPut": {"key": text(key), "value": text(json.dumps(new))}}
        said = await self.ask("txn", compare=[guard], success=[put])
        return said.get("succeeded", False)

    async def leading(self):
        said = await self.post("/v3/maintenance/status", {})
        return said.get("leader") == said["header"]["member_id"], int(said["raftTerm"])

    async def ask(self, verb, **fields):
        return await self.post(f"/v3/kv/{verb}", fields)

    async def post(self, path, fields):
        reader, writer = self.streams
        body = json.dumps(fields).encode()
        head = f"POST {path} HTTP/1.1\r\nhost: etcd\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split()[0])
        said = json.loads(await reader.readexactly(length))
        error = said.get("error") or said.get("message")
        if error in ("etcdserver: too many requests", "etcdserver: no leader"):
            raise Definite(error)  # said before anything is proposed
        if error:
            raise RuntimeError(error)  # a time-out, a lost leader: nobody knows
        return said


def text(plain):
    """Return what etcd's gateway takes for bytes."""
    return base64.b64encode(plain.encode()).decode()
