"""What somebody's client may answer, and what becomes of everything else. No engine."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from typing import TYPE_CHECKING, Any

import pytest

from checker.events import EventType
from targets.attach.bridge import Bridge, BridgeClient
from targets.attach.client import Definite, load
from targets.attach.cluster import AttachedSystem
from targets.cluster import TargetError
from targets.session import Call

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from targets.cluster import NodeStatus
    from targets.session import Completion

pytestmark = pytest.mark.timeout(20)

READ, WRITE, CAS = Call("read", "k"), Call("write", "k", 1), Call("cas", "k", (1, 2))


class Somebody:
    """A client that answers everything alike, or raises it."""

    modes = {"only": "there is no other"}  # noqa: RUF012 - as in docs/targets.md
    port = 1

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    async def connect(self, host: str, port: int) -> None:
        pass

    async def close(self) -> None:
        pass

    async def read(self, key: str) -> Any:
        del key
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer

    async def write(self, key: str, value: Any) -> Any:
        del value
        return await self.read(key)

    async def cas(self, key: str, old: Any, new: Any) -> Any:
        del old, new
        return await self.read(key)

    async def leading(self) -> Any:
        return await self.read("")


class Unshowable:
    def __repr__(self) -> str:
        raise ValueError("no")


async def address() -> tuple[str, int]:
    return "127.0.0.1", 1


def answered(call: Call, make: Callable[[], Any]) -> list[Completion]:
    """Return what the harness hears of one call; nothing if the connection was dropped."""

    async def ask() -> list[Completion]:
        bridge = Bridge(make, address)
        client = BridgeClient(timeout_ns=0)
        await bridge.open("space")
        reader, writer = await asyncio.open_connection(*bridge.listening)
        writer.write(client.encode(call))
        try:
            with contextlib.suppress(ConnectionResetError):
                return client.reader().feed(await reader.readline())
            return []
        finally:
            writer.close()
            await bridge.close()

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("call", "answer", "ended"),
    [
        (READ, None, EventType.OK),
        (READ, 7, EventType.OK),
        (WRITE, None, EventType.OK),
        (WRITE, {"revision": 3}, EventType.OK),
        (CAS, True, EventType.OK),
        (CAS, False, EventType.FAIL),
        (WRITE, Definite("no leader"), EventType.FAIL),
        (WRITE, RuntimeError("lost"), EventType.INFO),
        (WRITE, SystemExit(3), EventType.INFO),
        (WRITE, KeyboardInterrupt(), EventType.INFO),
        (READ, SystemExit(3), EventType.FAIL),
    ],
)
def test_what_is_answered_or_raised_has_one_meaning(call: Call, answer: Any, ended: EventType) -> None:
    (heard,) = answered(call, lambda: Somebody(answer))
    assert (heard.type, heard.unexpected) == (ended, None)


@pytest.mark.parametrize("answer", ["7", b"7", 7.0, [7], True, object(), float("nan"), Unshowable()])
def test_a_read_that_is_no_number_accuses_the_client_and_not_the_cluster(answer: Any) -> None:
    (heard,) = answered(READ, lambda: Somebody(answer))
    assert heard.type is EventType.FAIL
    assert heard.unexpected is not None
    assert "neither an integer nor None" in heard.unexpected


def test_a_write_that_says_no_without_raising_is_not_taken_for_done() -> None:
    (heard,) = answered(WRITE, lambda: Somebody(answer=False))
    assert heard.type is EventType.INFO
    assert heard.unexpected == "write returned False, and what did not happen is to be raised"


def test_a_client_that_cannot_be_made_answers_nothing() -> None:
    def broken() -> Somebody:
        raise ValueError("no")

    assert answered(READ, broken) == []


def left(*, send: bytes, wait: bool) -> list[dict[str, Any]]:
    """Return what reaches the loop's handler of errors when a caller sends that and resets."""
    unhandled: list[dict[str, Any]] = []

    async def leave() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, what: unhandled.append(what))
        closed = asyncio.Event()

        class Closing(Somebody):
            async def close(self) -> None:
                closed.set()

        bridge = Bridge(lambda: Closing(7), address)
        await bridge.open("space")
        reader, writer = await asyncio.open_connection(*bridge.listening)
        writer.write(send)
        if wait:
            await reader.readline()
        link: socket.socket = writer.get_extra_info("socket")
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        await closed.wait()
        await bridge.close()

    asyncio.run(leave())
    return unhandled


ASKING = BridgeClient(timeout_ns=0).encode(READ)


