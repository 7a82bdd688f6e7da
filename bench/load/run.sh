#!/usr/bin/env bash
# 1,000 calls at once over one `haft serve mcp` session: whether each has one outcome, in the replies and in the log,
# and how much memory it takes. Beside it the same reads by the Node file-system server that bench/mcp pins, where
# there are node and npm. Prints one Markdown table on standard output, everything else on standard error, and exits
# 1 where an outcome is lost or doubled, or haft takes 200 MiB.
#
#     bench/load/run.sh [options of measure.py, such as --calls 200 or --rounds 1]
#
#   HAFT_BIN        the haft to measure (default: target/release/haft, built first)
#   HAFT_BENCH_DIR  where the peer is kept between runs (default: target/bench)
#   NODE            the Node to run the peer with (default: node)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$root/bench/prepare.sh"
# The version stands in one place.
PEER=$(sed -n 's/^PEER=//p' "$root/bench/mcp/run.sh")
PEER_VERSION=$(sed -n 's/^PEER_VERSION=//p' "$root/bench/mcp/run.sh")
needs load python3
find_haft

peer=()
node=$(command -v "${NODE:-node}" || true)
if [ -n "$node" ] && command -v npm >/dev/null; then
  peer_dir=${HAFT_BENCH_DIR:-$root/target/bench}/node-peer
  mkdir -p "$peer_dir"
  peer_dir=$(cd "$peer_dir" && pwd)
  if ! grep -qs "\"version\": \"$PEER_VERSION\"" "$peer_dir/node_modules/$PEER/package.json"; then
    npm install --prefix "$peer_dir" --no-audit --no-fund --no-save "$PEER@$PEER_VERSION" >&2
  fi
  peer=(--node-peer "$node" "$peer_dir/node_modules/$PEER/dist/index.js")
else
  echo "left out: the Node file-system server (node or npm is not installed)" >&2
fi

make_scratch
export HAFT_HOME=$scratch/home PYTHONDONTWRITEBYTECODE=1
# Commands are asked for by default, and nobody is there.
printf '[permissions]\nallow = ["bash(printf *)"]\n' >"$scratch/home/config.toml"
machine ${node:+"node $("$node" --version)"}
python3 "$here/measure.py" "$haft" "$scratch/workspace" ${peer[@]+"${peer[@]}"} "$@"
