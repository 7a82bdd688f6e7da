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
. "$root/bench/prepare.sh"
needs output python3 cat sh

find_haft

make_scratch
machine
HAFT_HOME=$scratch/home python3 "$here/measure.py" "$haft" "$scratch/workspace" "$@"
