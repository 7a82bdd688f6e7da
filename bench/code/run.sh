#!/usr/bin/env bash
# Code mode: how soon a script's result is there, what 1,000 calls inside a script take, and what a task over
# 40 files costs a model in tokens, as a script and by direct calls. Prints three Markdown tables on standard
# output, everything else on standard error, and exits 1 where a target is missed.
#
#     bench/code/run.sh [options of measure.py, such as --rounds 3]
#
#   HAFT_BIN    the haft to measure (default: target/release/haft, built first)
#   TOKENS_BIN  counts tokens (default: target/release/examples/tokens, built first): the counter of
#               `haft tools --tokens`; a JSON list of texts comes in, a JSON list of numbers goes out
#   NODE        the Node beside which the calls are measured (default: node; without one its rows are left out)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$root/bench/prepare.sh"
target=${CARGO_TARGET_DIR:-$root/target}
needs code python3
find_haft
if [ -z "${TOKENS_BIN:-}" ]; then
  (cd "$root" && cargo build --locked --release -p haft-cli --example tokens) >&2
  TOKENS_BIN=$target/release/examples/tokens
fi
counter=$(realpath "$TOKENS_BIN")
node=$(command -v "${NODE:-node}" || true)
if [ -z "$node" ]; then echo "left out: the rows of Node (there is none)" >&2; fi

make_scratch
export HAFT_HOME=$scratch/home PYTHONDONTWRITEBYTECODE=1
machine ${node:+"node $("$node" --version)"}
status=0
python3 "$here/measure.py" "$haft" "$scratch/workspace" ${node:+--node "$node"} "$@" || status=1
echo
python3 "$here/tokens.py" "$haft" "$scratch/corpus" "$counter" || status=1
exit "$status"
