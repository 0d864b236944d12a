import base64
import json
from typing import Any

import pytest

from checker.events import EventType, ReadPath
from targets.etcd.speech import EtcdSpeech
from targets.http import HttpResponse
from targets.session import Call

HEADER = {"revision": "3", "raft_term": "2"}


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _said(**fields: Any) -> HttpResponse:
    return HttpResponse(200, json.dumps({"header": HEADER, **fields}).encode())


def _body(call: Call, reads: Any = "linearizable") -> Any:
    return json.loads(EtcdSpeech(reads).ask(call, 1).body)


def test_only_the_serializable_mode_asks_for_serializable_reads() -> None:
    assert _body(Call("read", "k"), "serializable")["serializable"] is True
    assert _body(Call("read", "k"), "linearizable")["serializable"] is False


def test_a_value_comes_back_as_it_went() -> None:
    speech = EtcdSpeech("linearizable")
    sent = json.loads(speech.ask(Call("write", "k", 41), 1).body)
    said = speech.heard(Call("read", "k"), _said(kvs=[{"value": sent["value"]}]))
    assert (said.type, said.value) == (EventType.OK, 41)
    assert said.evidence is not None
    assert said.evidence.term == 2
    assert said.evidence.path is ReadPath.READINDEX


def test_a_key_that_is_not_there_reads_as_nothing() -> None:
    assert EtcdSpeech("linearizable").heard(Call("read", "k"), _said()).value is None


def test_a_cas_from_nothing_asks_that_the_key_was_never_made() -> None:
    (guard,) = _body(Call("cas", "k", [None, 1]))["compare"]
    assert (guard["target"], guard["createRevision"]) == ("CREATE", "0")
    (guard,) = _body(Call("cas", "k", [3, 4]))["compare"]
    assert (guard["target"], guard["value"]) == ("VALUE", _b64("3"))


def test_a_cas_that_etcd_says_did_not_match_asserts_that_the_value_differed() -> None:
    speech, call = EtcdSpeech("linearizable"), Call("cas", "k", [3, 4])
    assert speech.heard(call, _said()).error == "MISMATCH"
    assert speech.heard(call, _said(succeeded=True)).type is EventType.OK


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("etcdserver: request timed out", EventType.INFO),
        ("etcdserver: leader changed", EventType.INFO),
        ("something new", EventType.INFO),
        ("etcdserver: too many requests", EventType.FAIL),
    ],
)
@pytest.mark.parametrize("word", ["error", "message"])  # as 3.4 says it, and as 3.6 does
def test_in_doubt_a_write_stays_open_and_a_read_has_no_effect(
    error: str, kind: EventType, word: str
) -> None:
    answer = HttpResponse(503, json.dumps({word: error, "code": 14}).encode())
    speech = EtcdSpeech("linearizable")
    assert speech.heard(Call("write", "k", 1), answer).type is kind
    assert speech.heard(Call("read", "k"), answer).type is EventType.FAIL
    assert speech.heard(Call("write", "k", 1), answer).unexpected is None


@pytest.mark.parametrize(
    "answer", [HttpResponse(200, b"<html>"), HttpResponse(200, b"{}"), HttpResponse(404, b"{}")]
)
def test_an_answer_that_no_etcd_gives_is_flagged(answer: HttpResponse) -> None:
    said = EtcdSpeech("linearizable").heard(Call("write", "k", 1), answer)
    assert said.type is EventType.INFO
    assert said.unexpected
