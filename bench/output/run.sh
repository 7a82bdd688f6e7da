#!/usr/bin/env bash
# 1 GB of command output through `haft call bash`, beside the same command into a
# file. Prints one Markdown table on standard output, everything else on standard
# error, and exits 1 where a target is missed (64 MiB, a quarter of the speed).
#
#     bench/output/run.sh [options of measure.py, such as --blocks 6 --runs 1]
#
#   HAFT_BIN  the haft to measure (default: target/release/haft, built first)
#   TMPDIR    where the output is kept while it runs: needs about 2 GB
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
for program in python3 cat sh; do
  if ! command -v "$program" >/dev/null; then
    echo "bench/output needs $program: install it and run again" >&2
    exit 1
  fi
done

if [ -z "${HAFT_BIN:-}" ]; then
  (cd "$root" && cargo build --locked --release --bin haft) >&2
  HAFT_BIN=${CARGO_TARGET_DIR:-$root/target}/release/haft
fi
haft=$(realpath "$HAFT_BIN")

scratch=$(mktemp -d "${TMPDIR:-/tmp}/haft-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/workspace" "$scratch/home"
printf '%s\n' "machine: $(nproc) cores, $(uname -sr), $("$haft" --version)" >&2
HAFT_HOME=$scratch/home python3 "$here/measure.py" "$haft" "$scratch/workspace" "$@"