@pytest.mark.parametrize(
    ("send", "wait"),
    [(b"", False), (ASKING, False), (ASKING, True), (ASKING + ASKING, False), (ASKING[:9], False)],
)
def test_a_harness_that_resets_the_connection_leaves_no_traceback(send: bytes, *, wait: bool) -> None:
    assert left(send=send, wait=wait) == []


@pytest.mark.parametrize("send", [b"hello\n", b'{"f": 1}\n', b"x" * (2 << 20)])
def test_what_is_no_call_is_dropped_without_a_traceback(send: bytes) -> None:
    assert left(send=send, wait=False) == []


async def nothing() -> None:
    pass


def asked(answer: Any) -> tuple[NodeStatus | None, dict[str, str]]:
    """Return what a client's answer to who leads is taken for, and what is kept of it as trouble."""

    async def asking() -> NodeStatus | None:
        status = await system.status("n1", ("127.0.0.1", 1))
        assert await system.aside.end(nothing()) is None
        return status

    system = AttachedSystem(Somebody, answer, 1)  # a client's mode is all that it is made with
    return asyncio.run(asking()), system.trouble


@pytest.mark.parametrize("answer", [None, (1, True), (True, "3"), ("yes", [1]), 4, SystemExit(1)])
def test_who_leads_is_told_in_one_way_and_anything_else_is_kept_as_the_reason(answer: Any) -> None:
    status, trouble = asked(answer)
    assert status is None
    assert trouble["n1"].startswith(("TypeError: leading returned", "SystemExit"))


def test_a_leader_is_told_with_its_term() -> None:
    status, _ = asked((True, 3))
    assert status is not None
    assert (status.term, status.leader) == (3, "n1")


CLIENT = """
class Client:
    modes = {"m": "words"}
    port = 1
    async def connect(self, host, port): ...
    async def close(self): ...
    async def read(self, key): ...
    async def write(self, key, value): ...
    async def cas(self, key, old, new): ...
    async def leading(self): ...
"""


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("import sys; sys.exit(3)", "cannot be imported: SystemExit: 3"),
        ("def (:", r"cannot be imported: SyntaxError: .*line 12\)"),
        ("Client.modes = {1: 'words'}", "modes must map"),
        ("Client.modes = {'': 'words'}", "modes must map"),
        ("Client.port = 99_999", "port must be"),
        ("Client.port = '2379'", "port must be"),
    ],
)
def test_a_file_that_is_no_client_is_refused_with_a_sentence(
    tmp_path: Path, more: str, said: str
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(f"{CLIENT}\n{more}\n")
    with pytest.raises(TargetError, match=said):
        load(file)


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"there is no file .*mine\.py"):
        load(tmp_path / "mine.py")


def test_what_a_file_prints_is_kept_out_of_the_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(f"print('hello')\n{CLIENT}")
    load(file)
    assert capsys.readouterr() == ("", "hello\n")


class Number(int):
    """As a library's own integers are."""


class OddError(BaseException):
    pass


class UnsayableError(Exception):
    def __str__(self) -> str:
        raise ValueError("no")


def test_a_library_s_own_integer_is_the_integer_it_is() -> None:
    (heard,) = answered(READ, lambda: Somebody(Number(7)))
    assert (heard.type, heard.value, type(heard.value)) == (EventType.OK, 7, int)
    status, _ = asked((True, Number(3)))
    assert status is not None
    assert type(status.term) is int


def test_what_breaks_in_the_bridge_fails_the_run_and_is_no_read_that_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def broken(*_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("targets.attach.bridge._invoke", broken)
    (heard,) = answered(READ, lambda: Somebody(1))
    assert heard.unexpected == "the bridge to your client broke: ZeroDivisionError('oh')"


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (OddError("boo"), "OddError: boo"),
        (asyncio.CancelledError(), "CancelledError"),
        (GeneratorExit(), "GeneratorExit"),
        (RuntimeError("x\ud800"), "RuntimeError: x\\ud800"),
        (UnsayableError(), "UnsayableError"),
    ],
)
def test_whatever_a_client_raises_is_told_in_words(raised: BaseException, said: str) -> None:
    (heard,) = answered(WRITE, lambda: Somebody(raised))
    assert (heard.type, heard.error) == (EventType.INFO, said)
    assert asked(raised) == (None, {"n1": said})


def test_a_refusal_that_is_no_text_is_a_refusal() -> None:
    (heard,) = answered(WRITE, lambda: Somebody(Definite("x\udc80")))
    assert (heard.type, heard.error) == (EventType.FAIL, "x\\udc80")
