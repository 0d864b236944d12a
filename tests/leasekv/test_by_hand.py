"""docs/targets.md: what it tells a person to send by hand is what a node takes."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from targets.leasekv.container import CLIENT_PORT
from targets.leasekv.messages import Code, Op, Request, Response
from targets.leasekv.wire import encode, request_decoder

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "targets.md").read_text()
EXAMPLE = "".join(re.findall(r"<!-- tested.*?-->\n```python\n(.*?)```", TEXT, flags=re.DOTALL))


def test_the_documented_request_is_a_node_s_and_its_answer_is_as_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = (Response(1, code=Code.NOT_LEADER, leader="n3"), Response(1, value=1, leader="n3"))
    ports: list[int] = []
    nodes: list[socket.socket] = []

    def dial(address: tuple[str, int], timeout_s: float) -> socket.socket:
        mine, theirs = socket.socketpair()
        mine.settimeout(timeout_s)
        theirs.sendall(encode(answers[len(nodes)]))
        ports.append(address[1])
        nodes.append(theirs)
        return mine

    monkeypatch.setattr(socket, "create_connection", dial)
    exec(EXAMPLE, {})

    asked = [request_decoder().feed(node.recv(1 << 16)) for node in nodes]
    for node in nodes:
        node.close()
    assert asked == [[Request(1, Op.WRITE, "x", 1)], [Request(1, Op.READ, "x")]]
    first, second = capsys.readouterr().out.splitlines()
    assert f"# {first}: " in EXAMPLE
    assert second == "['R', 1, None, 1, 'n3', None]"
    composed = (ROOT / "docker-compose.yml").read_text()
    assert all(f'"127.0.0.1:{port}:{CLIENT_PORT}"' in composed for port in ports)
