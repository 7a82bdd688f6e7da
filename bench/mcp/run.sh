#!/usr/bin/env bash
# haft over MCP stdio beside two peers, measured in one run:
#   - the Node file-system server from the npm registry, pinned below;
#   - bare-rmcp, a server that is only the SDK and one tool (bench/mcp/bare-rmcp).
# Each reads the same file of 1 KiB. Prints one Markdown table on standard output
# and everything else on standard error.
#
#     bench/mcp/run.sh [options of stdio.py, such as --era modern or --rounds 9]
#
#   HAFT_BENCH_DIR  where the peers are kept between runs (default: target/bench)
#   HAFT_BIN        the haft to measure (default: target/release/haft, built first)
#   NODE            the Node to run the peer with (default: node)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$root/bench/prepare.sh"
PEER=@modelcontextprotocol/server-filesystem
PEER_VERSION=2026.8.31

bench_dir=${HAFT_BENCH_DIR:-$root/target/bench}
mkdir -p "$bench_dir/node-peer"
bench_dir=$(cd "$bench_dir" && pwd)
node=${NODE:-node}
needs mcp "$node" npm python3 cargo

find_haft

peer_dir=$bench_dir/node-peer
if ! grep -qs "\"version\": \"$PEER_VERSION\"" "$peer_dir/node_modules/$PEER/package.json"; then
  npm install --prefix "$peer_dir" --no-audit --no-fund --no-save "$PEER@$PEER_VERSION" >&2
fi

(cd "$here/bare-rmcp" && CARGO_TARGET_DIR=$bench_dir/bare-rmcp cargo build --locked --release) >&2

make_scratch
workspace=$scratch/workspace
marker=MARK
# 16 lines of 64 bytes with their line ends.
for line in $(seq -w 1 16); do printf '%s line %s %050d\n' "$marker" "$line" 0; done >"$workspace/f.txt"
[ "$(wc -c <"$workspace/f.txt")" -eq 1024 ]

machine "node $("$node" --version)"
quoted() { printf '%q' "$1"; }
HAFT_HOME=$scratch/home python3 "$here/stdio.py" \
  --cwd "$workspace" --expect "$marker" \
  --server "haft" read '{"path": "f.txt"}' "$(quoted "$haft") serve mcp" \
  --server "Node file-system server" read_text_file "{\"path\": \"$workspace/f.txt\"}" \
  "$(quoted "$node") $(quoted "$peer_dir/node_modules/$PEER/dist/index.js") $(quoted "$workspace")" \
  --server "bare rmcp" read '{"path": "f.txt"}' "$(quoted "$bench_dir/bare-rmcp/release/bare-rmcp") $(quoted "$workspace")" \
  "$@"
