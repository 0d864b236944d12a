"""What a run has at the engine: its network, its volumes, its containers; made, found, removed by label.

Names and labels carry the run's id. Whatever is removed is found by the run's label first, so nothing of
anybody else's is ever touched, and a dead run is cleaned up by whoever knows its id.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import random
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import docker.errors
import docker.types
import msgspec

from targets.cluster import CLIENTS, TargetError
from targets.host.runtime import this_host

from . import images
from .container import LOOPBACK, Container
from .engine import EngineRefusedError

if TYPE_CHECKING:
    from .engine import Client, Engine
    from .system import ContainerSystem, Launch
    from .template import Service

RUN_LABEL: Final = "lantern.run"
NAME_LABEL: Final = "lantern.name"
NODE_LABEL: Final = "lantern.node"
HOST_LABEL: Final = "lantern.host"
"""What the pid in a run's id is relative to."""

SUBNETS: Final = ipaddress.ip_network("10.192.0.0/10")
SUBNET_BITS: Final = 24
SUBNET_TRIES: Final = 20
FIRST_HOST: Final = 10

REMOVE_TRIES: Final = 3


class Made(msgspec.Struct, frozen=True):
    """A run's network: the labels of everything of this run, and its addresses.

    ``addresses`` has every node's, and under `CLIENTS` where connections from this host come from;
    ``images`` the ids of the services' images, by name.
    """

    run: str
    labels: dict[str, str]
    addresses: dict[str, str]
    images: dict[str, str]


async def network(engine: Engine, system: ContainerSystem, *, run: str, name: str) -> Made:
    """Have the images built and make the network of a run.

    ``run`` is the id that everything made is named after, ``name`` what a person calls the run.
    """
    files = {service.image: service.dockerfile for service in system.services.values()}
    ids = {image: await images.ensure(engine, image, file) for image, file in files.items()}
    labels = {RUN_LABEL: run, NAME_LABEL: name, HOST_LABEL: this_host()}
    hosts = list((await make_network(engine, run, labels)).hosts())
    addresses = {node: str(hosts[FIRST_HOST + i]) for i, node in enumerate(system.services)}
    return Made(run, labels, {CLIENTS: str(hosts[0]), **addresses}, ids)


async def container(engine: Engine, made: Made, service: Service, launch: Launch) -> Container:
    """Create one node's container, not started."""
    node = service.name
    create = _creation(made, service, launch, engine.host)
    try:
        handle = Container(engine, node, await engine.call(f"create {node}", create))
    except (EngineRefusedError, docker.errors.NotFound) as error:
        raise TargetError(f"the engine refused to create {node}: {error.explanation}") from error
    await handle.refresh()
    return handle


class Leftover(msgspec.Struct, frozen=True):
    """Everything at the engine that carries one run's label, by name."""

    run: str
    name: str
    host: str
    things: tuple[str, ...]


async def found(engine: Engine, run: str | None = None) -> list[Leftover]:
    """Return what is at the engine with our label: of one run, or of all."""

    def look(client: Client) -> list[tuple[dict[str, str], str]]:
        containers, networks, volumes = _labelled(client, run)
        things = [(one["Labels"], one["Names"][0].lstrip("/")) for one in containers]
        return things + [(one["Labels"], one["Name"]) for one in (*networks, *volumes)]

    named: dict[str, list[str]] = {}
    said: dict[str, dict[str, str]] = {}
    for labels, name in await engine.call("list what is there", look):
        named.setdefault(labels[RUN_LABEL], []).append(name)
        said[labels[RUN_LABEL]] = labels
    return [
        Leftover(
            owner, said[owner].get(NAME_LABEL, owner), said[owner].get(HOST_LABEL, ""), tuple(things)
        )
        for owner, things in named.items()
    ]


async def remove(engine: Engine, run: str) -> tuple[str, ...]:
    """Remove all of a run, tried until nothing of it is found; return the names of what is left."""
    left: list[Leftover] = []
    for attempt in range(REMOVE_TRIES):
        await asyncio.sleep(attempt)
        await engine.call(f"remove run {run}", lambda client: _sweep(client, run))
        left = await found(engine, run)
        if not left:
            break
    return left[0].things if left else ()


def _labelled(client: Client, run: str | None) -> tuple[list[Any], list[Any], list[Any]]:
    wanted = {"label": RUN_LABEL if run is None else f"{RUN_LABEL}={run}"}
    return (
        client.api.containers(all=True, filters=wanted),
        client.api.networks(filters=wanted),
        client.api.volumes(filters=wanted)["Volumes"] or [],
    )


