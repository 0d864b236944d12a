#!/usr/bin/env bash
# debian:bookworm-slim, where no image registry can be reached. Idempotent.
#
# An image of that name that is there, or can be pulled, is left as it is. Else debootstrap makes a base of
# the same name, so that the Dockerfiles build unchanged. The host's own certificates go in before the
# import: behind a proxy that signs with a company's key, pip inside a build fails on TLS without them.
set -euo pipefail

image=debian:bookworm-slim
say() { printf 'base image: %s\n' "$1" >&2; }

if docker image inspect "$image" >/dev/null 2>&1; then
  exit 0
fi
if timeout 60 docker pull -q "$image" >/dev/null 2>&1; then
  exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
  say "$image cannot be pulled, and making one needs root and debootstrap"
  exit 1
fi
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
say "no registry reachable: making $image with debootstrap"
timeout 300 debootstrap --variant=minbase bookworm "$root/base" >"$root/log" 2>&1 || {
  tail -5 "$root/log" >&2
  exit 1
}
certificates=/usr/local/share/ca-certificates
if compgen -G "$certificates/*.crt" >/dev/null; then
  mkdir -p "$root/base$certificates"
  cp "$certificates"/*.crt "$root/base$certificates/"
fi
rm -rf "$root/base/var/cache/apt/archives/"*.deb "$root/base/var/lib/apt/lists/"*
tar -C "$root/base" -c . | docker import - "$image" >/dev/null
say "made $image"
