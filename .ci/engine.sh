#!/usr/bin/env bash
# A Docker engine for the container tests. Idempotent.
#
# Where one answers already it is left alone: never a second daemon beside a first, which could delete the
# first one's bridge. Else Debian's docker.io is installed if it is missing, and dockerd is started without
# systemd and waited for, a bounded time. What the tests use beside it (compose, nftables, debootstrap) is
# installed where it is missing. Needs root only where there is something to do.
#
#   .ci/engine.sh          make sure that an engine answers; exit 1 with a sentence if it cannot
#   .ci/engine.sh --stop   end the daemon that this script started, no other
set -euo pipefail

log=/var/log/lantern-dockerd.log
started=/run/lantern-dockerd.pid
patience_s=60

answers() { timeout 10 docker info >/dev/null 2>&1; }
say() { printf 'engine: %s\n' "$1" >&2; }

if [ "${1:-}" = --stop ]; then
  [ -s "$started" ] || exit 0
  pid=$(cat "$started")
  if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = dockerd ]; then
    kill -TERM "$pid"
    for _ in $(seq "$patience_s"); do [ -d "/proc/$pid" ] || break; sleep 1; done
  fi
  rm -f "$started"
  exit 0
fi

running=no
if command -v docker >/dev/null && answers; then running=yes; fi
missing=()
if [ "$running" = no ]; then
  command -v dockerd >/dev/null || missing+=(docker.io)
fi
command -v iptables >/dev/null || missing+=(iptables)
command -v nft >/dev/null || missing+=(nftables)
command -v debootstrap >/dev/null || missing+=(debootstrap)
docker compose version >/dev/null 2>&1 || command -v docker-compose >/dev/null || missing+=(docker-compose)
if [ "$running" = yes ] && [ "${#missing[@]}" = 0 ]; then exit 0; fi
if [ "$(id -u)" != 0 ]; then
  if [ "$running" = yes ]; then
    say "missing beside the engine, and only root can install it: ${missing[*]}"
    exit 0
  fi
  say "no engine answers and only root can start one: start Docker, or run this as root"
  exit 1
fi
if [ "${#missing[@]}" -gt 0 ]; then
  export DEBIAN_FRONTEND=noninteractive
  timeout 120 apt-get update -qq
  timeout 300 apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
if [ "$running" = yes ]; then exit 0; fi
if pgrep -x dockerd >/dev/null; then
  say "a dockerd runs already (pid $(pgrep -x dockerd | head -1)); waiting for it, starting no second one"
else
  setsid dockerd >"$log" 2>&1 </dev/null &
  echo $! >"$started"
fi
for _ in $(seq "$patience_s"); do
  if answers; then exit 0; fi
  sleep 1
done
say "no engine after $patience_s s; its last words:"
tail -5 "$log" >&2 || true
exit 1
