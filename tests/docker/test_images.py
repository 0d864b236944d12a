"""Images are built when their sources changed, and named by what was built. No engine."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import docker.errors
import pytest

from targets.cluster import TargetError
from targets.docker import images
from targets.docker.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = "targets/etcd/Dockerfile"


class Api:
    """An engine's images: what ``name`` is, what a build says, and whether removals are refused."""

    def __init__(self, *, refused: bool = False, aux: bool = True) -> None:
        self.now: tuple[str, str | None] | None = None
        self.built = 0
        self.removed: list[str] = []
        self.error: str | None = None
        self._refused = refused
        self._aux = aux

    def inspect_image(self, image: str) -> dict[str, Any]:
        if self.now is None:
            raise docker.errors.ImageNotFound(f"no {image}")
        labels = {} if self.now[1] is None else {images.SOURCE_LABEL: self.now[1]}
        return {"Id": self.now[0], "Config": {"Labels": labels}}

    def build(self, *, labels: dict[str, str], **_said: Any) -> Iterator[dict[str, Any]]:
        yield {"stream": "Step 1"}
        if self.error is not None:
            yield {"error": self.error}
        self.built += 1
        self.now = (f"sha256:{self.built}", labels[images.SOURCE_LABEL])
        if self._aux:
            yield {"aux": {"ID": self.now[0]}}
        self.tagged_by_somebody_else()

    def tagged_by_somebody_else(self) -> None:
        """Nobody does."""

    def remove_image(self, image: str) -> None:
        if self._refused:
            raise docker.errors.APIError("it is in use, or a prune operation is already running")
        self.removed.append(image)


def ensured(api: Api) -> str:
    engine = Engine(SimpleNamespace(api=api, close=lambda: None))
    return asyncio.run(images.ensure(engine, "lantern-etcd", FILE))


@pytest.mark.parametrize("aux", [True, False])
def test_an_image_is_built_once_and_called_by_its_id(aux: bool) -> None:  # noqa: FBT001
    api = Api(aux=aux)
    assert [ensured(api), ensured(api)] == ["sha256:1"] * 2
    assert (api.built, api.removed) == (1, [])


@pytest.mark.parametrize("refused", [True, False])
def test_what_was_replaced_goes_unless_somebody_still_has_it(refused: bool) -> None:  # noqa: FBT001
    api = Api(refused=refused)
    api.now = ("sha256:old", "other sources")
    assert ensured(api) == "sha256:1"
    assert api.removed == ([] if refused else ["sha256:old"])


def test_an_image_of_somebody_elses_by_that_name_is_not_removed() -> None:
    api = Api()
    api.now = ("sha256:theirs", None)
    assert ensured(api) == "sha256:1"
    assert api.removed == []


def test_a_name_that_another_version_takes_meanwhile_is_not_looked_up_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api = Api()
    monkeypatch.setattr(api, "tagged_by_somebody_else", lambda: setattr(api, "now", ("sha256:x", "y")))
    assert ensured(api) == "sha256:1"


def test_a_build_that_fails_says_its_last_words() -> None:
    api = Api()
    api.error = "no room"
    with pytest.raises(TargetError, match=r"lantern-etcd cannot be built: no room \(Step 1\)"):
        ensured(api)
