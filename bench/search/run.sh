#!/usr/bin/env bash
# Haft's searches beside `rg` on one tree of 60,000 files. Prints one Markdown table
# on standard output, everything else on standard error, and exits 1 where the results
# differ or haft takes more than 1.1 times as long.
#
#     bench/search/run.sh [options of measure.py, such as --runs 3]
#
#   RG_BIN       the rg to measure (default: the one in PATH; else one is built by cargo)
#   SEARCH_BIN   the searches of haft (default: target/release/examples/search, built first)
#   SEARCH_TREE  a tree made by tree.py before, to be used again
#   TMPDIR       where the tree is made: needs about 500 MB
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
if ! command -v python3 >/dev/null; then
  echo "bench/search needs python3: install it and run again" >&2
  exit 1
fi

if [ -z "${SEARCH_BIN:-}" ]; then
  (cd "$root" && cargo build --locked --release -p haft-os --example search) >&2
  SEARCH_BIN=$target/release/examples/search
fi
if [ -z "${RG_BIN:-}" ] && ! RG_BIN=$(command -v rg); then
  cargo install --locked --root "$target/bench-rg" ripgrep >&2
  RG_BIN=$target/bench-rg/bin/rg
fi

scratch=$(mktemp -d "${TMPDIR:-/tmp}/haft-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
tree=${SEARCH_TREE:-$scratch/tree}
if [ ! -d "$tree" ]; then
  mkdir -p "$tree"
  python3 "$here/tree.py" "$tree"
fi
printf '%s\n' "machine: $(nproc) cores, $(uname -sr), $("$RG_BIN" --version | head -1)" >&2
printf '%s\n' "tree: $(find "$tree" -type f | wc -l) files, $(du -sm "$tree" | cut -f1) MB on disk" >&2
python3 "$here/measure.py" "$(realpath "$RG_BIN")" "$(realpath "$SEARCH_BIN")" "$(realpath "$tree")" "$scratch" "$@"
