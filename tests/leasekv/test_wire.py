from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checker.events import ReadPath, Served
from targets.leasekv import wire
from targets.leasekv.messages import (
    Append,
    AppendReply,
    Code,
    Entry,
    Op,
    PeerMessage,
    Request,
    RequestVote,
    Response,
)

PEER_TALK: tuple[wire.Hello | PeerMessage, ...] = (
    wire.Hello("run-1", "n1"),
    RequestVote(3, True, 7, 2),
    Append(3, 9, 7, 2, (Entry(8, 3, Op.WRITE, "x", 1), Entry(9, 3, Op.CAS, "x", [1, 2])), 7),
    AppendReply(3, 9, True, 9),
)

TALK = b"".join(wire.encode(message) for message in PEER_TALK)


def test_every_kind_of_message_comes_back_as_it_went() -> None:
    assert wire.peer_decoder().feed(TALK) == list(PEER_TALK)
    request = Request(1, Op.READ, "x", None, ReadPath.READINDEX)
    assert wire.request_decoder().feed(wire.encode(request)) == [request]
    response = Response(1, Code.NOT_LEADER, None, "n2", Served(term=4))
    assert wire.response_decoder().feed(wire.encode(response)) == [response]


@settings(deadline=None)
@given(st.lists(st.integers(1, 40), max_size=30))
def test_where_the_bytes_are_split_makes_no_difference(sizes: list[int]) -> None:
    data = TALK * 3
    decoder = wire.peer_decoder()
    heard = []
    at = 0
    for size in [*sizes, len(data)]:
        heard += decoder.feed(data[at : at + size])
        at += size
    assert heard == list(PEER_TALK) * 3


def test_a_frame_over_the_bound_is_refused_at_its_length() -> None:
    with pytest.raises(wire.WireError, match="over the bound"):
        wire.request_decoder().feed((wire.REQUEST_MAX + 1).to_bytes(4, "big"))


def test_a_message_nobody_would_take_is_not_sent() -> None:
    with pytest.raises(wire.WireError, match="over the bound"):
        wire.encode(Request(1, Op.WRITE, "x", "v" * wire.FRAME_MAX))


def test_an_append_of_the_largest_requests_still_fits_a_frame() -> None:
    value = "v" * wire.REQUEST_MAX
    entries = tuple(Entry(index, 1, Op.WRITE, "x", value) for index in range(1, 257))
    assert len(wire.encode(Append(1, 1, 0, 0, entries, 0))) < wire.FRAME_MAX


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=60))
def test_bytes_that_are_no_message_raise_one_error(body: bytes) -> None:
    try:
        msgspec.msgpack.decode(body, type=Response)
    except (msgspec.DecodeError, UnicodeDecodeError):
        with pytest.raises(wire.WireError):
            wire.response_decoder().feed(len(body).to_bytes(4, "big") + body)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (["Q", 4, "bogus", "x"], "Invalid enum value 'bogus'"),
        (["Q", 4, "read"], "Expected `array` of at least length 4"),
        (["Q", 4, "read", 1.5], "Expected `int | str | null`, got `float`"),
        (["Q", 4, "read", "x", None, "quickly"], "Invalid enum value 'quickly'"),
    ],
)
def test_what_somebody_mistyped_comes_with_its_id_and_what_is_wrong(asked: list[Any], why: str) -> None:
    body = msgspec.msgpack.encode(asked)
    after = Request(5, Op.READ, "x")
    heard = wire.request_decoder().feed(len(body).to_bytes(4, "big") + body + wire.encode(after))
    assert heard[1:] == [after]
    assert isinstance(heard[0], wire.Misasked)
    assert (heard[0].id, heard[0].why[: len(why)]) == (4, why)


@pytest.mark.parametrize("said", [["Q", "4", "read", "x"], ["Q", True, "read"], ["Z", 4], ["Q"], [], 4])
def test_what_nobody_could_be_answered_for_is_no_request(said: Any) -> None:
    body = msgspec.msgpack.encode(said)
    with pytest.raises(wire.WireError):
        wire.request_decoder().feed(len(body).to_bytes(4, "big") + body)


def test_a_peer_is_not_heard_as_a_client() -> None:
    with pytest.raises(wire.WireError):
        wire.request_decoder().feed(wire.encode(PEER_TALK[1]))
