import itertools

from hypothesis import given
from hypothesis import strategies as st

from targets.http import BODY_MAX, HttpRequest, HttpResponse, Reader, encode

TWO = (
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    b"HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
)
READ = [HttpResponse(200, b"{}"), HttpResponse(503, b"abcde")]


@given(st.lists(st.integers(0, len(TWO)), max_size=6))
def test_responses_do_not_depend_on_how_their_bytes_are_split(cuts: list[int]) -> None:
    reader, read = Reader(), []
    edges = [0, *sorted(cuts), len(TWO)]
    for start, end in itertools.pairwise(edges):
        if end > start:
            read += reader.feed(TWO[start:end])
    assert read == READ


def test_what_is_no_http_is_said_to_be_none() -> None:
    assert Reader().feed(b"\x00\x01 hello\r\n\r\n") == [None]


def test_a_body_without_end_is_refused_before_it_fills_the_memory() -> None:
    reader = Reader()
    assert reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n") == []
    assert reader.feed(b"x" * (BODY_MAX + 1)) == [None]


def test_a_request_says_how_long_it_is() -> None:
    sent = encode(HttpRequest("/v3/kv/put", b'{"a":1}'))
    assert sent.startswith(b"POST /v3/kv/put HTTP/1.1\r\n")
    assert sent.endswith(b'content-length: 7\r\n\r\n{"a":1}')
