#!/usr/bin/env bash
# What delays links that the kernel cuts: the extra `nfqueue`, and what it is built with. Idempotent.
set -euo pipefail
cd "$(dirname "$0")/.."

python=.venv/bin/python
if "$python" -c 'import netfilterqueue' 2>/dev/null; then
  exit 0
fi
missing=()
command -v cc >/dev/null || missing+=(gcc libc6-dev)
[ -e /usr/include/libnetfilter_queue/libnetfilter_queue.h ] || missing+=(libnetfilter-queue-dev)
header=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h
[ -e "$header" ] || missing+=("python$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-dev")
if [ "${#missing[@]}" -gt 0 ]; then
  export DEBIAN_FRONTEND=noninteractive
  timeout 120 apt-get update -qq
  timeout 300 apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
timeout 300 "$python" -m pip --disable-pip-version-check --no-input install --quiet --editable '.[nfqueue]'
