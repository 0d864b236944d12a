# ruff: noqa: INP001 - a script
"""Build the images that the container tests use, so that no test's time goes into it. Idempotent."""

from __future__ import annotations

import asyncio
import sys

from targets.cluster import TargetError
from targets.docker import images
from targets.docker.engine import Engine

IMAGES = {
    "lantern-leasekv": "targets/leasekv/Dockerfile",
    "lantern-etcd": "targets/etcd/Dockerfile",
}


async def build() -> None:
    """Build what is not there as it is now."""
    engine = await Engine.connect()
    try:
        for image, dockerfile in IMAGES.items():
            await images.ensure(engine, image, dockerfile)
    finally:
        engine.close()


if __name__ == "__main__":
    try:
        asyncio.run(build())
    except TargetError as error:
        sys.exit(f"images: {error}")
