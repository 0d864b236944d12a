#!/usr/bin/env bash
# A browser that looks at reports, without a window. Idempotent.
set -euo pipefail

if command -v chromium >/dev/null; then
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
timeout 120 apt-get update -qq
timeout 400 apt-get install -y -qq --no-install-recommends chromium >/dev/null
