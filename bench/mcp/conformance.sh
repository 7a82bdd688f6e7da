#!/usr/bin/env bash
# The client side of the protocol's conformance suite, pinned below: all that each revision requires of a client.
#
#     bench/mcp/conformance.sh [options of the suite's client command]
#
#   HAFT_BIN  the haft to try (default: target/release/haft, built first)
#
# Needs Node 22 and Python 3; where they aren't, it says so and leaves the suite out.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
SUITE=@modelcontextprotocol/conformance@0.2.0-alpha.12

for program in node npx python3; do
  if ! command -v "$program" >/dev/null; then
    echo "left out: the conformance suite ($program is not installed)" >&2
    exit 0
  fi
done
if [ -z "${HAFT_BIN:-}" ]; then
  (cd "$root" && cargo build --locked --release --bin haft) >&2
  HAFT_BIN=${CARGO_TARGET_DIR:-$root/target}/release/haft
fi
HAFT_BIN=$(realpath "$HAFT_BIN")
export HAFT_BIN

status=0
for revision in 2025-11-25 2026-07-28; do
  echo "== client, $revision"
  npx --yes "$SUITE" client --command "python3 $here/conformance_client.py" --requirements "$revision" "$@" || status=1
done
exit "$status"
