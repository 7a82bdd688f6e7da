#!/usr/bin/env bash
# How long `haft tools` takes as a whole process, beside programs that are at hand: `node -e 0`, `python3 -c pass`
# and `rg --version`, and `true` as what starting any process costs. Prints one Markdown table on standard output,
# everything else on standard error, and exits 1 where the median is over 20 ms.
#
#     bench/start/run.sh [options of measure.py, such as --runs 200]
#
#   HAFT_BIN  the haft to measure (default: target/release/haft, built first)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
if ! command -v python3 >/dev/null; then
  echo "bench/start needs python3: install it and run again" >&2
  exit 1
fi
if [ -z "${HAFT_BIN:-}" ]; then
  (cd "$root" && cargo build --locked --release --bin haft) >&2
  HAFT_BIN=${CARGO_TARGET_DIR:-$root/target}/release/haft
fi
haft=$(realpath "$HAFT_BIN")

# Outside the repository, so that the workspace is this folder and nothing more.
scratch=$(mktemp -d "${TMPDIR:-/tmp}/haft-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/home" "$scratch/workspace"
printf '%s\n' "machine: $(nproc) cores, $(uname -sr), $("$haft" --version)" >&2
HAFT_HOME=$scratch/home python3 "$here/measure.py" "$haft" "$scratch/workspace" "$@"