def _sweep(client: Client, run: str) -> None:
    containers, networks, volumes = _labelled(client, run)
    removals = [
        (client.api.remove_container, one["Id"], {"force": True, "v": True}) for one in containers
    ]
    removals += [(client.api.remove_network, one["Id"], {}) for one in networks]
    removals += [(client.api.remove_volume, one["Name"], {"force": True}) for one in volumes]
    for act, name, options in removals:
        try:
            act(name, **options)
        except docker.errors.APIError:
            continue  # gone already, or still in use: the next look says


async def make_network(engine: Engine, run: str, labels: dict[str, str]) -> ipaddress.IPv4Network:
    """Make the run's network on a subnet that neither the engine nor this host's routes know."""
    rng = random.Random(f"{run}/{os.getpid()}")
    taken = _routes()
    for _ in range(SUBNET_TRIES):
        start = int(SUBNETS.network_address) + (rng.randrange(SUBNETS.num_addresses) & ~0xFF)
        subnet = ipaddress.IPv4Network((start, SUBNET_BITS))
        if any(subnet.overlaps(route) for route in taken):
            continue
        pool = docker.types.IPAMPool(subnet=str(subnet), gateway=str(next(subnet.hosts())))
        ipam = docker.types.IPAMConfig(pool_configs=[pool])

        def make(client: Client, ipam: Any = ipam) -> None:
            client.api.create_network(
                run, driver="bridge", ipam=ipam, labels=labels, check_duplicate=True
            )

        try:
            await engine.call("create a network", make)
        except EngineRefusedError as error:
            if "overlap" in str(error.explanation):
                continue
            raise TargetError(f"the engine refused to create a network: {error.explanation}") from error
        return subnet
    raise TargetError(f"no free subnet in {SUBNETS} after {SUBNET_TRIES} tries")


def _routes() -> list[ipaddress.IPv4Network]:
    """Return the networks that this host has routes to, the default one aside."""
    routes = []
    for line in Path("/proc/net/route").read_text().splitlines()[1:]:
        fields = line.split()
        start, mask = (int.from_bytes(bytes.fromhex(fields[i]), "little") for i in (1, 7))
        if mask:
            routes.append(ipaddress.IPv4Network((start, mask.bit_count())))
    return routes


RTO_MAX: Final = "net.ipv4.tcp_rto_max_ms"
SYSCTLS: Final = {"net.ipv4.tcp_thin_linear_timeouts": "1", RTO_MAX: "1000"}
"""Have held bytes sent again within a second: after a hold of 10 s TCP would wait for three more."""


def _sysctls() -> dict[str, str]:
    return {
        name: value
        for name, value in SYSCTLS.items()
        if (Path("/proc/sys") / name.replace(".", "/")).exists()
    }


def _bound(host: str | None) -> str:
    """Return where on its host a node's port is published: where the engine itself is reached."""
    return LOOPBACK if host is None else socket.gethostbyname(host)


def _creation(made: Made, service: Service, launch: Launch, host: str | None) -> Any:
    """Return the call that creates one node's container; the template's part and the run's together."""
    run, labels, address = made.run, made.labels, made.addresses[service.name]
    name = f"{run}-{service.name}"

    def make(client: Client) -> str:
        given = {one.inside for one in launch.mounts}
        volumes = [volume for volume in service.volumes if volume.mount not in given]
        for volume in volumes:
            client.api.create_volume(f"{name}-{volume.name}", labels=labels)
        binds = [f"{name}-{one.name}:{one.mount}" for one in volumes]
        binds += [f"{one.host}:{one.inside}" for one in launch.mounts]
        config = client.api.create_host_config(
            binds=binds,
            cap_add=list(service.cap_add) or None,
            cap_drop=list(service.cap_drop) or None,
            security_opt=list(service.security_opt) or None,
            read_only=service.read_only,
            tmpfs=dict.fromkeys(service.tmpfs, ""),
            mem_limit=service.memory_bytes,
            pids_limit=service.pids_limit,
            log_config=docker.types.LogConfig(type=service.log_driver, config=service.log_options),
            extra_hosts=launch.resolves or None,
            sysctls=_sysctls() if host is None else None,
            port_bindings=dict.fromkeys(service.ports, (_bound(host), None)),
        )
        endpoint = client.api.create_endpoint_config(aliases=[service.name], ipv4_address=address)
        command = launch.command or service.command
        created = client.api.create_container(
            made.images[service.image],
            command=list(command) if command else None,
            entrypoint=list(service.entrypoint) if service.entrypoint else None,
            name=name,
            hostname=service.name,
            labels={**labels, NODE_LABEL: service.name},
            environment={**service.environment, **launch.environment},
            ports=list(service.ports),
            user=None if os.getuid() == 0 else f"{os.getuid()}:{os.getgid()}",
            healthcheck={"test": ["NONE"]},
            host_config=config,
            networking_config=client.api.create_networking_config({run: endpoint}),
        )
        return str(created["Id"])

    return make
