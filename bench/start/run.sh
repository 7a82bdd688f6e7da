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
. "$root/bench/prepare.sh"
needs start python3
find_haft

make_scratch
machine
HAFT_HOME=$scratch/home python3 "$here/measure.py" "$haft" "$scratch/workspace" "$@"
