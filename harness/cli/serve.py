"""``lantern serve``: runs and campaigns in a browser, on this machine only."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from harness.outcome import Outcome
from harness.report.escape import plain

from . import options

if TYPE_CHECKING:
    from .output import Output

PORT: Final = 8787
LOOPBACK: Final = "127.0.0.1"


def _loopback(_: click.Context, __: click.Parameter, text: str) -> str:
    """Return an address of loopback; nobody else may read what runs say of a cluster."""
    if text == "localhost":
        return LOOPBACK
    try:
        address = ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        address = None
    if address is None or not address.is_loopback:
        raise click.BadParameter(
            f"{plain(text, chars_max=60)!r} is no address of loopback, and it serves no other"
            " (127.0.0.1, ::1); an ssh tunnel brings it elsewhere"
        )
    return str(address)


def _directory(_: click.Context, __: click.Parameter, store: Path) -> Path:
    """Return a directory that is one: click takes a device and a pipe for no file, too."""
    if not store.is_dir():
        raise click.BadParameter(f"{plain(store)} is no directory")
    return store


@click.command()
@click.option(
    "--store",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    callback=_directory,
    default=".",
    help="A directory of runs, or one that holds runs/ and campaigns/.",
)
@click.option("--host", default=LOOPBACK, callback=_loopback, help="An address of loopback.")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, help="0 is any that is free.")
@options.as_json
@click.pass_obj
def serve(output: Output, /, store: Path, *, host: str, port: int, as_json: bool) -> Outcome:
    """Show runs and campaigns in a browser: filter them, open reports, compare two.

    Answers on loopback only, writes nothing, and ends with Ctrl-C.
    """
    import uvicorn  # noqa: PLC0415 - only who serves waits for it

    from harness.serve.app import NAMES, app_of  # noqa: PLC0415

    with _listening(host, port) as listener:
        name = f"[{host}]" if ":" in host else host
        url = f"http://{name}:{listener.getsockname()[1]}/"
        app = app_of(store.resolve(), names=(*NAMES, host, name))
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, lifespan="off", server_header=False, ws="none"
        )
        if as_json:
            output.json({"outcome": Outcome.PASS.value, "url": url})
        else:
            output.result([f"{plain(store.resolve())} is shown at {url} until Ctrl-C"])
        with contextlib.suppress(KeyboardInterrupt):  # as it is meant to end
            uvicorn.Server(config).run(sockets=[listener])
    return Outcome.PASS


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen()  # whoever reads the address may ask at once
    except OSError as error:
        listener.close()
        if error.errno in {errno.EADDRINUSE, errno.EACCES, errno.EADDRNOTAVAIL}:
            raise click.UsageError(
                f"{host}:{port} cannot be listened on: {error.strerror}; choose another --port"
            ) from error
        raise
    return listener
