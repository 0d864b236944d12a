"""Images of our own, built from the packages as they are now.

The build context is made here, in memory: the Dockerfile and the packages that it copies, from wherever
they are imported from. So an installed wheel builds the same image as the repository. An image carries
the digest of its context as a label and is built again only when that has changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import docker.errors

import targets
from targets.cluster import TargetError

from .engine import EngineRefusedError

if TYPE_CHECKING:
    from .engine import Client, Engine

SOURCE_LABEL: Final = "lantern.source"
BUILD_S: Final = 600.0

ROOT: Final = Path(targets.__file__).resolve().parent.parent


async def ensure(engine: Engine, image: str, dockerfile: str | None) -> str:
    """Have ``image`` built from ``dockerfile`` as it is now, or there if it is not built here.

    Returns its id. The name may be another version's a moment later, where two of them run side by
    side: containers are made from the id. Raises `TargetError` with the last words of what went wrong.
    """
    if dockerfile is None:
        return await _find(engine, image)
    context = _context(dockerfile)
    digest = hashlib.sha256(context).hexdigest()

    def look(client: Client) -> tuple[str, str | None] | None:
        try:
            said = client.api.inspect_image(image)
        except docker.errors.ImageNotFound:
            return None
        return str(said["Id"]), (said["Config"].get("Labels") or {}).get(SOURCE_LABEL)

    def build(client: Client) -> str:
        said: list[str] = []
        made = ""
        for line in client.api.build(
            fileobj=io.BytesIO(context),
            custom_context=True,
            dockerfile=dockerfile,
            tag=image,
            labels={SOURCE_LABEL: digest},
            rm=True,
            forcerm=True,
            decode=True,
            timeout=int(BUILD_S),
        ):
            if "error" in line:
                raise TargetError(_sentence(image, line["error"], said))
            made = line.get("aux", {}).get("ID", made)
            said.append(str(line.get("stream", "")).strip())
        return made or str(client.api.inspect_image(image)["Id"])

    there = await engine.call(f"describe the image {image}", look)
    if there is not None and there[1] == digest:
        return there[0]
    try:
        made = await engine.call(f"build {image}", build, deadline_s=BUILD_S)
    except (EngineRefusedError, docker.errors.NotFound) as error:
        raise TargetError(_sentence(image, str(error.explanation), [])) from error
    if there is not None and there[1] is not None and there[0] != made:
        with contextlib.suppress(
            EngineRefusedError, docker.errors.NotFound
        ):  # somebody still runs it, or removed it first
            replaced = there[0]
            await engine.call(
                f"remove what {image} was", lambda client: client.api.remove_image(replaced)
            )
    return made


async def _find(engine: Engine, image: str) -> str:
    """Have an image that somebody else makes: here already, or to be pulled."""

    def find(client: Client) -> str:
        try:
            return str(client.api.inspect_image(image)["Id"])
        except docker.errors.ImageNotFound:
            return str(client.images.pull(image).id)

    try:
        return await engine.call(f"find the image {image}", find, deadline_s=BUILD_S)
    except (EngineRefusedError, docker.errors.NotFound) as error:
        raise TargetError(
            f"the image {image} is missing and cannot be pulled: {error.explanation}"
        ) from error


def _context(dockerfile: str) -> bytes:
    """Return the tar of the Dockerfile and what its COPY lines name; equal files give equal bytes."""
    text = (ROOT / dockerfile).read_text()
    files = {Path(dockerfile)}
    for folder in re.findall(r"^COPY (\w+) ", text, re.MULTILINE):
        files |= {path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.py")}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path in sorted(files):
            member = tarfile.TarInfo(str(path))
            data = (ROOT / path).read_bytes()
            member.size, member.mode = len(data), 0o644
            tar.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def _sentence(image: str, error: str, said: list[str]) -> str:
    if re.search(r"pull access|manifest|registry|lookup|dial tcp|Client.Timeout", error):
        return (
            f"the image {image} cannot be built: its base cannot be pulled ({error.strip()});"
            " where no registry is reachable, .ci/base-image.sh makes one"
        )
    last = "; ".join(filter(None, said[-3:]))
    return f"the image {image} cannot be built: {error.strip()} ({last})"
