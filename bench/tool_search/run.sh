#!/usr/bin/env bash
# Haft's tool search on the catalogue of the Berkeley function-calling leaderboard, beside plain BM25, and on 10,000
# tools. Prints Markdown tables on standard output, everything else on standard error.
#
#     bench/tool_search/run.sh [--tune SECONDS] [--model FOLDER]
#
#   --tune       looks for better weights on the one half first and prints them
#   --model      searches with a model of static embeddings in this folder too (the form of Model2Vec)
#   BFCL_WHEEL   the wheel of bfcl-eval 2026.3.23 (default: downloaded by pip)
#   SEARCH_BIN   the program (default: target/release/examples/tool_search, built first)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
if ! command -v python3 >/dev/null; then
  echo "bench/tool_search needs python3 with pip: install it and run again" >&2
  exit 1
fi
if [ -z "${SEARCH_BIN:-}" ]; then
  (cd "$root" && cargo build --locked --release -p haft-runtime --example tool_search) >&2
  SEARCH_BIN=$target/release/examples/tool_search
fi
scratch=$(mktemp -d "${TMPDIR:-/tmp}/haft-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
if [ -z "${BFCL_WHEEL:-}" ]; then
  python3 -m pip download --quiet --no-deps --dest "$scratch" bfcl-eval==2026.3.23 >&2
  BFCL_WHEEL=$(echo "$scratch"/bfcl_eval-*.whl)
fi
python3 "$here/catalogue.py" "$BFCL_WHEEL" "$scratch/catalogue.json" >&2
"$SEARCH_BIN" "$scratch/catalogue.json" "$@"
