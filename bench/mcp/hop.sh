#!/usr/bin/env bash
# What one hop over stdio adds: the same call of a small server (bench/mcp/bare-rmcp, which reads a file of 1 KiB),
# made directly and through proxies, measured in one run:
#   - `haft serve mcp` with that server behind it, its definitions known and its tool pinned; all else by default;
#   - FastMCP's proxy (PyPI), once with a session per request, which it recommends, and once with one that is kept;
#   - mcp-hub (crates.io), an aggregator of stdio servers on the Rust SDK.
# Prints one Markdown table on standard output, everything else on standard error, and exits 1 where haft adds more
# than 0.2 ms in the median, is ready after more than 20 ms, or takes more than 20 MB.
#
#     bench/mcp/hop.sh [options of hop.py, such as --rounds 1 --pipelined 100]
#
#   HAFT_BENCH_DIR  where the peers are kept between runs (default: target/bench)
#   HAFT_BIN        the haft to measure (default: target/release/haft, built first)
#   BARE_BIN        the server (default: bench/mcp/bare-rmcp, built first)
#   MCP_HUB_BIN     mcp-hub (default: installed by cargo in the version below; "none" leaves it out)
#   PYTHON          a Python 3 with venv, for FastMCP (default: python3)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$root/bench/prepare.sh"
FASTMCP_VERSION=4.2.3
MCP_HUB_VERSION=0.3.0

bench_dir=${HAFT_BENCH_DIR:-$root/target/bench}
mkdir -p "$bench_dir"
bench_dir=$(cd "$bench_dir" && pwd)
python=${PYTHON:-python3}
needs mcp "$python" cargo
find_haft
if [ -z "${BARE_BIN:-}" ]; then
  (cd "$here/bare-rmcp" && CARGO_TARGET_DIR=$bench_dir/bare-rmcp cargo build --locked --release) >&2
  BARE_BIN=$bench_dir/bare-rmcp/release/bare-rmcp
fi
bare=$(realpath "$BARE_BIN")

venv=$bench_dir/fastmcp-$FASTMCP_VERSION
if [ ! -f "$venv/installed" ]; then
  rm -rf "$venv"
  "$python" -m venv "$venv" >&2
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "fastmcp==$FASTMCP_VERSION" >&2
  touch "$venv/installed"
fi
if [ -z "${MCP_HUB_BIN:-}" ]; then
  hub_dir=$bench_dir/mcp-hub-$MCP_HUB_VERSION
  if [ ! -x "$hub_dir/bin/mcp-hub" ]; then
    CARGO_TARGET_DIR=$bench_dir/mcp-hub-build \
      cargo install --locked --root "$hub_dir" --bin mcp-hub "mcp-hub@$MCP_HUB_VERSION" >&2
  fi
  MCP_HUB_BIN=$hub_dir/bin/mcp-hub
fi

make_scratch
workspace=$scratch/workspace
marker=MARK
# 16 lines of 64 bytes with their line ends.
for line in $(seq -w 1 16); do printf '%s line %s %050d\n' "$marker" "$line" 0; done >"$workspace/f.txt"
[ "$(wc -c <"$workspace/f.txt")" -eq 1024 ]

# As a person would set it up: the server is added, looked at once (which keeps its definitions), its tool pinned, and
# said to only read, as a server's own word doesn't let it run unasked.
export HAFT_HOME=$scratch/home PYTHONDONTWRITEBYTECODE=1
(
  cd "$workspace"
  "$haft" mcp add bare -- "$bare" "$workspace"
  printf '\n[mcp.servers.bare.tools.read]\nreadOnly = true\n' >>"$HAFT_HOME/config.toml"
  "$haft" mcp test bare
  "$haft" --yes permissions pin mcp__bare__read
) >&2
quoted() { printf '%q' "$1"; }
proxies=(--proxy "haft" mcp__bare__read "$(quoted "$haft") serve mcp")
for way in fresh kept; do
  title="FastMCP, a session per request"
  if [ "$way" = kept ]; then title="FastMCP, one session"; fi
  command="$(quoted "$venv/bin/python") $(quoted "$here/fastmcp_proxy.py") $way $(quoted "$bare") $(quoted "$workspace")"
  proxies+=(--proxy "$title" read "$command")
done
if [ "$MCP_HUB_BIN" != none ]; then
  printf '[servers.bare]\ncommand = "%s"\nargs = ["%s"]\nprefix = "bare"\n' "$bare" "$workspace" >"$scratch/hub.toml"
  proxies+=(--proxy "mcp-hub" bare.read "$(quoted "$(realpath "$MCP_HUB_BIN")") $(quoted "$scratch/hub.toml")")
fi

machine "FastMCP $FASTMCP_VERSION on $("$venv/bin/python" --version)" "mcp-hub $MCP_HUB_VERSION"
"$python" "$here/hop.py" --cwd "$workspace" --expect "$marker" --arguments '{"path": "f.txt"}' \
  --direct read "$(quoted "$bare") $(quoted "$workspace")" "${proxies[@]}" "$@"
