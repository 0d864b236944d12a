"""Which containers of a compose project are meant. No engine."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from targets.attach import found
from targets.cluster import TargetError
from targets.docker.engine import Engine

FILE = Path("/somewhere/shop/compose.yaml")


def container(
    name: str, service: str, project: str = "shop", *, one_off: bool = False
) -> dict[str, Any]:
    return {
        "Id": f"id-{name}",
        "Names": [f"/{name}"],
        "Labels": {
            found.WORKING_DIR: str(FILE.parent),
            found.CONFIG_FILES: str(FILE),
            found.ONE_OFF: str(one_off),
            found.PROJECT: project,
            found.SERVICE: service,
        },
    }


SHOP = (
    container("shop-web-1", "web"),
    container("shop-gamma-1", "gamma"),
    container("shop-alpha-1", "alpha"),
    container("shop-beta-1", "beta"),
    container("shop-alpha-run", "alpha", one_off=True),
)


def meant(*names: str, among: tuple[dict[str, Any], ...] = SHOP) -> list[tuple[str, str]]:
    """Return id and name of what is found."""
    api = SimpleNamespace(containers=lambda **_: list(among))
    engine = Engine(SimpleNamespace(api=api))
    return [(one.id, one.name) for one in asyncio.run(found.by_compose(engine, FILE, names))]


def test_without_names_every_service_is_meant() -> None:
    assert [name for _, name in meant()] == ["alpha", "beta", "gamma", "web"]


def test_services_beside_a_sidecar_are_named_in_the_order_that_nodes_are_to_have() -> None:
    assert meant("gamma", "alpha", "beta") == [
        ("id-shop-gamma-1", "gamma"),
        ("id-shop-alpha-1", "alpha"),
        ("id-shop-beta-1", "beta"),
    ]


def test_a_container_of_the_file_goes_by_its_own_name_too() -> None:
    assert meant("shop-beta-1", "alpha") == [
        ("id-shop-beta-1", "shop-beta-1"),
        ("id-shop-alpha-1", "alpha"),
    ]


TWICE = (*SHOP, container("shop-alpha-2", "alpha"))
OTHER = tuple(container(f"other-{name}-1", name, "other") for name in ("alpha", "beta", "gamma"))


def test_of_services_with_several_containers_and_of_several_projects_containers_are_named() -> None:
    assert meant("shop-alpha-2", "beta", among=TWICE)[0] == ("id-shop-alpha-2", "shop-alpha-2")
    assert [name for _, name in meant("beta", "gamma", among=TWICE)] == ["beta", "gamma"]
    assert [name for _, name in meant("other-alpha-1", among=SHOP + OTHER)] == ["other-alpha-1"]


@pytest.mark.parametrize(
    ("names", "among", "said"),
    [
        (("alpha", "nope"), SHOP, "nope is no service of /somewhere/shop/compose.yaml that was started"),
        (("alpha", "shop-alpha-1"), SHOP, "alpha and shop-alpha-1 are the same container"),
        (("alpha",), TWICE, "has the containers shop-alpha-1 and shop-alpha-2; name those to test"),
        ((), TWICE, "has the containers shop-alpha-1 and shop-alpha-2; name those to test"),
        ((), SHOP + OTHER, "runs as the projects other and shop; name the containers of one"),
        (("beta",), SHOP + OTHER, "runs as the projects other and shop; name the containers of one"),
    ],
)
def test_what_is_not_certain_is_refused(
    names: tuple[str, ...], among: tuple[dict[str, Any], ...], said: str
) -> None:
    with pytest.raises(TargetError, match=said):
        meant(*names, among=among)
