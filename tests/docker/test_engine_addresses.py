"""Whatever DOCKER_HOST says, an engine that is not there is one sentence. No engine."""

from __future__ import annotations

import asyncio
import socket

import pytest

from targets.docker.engine import Engine, EngineAbsentError

pytestmark = [pytest.mark.timeout(30), pytest.mark.usefixtures("collected")]


def refusal(address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(EngineAbsentError) as refused:
        asyncio.run(Engine.connect(deadline_s=0.3))
    return str(refused.value)


@pytest.mark.parametrize(
    "address",
    [
        "tcp://127.0.0.1:1",
        "tcp://127.0.0.1",
        "tcp://127.0.0.1:abc",
        "tcp://[::1",
        "tcp://",
        "nonsense://127.0.0.1:1",
        "npipe:////./pipe/docker_engine",
    ],
)
def test_an_address_at_which_no_engine_is_is_named_with_the_reason(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = refusal(address, monkeypatch)
    assert said.startswith(f"no Docker engine answers at {address} (")
    assert said.endswith("): start one, or say in DOCKER_HOST where one is")


def test_one_that_takes_connections_and_never_answers_is_called_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as hole:
        address = f"tcp://127.0.0.1:{hole.getsockname()[1]}"
        said = refusal(address, monkeypatch)
    assert said == f"the Docker engine at {address} is silent: restart it"


def test_ssh_without_its_library_says_which_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("targets.docker.engine.SSH_LIBRARY", "no_such_library")
    assert "pip install 'docker[ssh]'" in refusal("ssh://nobody@127.0.0.1", monkeypatch)
