#!/usr/bin/env bash
# The image lantern-etcd-current: an etcd in which etcd#20418 is fixed (3.6.9 or later), built with Go from
# its public module. Idempotent. Exit 1 with a sentence where Go or its modules cannot be reached.
set -euo pipefail
cd "$(dirname "$0")/.."

image=lantern-etcd-current
version=${ETCD_VERSION:-v3.6.16}
say() { printf 'etcd: %s\n' "$1" >&2; }

if [ "$(docker image inspect -f '{{index .Config.Labels "etcd.version"}}' "$image" 2>/dev/null)" = "$version" ]; then
  exit 0
fi
if ! command -v go >/dev/null; then
  say "building $version needs Go"
  exit 1
fi
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cat >"$work/go.mod" <<END
module build
END
cat >"$work/tools.go" <<'END'
//go:build tools

package build

import _ "go.etcd.io/etcd/server/v3"
END
if ! (cd "$work" && timeout 300 go get "go.etcd.io/etcd/server/v3@$version" &&
  CGO_ENABLED=0 timeout 900 go build -o context/etcd go.etcd.io/etcd/server/v3) >"$work/log" 2>&1; then
  tail -3 "$work/log" >&2
  say "$version could not be built"
  exit 1
fi
docker build -q --label "etcd.version=$version" -t "$image" -f targets/etcd/current.Dockerfile "$work/context" \
  >/dev/null 2>"$work/log" || { tail -3 "$work/log" >&2; exit 1; }
say "made $image from $version"
